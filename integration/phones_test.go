//go:build linux

package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	"golang.org/x/sync/errgroup"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

var (
	phones    = flag.Int("phones", 0, "how many phones TestPhonesInNumbers connects; 0 leaves it out")
	phoneLoad = flag.Int("phone-tasks", 20_000, "how many tasks ten of them serve")
	phoneIdle = flag.Duration("phone-idle", 45*time.Second, "how long they are watched while nothing happens")
	phoneQoS  = flag.Int("phone-qos", 1, "QoS of their subscriptions")
)

// TestPhonesInNumbers measures one `reach up` with many phones connected: what they cost idle, and while ten of them work. It judges
// nothing but that all goes well.
func TestPhonesInNumbers(t *testing.T) {
	if *phones == 0 {
		t.Skip("go test ./integration -run TestPhonesInNumbers -phones 1000")
	}
	r := newReader(t, buildPrograms(t))
	r.background("reach up --mqtt 127.0.0.1:1883")
	m := newMeasure(t, filepath.Join(r.dir, "reach-data"))
	m.note("up, no phones")
	all := make([]*handset, *phones)
	var group errgroup.Group
	group.SetLimit(64)
	began := time.Now()
	for i := range all {
		group.Go(func() (err error) {
			all[i], err = newHandset(strings.TrimPrefix(r.mqtt, "mqtt://"), fmt.Sprintf("phone-%d", i))
			return err
		})
	}
	check(t, group.Wait())
	defer func() {
		for _, one := range all {
			one.close()
		}
	}()
	t.Logf("%d phones are connected and registered after %v", *phones, time.Since(began).Round(time.Millisecond))
	m.note("phones have just registered")
	m.watch("idle, a heartbeat each 15 s", *phoneIdle)
	ran := work(t, r.nats, min(10, *phones), *phoneLoad)
	m.watched(fmt.Sprintf("%d tasks on ten phones, %.0f/s", *phoneLoad, ran), *phoneLoad)
	total := int64(0)
	for _, one := range all {
		total += one.served.Load()
	}
	if total < int64(*phoneLoad) {
		t.Errorf("%d tasks were served, %d were submitted", total, *phoneLoad)
	}
}

// work has ten phones serve tasks, and gives how many a second.
func work(t *testing.T, url string, agents, tasks int) float64 {
	t.Helper()
	conn, err := broker.Connect(t.Context(), broker.Config{URL: url, Name: t.Name()})
	check(t, err)
	defer conn.Close()
	callers := client.New(conn)
	began := time.Now()
	var group errgroup.Group
	group.SetLimit(160)
	for i := range tasks {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			task, err := callers.Submit(ctx, &schemas.ReachMessage{
				Capability: "echo", Payload: schemas.Payload(`{"hello":"world"}`), PreferAgent: fmt.Sprintf("phone-%d", i%agents), WaitForAgent: true,
			})
			if err == nil {
				task, err = callers.Result(ctx, task.TaskID)
			}
			if err == nil && task.State != schemas.StateCompleted {
				err = fmt.Errorf("task %s is %s", task.TaskID, task.State)
			}
			return err
		})
	}
	check(t, group.Wait())
	return float64(tasks) / time.Since(began).Seconds()
}

// handset is the least that serves echo over MQTT.
type handset struct {
	client mqtt.Client
	name   string
	served atomic.Int64
	seen   sync.Map
	done   chan struct{}
}

func newHandset(address, name string) (*handset, error) {
	h := &handset{name: name, done: make(chan struct{})}
	options := mqtt.NewClientOptions().AddBroker("tcp://"+address).SetClientID(name).SetCleanSession(false).SetKeepAlive(time.Minute).
		SetWill(h.topic("offline"), "{}", 1, false).SetConnectTimeout(30 * time.Second).SetOrderMatters(true)
	h.client = mqtt.NewClient(options)
	if token := h.client.Connect(); token.Wait() && token.Error() != nil {
		return h, token.Error()
	}
	registered := make(chan struct{})
	var once sync.Once
	token := h.client.Subscribe(h.topic("in/+"), byte(*phoneQoS), func(_ mqtt.Client, m mqtt.Message) {
		switch {
		case strings.HasSuffix(m.Topic(), "/registered"):
			once.Do(func() { close(registered) })
		case strings.HasSuffix(m.Topic(), "/task"):
			h.serve(m.Payload())
		}
	})
	if token.Wait() && token.Error() != nil {
		return h, token.Error()
	}
	h.say("register", `{"capabilities":[{"id":"echo","max_concurrency":16}]}`)
	select {
	case <-registered:
	case <-time.After(30 * time.Second):
		return h, fmt.Errorf("%s is not registered", name)
	}
	go h.beat()
	return h, nil
}

func (h *handset) beat() {
	tick := time.NewTicker(15 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-h.done:
			return
		case <-tick.C:
			h.say("heartbeat", "{}")
		}
	}
}

func (h *handset) serve(body []byte) {
	var task schemas.Handover
	var message schemas.ReachMessage
	if schemas.Decode(body, &task) != nil || schemas.Decode(task.Message, &message) != nil {
		return
	}
	if _, again := h.seen.LoadOrStore(task.TaskID, true); !again {
		h.served.Add(1)
	}
	h.say("result", string(schemas.MustEncode(&schemas.Result{
		TaskID: task.TaskID, AgentID: h.name, Attempt: task.Attempt, Sequence: task.Sequence, State: schemas.StateCompleted, Result: message.Payload,
	})))
}

func (h *handset) topic(last string) string { return "reach/v1/" + h.name + "/" + last }

func (h *handset) say(verb, body string) { h.client.Publish(h.topic(verb), 1, false, body) }

func (h *handset) close() {
	close(h.done)
	h.client.Disconnect(50)
}

// measure reads what a process uses.
type measure struct {
	t     *testing.T
	pid   int
	ticks int64
	at    time.Time
}

func newMeasure(t *testing.T, dir string) *measure {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "endpoints.json"))
	check(t, err)
	var where struct {
		PID int `json:"pid"`
	}
	check(t, schemas.Decode(content, &where))
	return &measure{t: t, pid: where.PID}
}

func (m *measure) proc(name string) string {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", m.pid, name))
	check(m.t, err)
	return string(content)
}

// cpu is the processor time so far, in hundredths of a second.
func (m *measure) cpu() int64 {
	fields := strings.Fields(m.proc("stat")[strings.LastIndexByte(m.proc("stat"), ')')+1:])
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return user + system
}

// note logs what the process holds now, and starts to count.
func (m *measure) note(what string) {
	m.t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", m.pid))
	check(m.t, err)
	var resident string
	for line := range strings.Lines(m.proc("status")) {
		if strings.HasPrefix(line, "VmRSS:") {
			resident = strings.Join(strings.Fields(line)[1:], " ")
		}
	}
	m.t.Logf("%s: %s resident, %d files open", what, resident, len(files))
	m.ticks, m.at = m.cpu(), time.Now()
}

// watch logs the processor time of a while.
func (m *measure) watch(what string, d time.Duration) {
	m.t.Helper()
	<-time.After(d)
	m.watched(what, 0)
}

// watched logs the processor time since the last note, for each of n things where there are any.
func (m *measure) watched(what string, n int) {
	m.t.Helper()
	used, took := time.Duration(m.cpu()-m.ticks)*10*time.Millisecond, time.Since(m.at)
	m.t.Logf("%s: %.1f %% of a core over %v", what, 100*used.Seconds()/took.Seconds(), took.Round(time.Second))
	if n > 0 {
		m.t.Logf("%s: %v of processor time each", what, (used / time.Duration(n)).Round(time.Microsecond))
	}
	m.note(what)
}
