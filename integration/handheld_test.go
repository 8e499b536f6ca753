//go:build unix

package integration

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"strconv"
	"sync"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/agentreach/agent-reach/schemas"
)

// device is what both kinds of devices on MQTT have in common, as docs/mqtt.md tells the author of an app to write it: what it says it says
// again until it is answered.
type device struct {
	name   string
	client mqtt.Client
	hear   func(kind string, body []byte)
	hello  func() any // what it says whenever it has connected

	mu         sync.Mutex
	unanswered map[string]*words // by what answers it
}

// words are what a device says until it is answered, each time after twice as long as before: a house that has much to do would have more
// to do with every repeat.
type words struct {
	verb string
	body any
	wait time.Duration
	due  time.Time
}

// sayAgain is how soon a device says again what nobody has answered, and seldom how long it waits at most.
const (
	sayAgain = 300 * time.Millisecond
	seldom   = 5 * time.Second
)

func newDevice(name string, addresses []string, hear func(string, []byte), hello func() any) *device {
	d := &device{name: name, hear: hear, hello: hello, unanswered: make(map[string]*words)}
	options := mqtt.NewClientOptions().SetClientID(name).SetCleanSession(true).SetKeepAlive(2 * time.Second).
		SetPingTimeout(time.Second).SetConnectTimeout(2 * time.Second).SetMaxReconnectInterval(50 * time.Millisecond).
		SetConnectRetry(true).SetConnectRetryInterval(50 * time.Millisecond).SetOrderMatters(true).SetStore(forgetful{}).
		SetWriteTimeout(2 * time.Second).SetOnConnectHandler(d.connected)
	for _, address := range addresses {
		options.AddBroker("tcp://" + address)
	}
	d.client = mqtt.NewClient(options)
	d.client.Connect()
	return d
}

// forgetful keeps no message for the next connection: the device itself says again what was not answered.
type forgetful struct{}

func (forgetful) Open()                             {}
func (forgetful) Put(string, packets.ControlPacket) {}
func (forgetful) Get(string) packets.ControlPacket  { return nil }
func (forgetful) All() []string                     { return nil }
func (forgetful) Del(string)                        {}
func (forgetful) Close()                            {}
func (forgetful) Reset()                            {}

func (d *device) topic(last string) string { return "reach/v1/" + d.name + "/" + last }

func (d *device) connected(client mqtt.Client) {
	client.Subscribe(d.topic("in/+"), 0, func(_ mqtt.Client, m mqtt.Message) { d.hear(path.Base(m.Topic()), m.Payload()) })
	d.publish("hello", d.hello())
}

func (d *device) publish(verb string, body any) {
	if d.client.IsConnectionOpen() {
		d.client.Publish(d.topic(verb), 1, false, []byte(schemas.MustEncode(body)))
	}
}

// say publishes something until it is answered.
func (d *device) say(answeredBy, verb string, body any) {
	d.mu.Lock()
	d.unanswered[answeredBy] = &words{verb, body, sayAgain, time.Now().Add(sayAgain)}
	d.mu.Unlock()
	d.publish(verb, body)
}

func (d *device) answered(by string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.unanswered, by)
}

// repeat says again what was not answered.
func (d *device) repeat() {
	now := time.Now()
	d.mu.Lock()
	var all []words
	for _, one := range d.unanswered {
		if now.After(one.due) {
			one.wait = min(2*one.wait, seldom)
			one.due = now.Add(one.wait)
			all = append(all, *one)
		}
	}
	d.mu.Unlock()
	for _, one := range all {
		d.publish(one.verb, one.body)
	}
}

// handheld is an agent on such a device.
type handheld struct {
	*agent
	*device
	slots int

	errands map[string]*errand // by task_id; under the device's lock
}

// errand is a task that the handheld was given. It is kept, so that it is not run again when it comes again.
type errand struct {
	schemas.Handover
	begun, over bool
	stop        context.CancelFunc
}

func newHandheld(a *agent, addresses []string) *handheld {
	slots, _ := strconv.Atoi(os.Getenv(slotsVariable))
	h := &handheld{agent: a, slots: slots, errands: make(map[string]*errand)}
	h.device = newDevice(a.name, addresses, h.heard, h.beat)
	return h
}

// work says that it is there, and again what nobody has answered, until the process ends. Tasks run as they come.
func (h *handheld) work() {
	r := schemas.Registration{AgentID: h.agent.name, InstanceID: schemas.NewTaskID(), Version: "1.0.0", MaxConcurrency: h.slots}
	for _, id := range abilities {
		r.Capabilities = append(r.Capabilities, schemas.Offer{ID: id, MaxConcurrency: h.slots})
	}
	h.say("registered", "register", r)
	fmt.Println("listening")
	for {
		time.Sleep(sayAgain)
		h.repeat()
		h.publish("heartbeat", h.beat())
	}
}

// beat names what it holds.
func (h *handheld) beat() any {
	h.mu.Lock()
	defer h.mu.Unlock()
	beat := schemas.DeviceBeat{Connection: "c1"}
	for _, e := range h.errands {
		if !e.over {
			beat.Held = append(beat.Held, e.Sequence)
		}
	}
	return beat
}

func (h *handheld) heard(kind string, body []byte) {
	switch kind {
	case "registered":
		h.answered("registered")
	case "task":
		task := new(schemas.Handover)
		if schemas.Decode(body, task) == nil {
			h.take(task)
		}
	case "ok":
		answer := new(schemas.DeviceAnswer)
		if schemas.Decode(body, answer) == nil && answer.Outcome != schemas.OutcomeTryAgain && answer.Outcome != "" {
			h.told(answer)
		}
	case "cancel":
		word := new(schemas.Control)
		if schemas.Decode(body, word) == nil {
			if word.TaskID = cmp.Or(word.TaskID, h.holds(word.Sequence)); word.TaskID == "" {
				return
			}
			h.give(word.TaskID)
			h.say("stopped "+word.TaskID, "stopped", schemas.DeviceStopped{TaskID: word.TaskID, Sequence: word.Sequence, Confirmed: true})
		}
	}
}

// take has a task: one that is known already is a repeat.
func (h *handheld) take(task *schemas.Handover) {
	h.mu.Lock()
	known := h.errands[task.TaskID]
	if known != nil && known.Sequence >= task.Sequence {
		h.mu.Unlock()
		return
	}
	if known != nil && known.stop != nil {
		known.stop()
	}
	h.errands[task.TaskID] = &errand{Handover: *task}
	h.mu.Unlock()
	h.say("receipt "+task.TaskID, "receipt", schemas.DeviceReceipt{
		TaskID: task.TaskID, Attempt: task.Attempt, Sequence: task.Sequence, Begin: task.Begin,
	})
}

// told takes the answer to a receipt or a result.
func (h *handheld) told(a *schemas.DeviceAnswer) {
	h.answered(a.About + " " + a.TaskID)
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.errands[a.TaskID]
	switch {
	case e == nil || e.over:
	case a.About == "result" || a.Outcome == schemas.OutcomeSuperseded:
		e.over = true
	case a.About == "receipt" && !e.begun:
		var ctx context.Context
		ctx, e.stop = context.WithCancel(context.Background())
		e.begun, e.Sequence = true, a.Sequence
		go h.run(ctx, *e)
	}
}

// holds is the task that the device has under a sequence.
func (h *handheld) holds(sequence uint64) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for taskID, e := range h.errands {
		if e.Sequence == sequence {
			return taskID
		}
	}
	return ""
}

// give ends a task that is somebody else's, or nobody's any more.
func (h *handheld) give(taskID string) {
	h.answered("receipt " + taskID)
	h.answered("result " + taskID)
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := h.errands[taskID]; e != nil {
		e.over = true
		if e.stop != nil {
			e.stop()
		}
	}
}

func (h *handheld) run(ctx context.Context, e errand) {
	m := new(schemas.ReachMessage)
	if schemas.Decode(e.Message, m) != nil {
		return
	}
	result, code := h.execute(ctx, e.TaskID, m.Capability, m.Payload)
	if ctx.Err() != nil {
		return
	}
	r := schemas.Result{
		TaskID: e.TaskID, AgentID: h.agent.name, Attempt: e.Attempt, Sequence: e.Sequence, State: schemas.StateCompleted, Result: result,
	}
	if code != "" {
		r.State, r.Result, r.Error = schemas.StateFailed, nil, schemas.NewError(code, "", "as it was told to")
	}
	h.say("result "+e.TaskID, "result", r)
}
