package mqttfront_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// phone is an app on a stock MQTT client, as docs/mqtt.md tells its author to write it: what it says it says again until it is answered,
// what it hears twice it does once, and its session outlives its connections.
type phone struct {
	t      testing.TB
	name   string
	client mqtt.Client

	voice      sync.Mutex // held from the look at what the phone has to the word that it says of that: none said later overtakes it
	mu         sync.Mutex
	socket     *line
	away       bool // in flight mode
	mute       bool // does not say by itself that it lives
	hasty      bool // says that it lives before its receipts are answered
	off        bool // hears nothing any more, and begins nothing
	connection int
	unanswered map[string]said // by what answers it
	kinds      map[string]int  // messages heard, by kind
	tasks      map[string]*errand
	effects    map[string]int // the agent's own log: how often each task was run
	ends       map[string]*schemas.Task
	heardEnds  map[string]int
	accepted   map[string]*schemas.Task // by msg_id
	errors     map[string]*schemas.Error
	chunks     map[string][]string
	progress   map[string]bool
	canceled   []schemas.Control
	last       map[string]schemas.DeviceAnswer // by about and task
	run        func(*phone, *errand)           // how tasks are run; nil: at once
	on         func(kind string)               // called for each message, outside of the lock
	keepEnds   bool                            // ends are not acknowledged
	keepAlive  time.Duration                   // after which a dead connection is noticed, and half of it again
	listens    chan struct{}                   // closed once it hears what is said to it
	once       sync.Once                       // closes listens
	done       chan struct{}
	running    sync.WaitGroup
}

type said struct {
	verb string
	body any
	next time.Time     // when it is said again
	wait time.Duration // and after that, twice as long: what is answered slowly is not asked more often
}

// errand is a task that the phone was given.
type errand struct {
	schemas.Handover
	sequence uint64
	begun    bool
	over     bool
}

func newPhone(h *house, name string, change ...func(*phone)) *phone {
	h.t.Helper()
	p := &phone{
		t: h.t, name: name, unanswered: map[string]said{}, kinds: map[string]int{}, tasks: map[string]*errand{}, effects: map[string]int{},
		ends: map[string]*schemas.Task{}, heardEnds: map[string]int{}, accepted: map[string]*schemas.Task{},
		errors: map[string]*schemas.Error{}, chunks: map[string][]string{}, progress: map[string]bool{},
		last: map[string]schemas.DeviceAnswer{}, listens: make(chan struct{}), done: make(chan struct{}),
		keepAlive: 2 * patience,
	}
	for _, fn := range change {
		fn(p)
	}
	options := mqtt.NewClientOptions().AddBroker("tcp://" + h.broker.MQTT()).SetClientID(name).SetCleanSession(false).
		SetKeepAlive(p.keepAlive).SetPingTimeout(p.keepAlive / 2).SetConnectTimeout(5 * time.Second).SetAutoReconnect(true).
		SetMaxReconnectInterval(50 * time.Millisecond).SetConnectRetry(true).SetConnectRetryInterval(50 * time.Millisecond).
		SetOrderMatters(true).SetOnConnectHandler(p.connected).SetStore(forgetful{}).SetWriteTimeout(2 * time.Second)
	p.setWill(options)
	options.SetReconnectingHandler(func(_ mqtt.Client, o *mqtt.ClientOptions) { p.setWill(o) })
	options.SetCustomOpenConnectionFn(func(uri *url.URL, _ mqtt.ClientOptions) (net.Conn, error) { return p.dial(uri) })
	p.client = mqtt.NewClient(options)
	p.client.Connect()
	h.t.Cleanup(p.close)
	p.running.Go(p.repeat)
	await(h.t, name+" listens", p.listens) // what is said to it before is lost
	return p
}

// forgetful keeps no message for the next connection: the phone itself says again what was not answered. (The client's own store writes
// to packets while they are sent.)
type forgetful struct{}

func (forgetful) Open()                             {}
func (forgetful) Put(string, packets.ControlPacket) {}
func (forgetful) Get(string) packets.ControlPacket  { return nil }
func (forgetful) All() []string                     { return nil }
func (forgetful) Del(string)                        {}
func (forgetful) Close()                            {}
func (forgetful) Reset()                            {}

// setWill makes the will of the next connection: it names that one alone.
func (p *phone) setWill(o *mqtt.ClientOptions) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.connection++
	o.SetWill(p.topic("offline"), fmt.Sprintf(`{"connection":"c%d"}`, p.connection), 1, false)
}

func (p *phone) dial(uri *url.URL) (net.Conn, error) {
	p.mu.Lock()
	away := p.away
	p.mu.Unlock()
	if away {
		return nil, fmt.Errorf("in flight mode")
	}
	conn, err := net.Dial("tcp", uri.Host)
	if err != nil {
		return nil, err
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.socket = &line{Conn: conn, closed: make(chan struct{})}
	return p.socket, nil
}

// line is a connection that can die without a word: then nothing goes through it any more, and the other side is not told.
type line struct {
	net.Conn
	dead   atomic.Bool
	broken atomic.Bool
	once   sync.Once
	closed chan struct{}
}

func (l *line) Write(b []byte) (int, error) {
	if l.dead.Load() {
		return len(b), nil
	}
	return l.Conn.Write(b)
}

func (l *line) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if l.dead.Load() {
		<-l.closed
		return 0, net.ErrClosed
	}
	if err != nil && l.broken.Load() {
		return n, syscall.ECONNRESET // the client takes net.ErrClosed for its own doing
	}
	return n, err
}

// snap ends the connection as if something on its way had.
func (l *line) snap() {
	l.broken.Store(true)
	_ = l.Close()
}

func (l *line) Close() error {
	l.once.Do(func() { close(l.closed) })
	if l.dead.Load() {
		return nil
	}
	return l.Conn.Close()
}

// vanish lets the connection die without a word. The client finds out by its own pings, and comes back beside it.
func (p *phone) vanish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.socket.dead.Store(true)
}

func (p *phone) topic(verb string) string { return "reach/v1/" + p.name + "/" + verb }

// connected subscribes, and says hello.
func (p *phone) connected(client mqtt.Client) {
	subscribed := client.Subscribe(p.topic("in/+"), 1, p.hear)
	p.hello("hello")
	select {
	case <-subscribed.Done():
	case <-p.done:
	}
	if subscribed.Error() == nil {
		p.once.Do(func() { close(p.listens) })
	}
}

func (p *phone) hello(verb string) {
	p.voice.Lock()
	defer p.voice.Unlock()
	p.mu.Lock()
	beat := schemas.DeviceBeat{Connection: fmt.Sprintf("c%d", p.connection)}
	for _, e := range p.tasks {
		if !e.over {
			beat.Held = append(beat.Held, e.sequence)
		}
	}
	p.mu.Unlock()
	p.speak(verb, &beat)
}

// cut drops the connection as a tunnel does; the client comes back by itself.
func (p *phone) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.socket != nil {
		p.socket.snap()
	}
}

// fly begins or ends flight mode.
func (p *phone) fly(away bool) {
	p.mu.Lock()
	p.away = away
	p.mu.Unlock()
	if away {
		p.cut()
	}
}

func (p *phone) close() {
	p.mu.Lock()
	p.off = true
	p.mu.Unlock()
	close(p.done)
	p.running.Wait()
	p.client.Disconnect(100)
}

// repeat says again what was not answered, and that the phone lives.
func (p *phone) repeat() {
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-p.done:
			return
		case <-tick.C:
		}
		for _, one := range p.due(time.Now()) {
			p.publish(one.verb, one.body)
		}
		if n%3 == 0 && !p.mute {
			p.hello("heartbeat")
		}
	}
}

// due is what is to be said again now.
func (p *phone) due(now time.Time) (all []said) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for answeredBy, one := range p.unanswered {
		if one.next.After(now) {
			continue
		}
		all = append(all, one)
		one.next, one.wait = now.Add(one.wait), 2*one.wait
		p.unanswered[answeredBy] = one
	}
	return all
}

// say publishes something until it is answered.
func (p *phone) say(answeredBy, verb string, body any) {
	const first = 300 * time.Millisecond
	p.mu.Lock()
	p.unanswered[answeredBy] = said{verb, body, time.Now().Add(first), 2 * first}
	p.mu.Unlock()
	p.publish(verb, body)
}

func (p *phone) publish(verb string, body any) {
	p.voice.Lock()
	defer p.voice.Unlock()
	p.speak(verb, body)
}

func (p *phone) speak(verb string, body any) {
	text, isText := body.(string)
	if !isText {
		text = string(schemas.MustEncode(body))
	}
	if p.client.IsConnectionOpen() {
		p.client.Publish(p.topic(verb), 1, false, text)
	}
}

func (p *phone) register(body string) {
	p.t.Helper()
	p.say("register", "register", body)
	brokertest.Eventually(p.t, p.name+" is registered", func() bool { return p.heard("registered") > 0 })
}

func (p *phone) submit(msgID, body string) {
	p.say("submit "+msgID, "submit", strings.Replace(body, "{", `{"msg_id":"`+msgID+`",`, 1))
}

func (p *phone) heard(kind string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kinds[kind]
}

// end is the end of a task that was submitted, once it is heard.
func (p *phone) end(msgID string) *schemas.Task {
	p.t.Helper()
	var task *schemas.Task
	brokertest.Eventually(p.t, p.name+" hears the end of "+msgID, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if accepted := p.accepted[msgID]; accepted != nil {
			task = p.ends[accepted.TaskID]
		}
		return task != nil
	})
	return task
}

func (p *phone) ran(taskID string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.effects[taskID]
}

// hear takes one message.
func (p *phone) hear(_ mqtt.Client, m mqtt.Message) {
	kind := strings.TrimPrefix(m.Topic(), p.topic("in/"))
	if p.on != nil {
		p.on(kind)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.off {
		return
	}
	p.kinds[kind]++
	switch kind {
	case "accepted":
		task := read[schemas.Task](p.t, m)
		p.accepted[task.MsgID] = task
		delete(p.unanswered, "submit "+task.MsgID)
	case "result":
		task := read[schemas.Task](p.t, m)
		p.ends[task.TaskID] = task
		p.heardEnds[task.TaskID]++
		if !p.keepEnds {
			p.running.Go(func() { p.publish("ack", &schemas.TaskRef{TaskID: task.TaskID}) })
		}
	case "task":
		p.take(read[schemas.Handover](p.t, m))
	case "ok":
		p.answered(read[schemas.DeviceAnswer](p.t, m))
	case "error":
		a := read[schemas.DeviceAnswer](p.t, m)
		p.errors[strings.TrimSpace(a.About+" "+a.MsgID)] = a.Error
		delete(p.unanswered, "submit "+a.MsgID)
	case "registered":
		delete(p.unanswered, "register")
	case "cancel":
		p.cancel(read[schemas.Control](p.t, m))
	case "chunk":
		c := read[schemas.Chunk](p.t, m)
		for int64(len(p.chunks[c.TaskID])) < c.N {
			p.chunks[c.TaskID] = append(p.chunks[c.TaskID], "")
		}
		p.chunks[c.TaskID][c.N-1] = string(c.Data)
	case "progress":
		p.progress[read[schemas.TaskProgress](p.t, m).TaskID] = true
	}
}

// take has a task: one that is known already is a repeat.
func (p *phone) take(h *schemas.Handover) {
	e := p.tasks[h.TaskID]
	if e != nil && e.sequence >= h.Sequence {
		return
	}
	e = &errand{Handover: *h, sequence: h.Sequence}
	p.tasks[h.TaskID] = e
	receipt := schemas.DeviceReceipt{TaskID: h.TaskID, Attempt: h.Attempt, Sequence: h.Sequence, Begin: h.Begin}
	p.running.Go(func() {
		p.say("receipt "+h.TaskID, "receipt", &receipt)
		if p.hasty {
			p.hello("heartbeat")
		}
	})
}

// answered takes the answer to a receipt, a result or a chunk.
func (p *phone) answered(a *schemas.DeviceAnswer) {
	p.last[a.About+" "+a.TaskID] = *a
	e := p.tasks[a.TaskID]
	if a.Outcome == schemas.OutcomeTryAgain || e == nil && a.About != "release" {
		return
	}
	delete(p.unanswered, a.About+" "+a.TaskID)
	switch {
	case a.Outcome == schemas.OutcomeSuperseded:
		e.over = true
	case a.About == "receipt" && !e.begun:
		e.begun, e.sequence = true, a.Sequence
		p.effects[e.TaskID]++
		p.running.Go(func() { p.perform(e) })
	case a.About == "result":
		e.over = true
	}
}

// perform runs a task.
func (p *phone) perform(e *errand) {
	if p.run != nil {
		p.run(p, e)
		return
	}
	p.finish(e, `{"passed":true,"output":"ok"}`)
}

// payload is what the task is about.
func (e *errand) payload() string {
	var m schemas.ReachMessage
	if err := schemas.Decode(e.Message, &m); err != nil {
		return err.Error()
	}
	return string(m.Payload)
}

func (p *phone) finish(e *errand, result string) {
	p.say("result "+e.TaskID, "result", &schemas.Result{
		TaskID: e.TaskID, Attempt: e.Attempt, Sequence: e.sequence, State: schemas.StateCompleted, Result: schemas.Payload(result),
		AgentID: p.name,
	})
}

func (p *phone) cancel(word *schemas.Control) {
	p.canceled = append(p.canceled, *word)
	if e := p.tasks[word.TaskID]; e != nil {
		e.over = true
		delete(p.unanswered, "result "+e.TaskID)
		go p.say("stopped "+e.TaskID, "stopped", &schemas.DeviceStopped{TaskID: word.TaskID, Sequence: word.Sequence, Confirmed: true})
	}
}

func read[T any](t testing.TB, m mqtt.Message) *T {
	value := new(T)
	if !json.Valid(m.Payload()) || schemas.Accept(m.Payload(), value) != nil {
		t.Errorf("%s is not readable: %s", m.Topic(), m.Payload())
	}
	return value
}
