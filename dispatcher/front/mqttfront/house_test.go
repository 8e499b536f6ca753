package mqttfront_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/dispatcher/front/mqttfront"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

// patience is longer than any machine stands still: what a test relies on happens within it, and what takes it makes the test fail.
const patience = 30 * time.Second

// house is a broker with an MQTT listener, and dispatchers with their bridges over it.
type house struct {
	t      *testing.T
	broker *brokertest.Broker
	all    []*resident
	behind func(front.Service) front.Service // what bridges see of their dispatchers; nil: all
}

// resident is one dispatcher with its bridge.
type resident struct {
	*dispatcher.Dispatcher
	conn *broker.Conn
	stop func()
}

func newHouse(t *testing.T, dispatchers int, change ...func(*house)) *house {
	t.Helper()
	h := &house{t: t, broker: brokertest.New(t, brokertest.WithMQTT(t))}
	for _, fn := range change {
		fn(h)
	}
	for range dispatchers {
		h.start()
	}
	if dispatchers > 1 {
		brokertest.Eventually(t, "the dispatchers know each other", func() bool {
			for _, r := range h.all {
				if len(r.Peers()) != dispatchers {
					return false
				}
			}
			return true
		})
	}
	return h
}

func (h *house) start() *resident {
	h.t.Helper()
	log := zerolog.New(zerolog.NewTestWriter(h.t)).Level(zerolog.WarnLevel)
	conn := h.broker.Conn(h.t)
	d, err := dispatcher.New(conn, dispatcher.Config{
		ID: fmt.Sprintf("d%d", len(h.all)+1), Logger: log, HeartbeatInterval: time.Second, HeartbeatTTL: patience,
		DisconnectGrace: 300 * time.Millisecond, ResendAfter: 200 * time.Millisecond, BackoffBase: 50 * time.Millisecond,
		BackoffCap: time.Second, PresenceBeat: 100 * time.Millisecond, PresenceTTL: 400 * time.Millisecond,
		Tick: 20 * time.Millisecond, Retention: time.Hour,
	})
	check(h.t, err)
	var service front.Service = d
	if h.behind != nil {
		service = h.behind(d)
	}
	bridge, err := mqttfront.New(mqttfront.Config{
		Conn: conn, Service: service, Owns: func(name string) bool { return score.Owner(d.Peers(), name) == d.ID() }, Logger: log,
		HeartbeatTTL: patience, ResendFirst: 200 * time.Millisecond, ResendMost: time.Second, StopGrace: patience,
		CancelWait: patience, RequestTimeout: patience, Look: 50 * time.Millisecond,
	})
	check(h.t, err)
	r := &resident{Dispatcher: d, conn: conn}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- d.Run(ctx) }()
	await(h.t, "dispatcher", d.Ready())
	bridging, end := context.WithCancel(ctx)
	go func() { done <- bridge.Run(bridging) }()
	await(h.t, "bridge", bridge.Ready())
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		end()
		check(h.t, <-done)
		cancel()
		check(h.t, <-done)
	}
	h.t.Cleanup(r.stop)
	h.all = append(h.all, r)
	return r
}

func (h *house) any() *resident { return h.all[len(h.all)-1] }

func (h *house) submit(m schemas.ReachMessage) *schemas.Task {
	h.t.Helper()
	task, err := h.any().Submit(h.t.Context(), schemas.DefaultTenant, &m)
	check(h.t, err)
	return task
}

// wait is the task once it has ended.
func (h *house) wait(taskID string) *schemas.Task {
	h.t.Helper()
	task, err := h.any().Wait(h.t.Context(), schemas.DefaultTenant, taskID, patience)
	check(h.t, err)
	if !task.State.Terminal() {
		h.t.Fatalf("task %s is still %s (%s)", taskID, task.State, task.Phase)
	}
	return task
}

// state is where an agent stands, as every dispatcher says.
func (h *house) state(agentID string) schemas.AgentState {
	h.t.Helper()
	var state schemas.AgentState
	for _, r := range h.all {
		a, err := r.Agent(h.t.Context(), agentID)
		if err != nil {
			return ""
		}
		if state != "" && a.State != state {
			return "differs"
		}
		state = a.State
	}
	return state
}

// work is a task with side effects that waits for one agent.
func work(agentID string) schemas.ReachMessage {
	return schemas.ReachMessage{
		Capability: "test_run", Payload: schemas.Payload(`{"command":"go test"}`), PreferAgent: agentID, WaitForAgent: true,
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func await(t testing.TB, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s: waited in vain", what)
	}
}
