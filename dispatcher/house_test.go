package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/schemas"
)

// house is a broker with dispatchers over it, as a test wants them.
type house struct {
	t      testing.TB
	broker interface {
		Conn(testing.TB) *broker.Conn
	}
	dispatchers []*running
}

// running is a dispatcher that runs.
type running struct {
	*dispatcher.Dispatcher
	conn *broker.Conn
	stop func()
}

// patience bounds every wait for what must come. No machine that works at all is so slow.
const patience = 30 * time.Second

// quick is a configuration whose times suit a test. Nobody is taken for gone for a silence, however slow the machine: who is to die
// has a mortal house.
func quick() dispatcher.Config {
	return dispatcher.Config{
		HeartbeatInterval: time.Second, HeartbeatTTL: time.Minute, DisconnectGrace: 300 * time.Millisecond,
		ResendAfter: 200 * time.Millisecond, BackoffBase: 50 * time.Millisecond, BackoffCap: time.Second,
		PresenceBeat: 100 * time.Millisecond, PresenceTTL: 400 * time.Millisecond, Tick: 20 * time.Millisecond, Retention: time.Hour,
		SubmitWait: patience,
	}
}

// clock is the machine's, which a test may put forward. What is written keeps to the ledger's clock, after a second at most.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// unswept is a configuration for tests of what a pull brings: nobody else looks after what waits.
func unswept() dispatcher.Config {
	cfg := quick()
	cfg.Tick = time.Hour
	return cfg
}

// mortal is a house whose agents can die: its dispatchers have been there for long, and judge them. Who is to live keeps beating.
func mortal(t testing.TB, dispatchers int) *house {
	t.Helper()
	cfg := quick()
	cfg.HeartbeatTTL = 10 * time.Second
	h := newHouse(t, slices.Repeat([]dispatcher.Config{cfg}, dispatchers)...)
	for _, d := range h.dispatchers {
		d.JudgeFromNow()
	}
	return h
}

func newHouse(t testing.TB, cfgs ...dispatcher.Config) *house {
	t.Helper()
	h := &house{t: t, broker: brokertest.New(t)}
	if len(cfgs) == 0 {
		cfgs = []dispatcher.Config{quick()}
	}
	for _, cfg := range cfgs {
		h.start(cfg)
	}
	return h
}

// start runs one more dispatcher, on a connection of its own.
func (h *house) start(cfg dispatcher.Config) *running {
	h.t.Helper()
	return h.startOn(h.broker.Conn(h.t), cfg)
}

func (h *house) startOn(conn *broker.Conn, cfg dispatcher.Config) *running {
	h.t.Helper()
	cfg.ID = fmt.Sprintf("d%d", len(h.dispatchers)+1)
	cfg.Logger = zerolog.New(zerolog.NewTestWriter(h.t)).Level(zerolog.InfoLevel)
	d, err := dispatcher.New(conn, cfg)
	check(h.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	r := &running{Dispatcher: d, conn: conn}
	stopped := false
	r.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			if err := <-done; err != nil {
				h.t.Errorf("dispatcher: %v", err)
			}
		}
	}
	h.t.Cleanup(r.stop)
	select {
	case <-d.Ready():
	case err := <-done:
		done <- err
		h.t.Fatalf("the dispatcher did not start: %v", err)
	case <-time.After(patience):
		h.t.Fatalf("the dispatcher is not ready after %v", patience)
	}
	h.dispatchers = append(h.dispatchers, r)
	return r
}

// know reports whether every dispatcher has heard of a worker's present instance.
func (h *house) know(w *scripted) bool {
	for _, d := range h.dispatchers {
		a, err := d.Agent(h.t.Context(), w.agentID)
		if err != nil || a.Registration.InstanceID != w.instance {
			return false
		}
	}
	return true
}

// knows returns once every dispatcher has folded an assignment: a scripted worker may be quicker than they are.
func (h *house) knows(a assignment) {
	h.t.Helper()
	for _, d := range h.dispatchers {
		brokertest.Eventually(h.t, "an assignment is known", func() bool { return d.HasFolded(a.sequence) })
	}
}

func (h *house) any() *running { return h.dispatchers[0] }

func (h *house) submit(m schemas.ReachMessage) *schemas.Task {
	h.t.Helper()
	task, err := h.any().Submit(h.t.Context(), schemas.DefaultTenant, &m)
	check(h.t, err)
	return task
}

// brief submits a message that expires soon: within life, or as much longer as the machine needs to take it before.
func (h *house) brief(m schemas.ReachMessage, life time.Duration) *schemas.Task {
	h.t.Helper()
	for {
		m.ExpiresAt = schemas.At(time.Now().Add(life))
		task, err := h.any().Submit(h.t.Context(), schemas.DefaultTenant, &m)
		if life > patience || schemas.AsError(err) == nil || schemas.AsError(err).Reason != schemas.ReasonExpired {
			check(h.t, err)
			return task
		}
		life *= 2
	}
}

func (h *house) wait(taskID string) *schemas.Task {
	h.t.Helper()
	task, err := h.any().Wait(h.t.Context(), schemas.DefaultTenant, taskID, patience)
	check(h.t, err)
	if !task.State.Terminal() {
		h.t.Fatalf("task %s is still %s (%s)", taskID, task.State, task.Phase)
	}
	return task
}

func (h *house) task(taskID string) *schemas.Task {
	h.t.Helper()
	task, err := h.any().Task(h.t.Context(), schemas.DefaultTenant, taskID)
	check(h.t, err)
	return task
}

func echo(payload string) schemas.ReachMessage {
	return schemas.ReachMessage{Capability: "echo", Payload: schemas.Payload(payload)}
}

// work is a non-idempotent task.
func work() schemas.ReachMessage {
	return schemas.ReachMessage{Capability: "test_run", Payload: schemas.Payload(`{"command":"go test"}`)}
}

func wantCode(t testing.TB, err error, code schemas.Code, reason string) *schemas.Error {
	t.Helper()
	var e *schemas.Error
	if !errors.As(err, &e) || e.Code != code || reason != "" && e.Reason != reason {
		t.Fatalf("got %v, want %s %s", err, code, reason)
	}
	return e
}

// plantKey copies the key of a msg_id to another msg_id, naming another task.
func (h *house) plantKey(t testing.TB, msgID, like, taskID string) {
	t.Helper()
	keys := h.any().conn.Keys()
	item, err := keys.Get(t.Context(), broker.IdempotencyKey(schemas.DefaultTenant, like))
	check(t, err)
	item.Value.TaskID = taskID
	_, err = keys.Create(t.Context(), broker.IdempotencyKey(schemas.DefaultTenant, msgID), item.Value, time.Hour)
	check(t, err)
}
