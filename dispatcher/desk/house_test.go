package desk_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/dispatcher/desk"
	"github.com/agentreach/agent-reach/schemas"
)

func TestMain(m *testing.M) { brokertest.Main(m) }

// patience bounds every wait for what must come. No machine that works at all is so slow.
const patience = 30 * time.Second

// house is a broker with a dispatcher, and desks as a test wants them.
type house struct {
	*dispatcher.Dispatcher
	t      testing.TB
	broker *brokertest.Broker
}

// clock is the machine's, which a test may put forward.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// newHouse has agents that nobody takes for gone for a silence, nor because they have not claimed yet, however slow the machine is.
func newHouse(t testing.TB, change ...func(*dispatcher.Config)) *house {
	t.Helper()
	h := &house{t: t, broker: brokertest.New(t)}
	cfg := dispatcher.Config{
		ID: "d1", HeartbeatInterval: time.Second, HeartbeatTTL: time.Minute, DisconnectGrace: 300 * time.Millisecond,
		ResendAfter: time.Hour, BackoffBase: 50 * time.Millisecond, PresenceBeat: 100 * time.Millisecond,
		PresenceTTL: 400 * time.Millisecond, SubmitWait: patience, Tick: 20 * time.Millisecond, Retention: time.Hour,
		Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
	}
	for _, fn := range change {
		fn(&cfg)
	}
	d, err := dispatcher.New(h.broker.Conn(t), cfg)
	check(t, err)
	h.Dispatcher = d
	runs(t, d.Run)
	select {
	case <-d.Ready():
	case <-time.After(patience):
		t.Fatalf("the dispatcher is not ready after %v", patience)
	}
	return h
}

// runs runs something until the test ends, or until the returned function is called.
func runs(t testing.TB, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			check(t, <-done)
		}
	}
	t.Cleanup(stop)
	return stop
}

// desk is one that runs.
type running struct {
	*desk.Desk
	conn *broker.Conn
	stop func()
}

func (h *house) desk(change ...func(*desk.Config)) *running {
	h.t.Helper()
	cfg := desk.Config{
		Conn: h.broker.Conn(h.t), Again: 300 * time.Millisecond, RequestTimeout: 10 * time.Second, FinishTimeout: patience,
		CancelWait: 2 * time.Second, Tick: 10 * time.Millisecond,
		Logger: zerolog.New(zerolog.NewTestWriter(h.t)),
	}
	for _, fn := range change {
		fn(&cfg)
	}
	d, err := desk.New(cfg)
	check(h.t, err)
	return &running{Desk: d, conn: cfg.Conn, stop: runs(h.t, d.Run)}
}

func (h *house) submit(capability, payload string, change ...func(*schemas.ReachMessage)) *schemas.Task {
	h.t.Helper()
	m := &schemas.ReachMessage{Capability: capability, Payload: schemas.Payload(payload)}
	for _, fn := range change {
		fn(m)
	}
	task, err := h.Submit(h.t.Context(), schemas.DefaultTenant, m)
	check(h.t, err)
	return task
}

func (h *house) ends(taskID string) *schemas.Task {
	h.t.Helper()
	task, err := h.Wait(h.t.Context(), schemas.DefaultTenant, taskID, patience)
	check(h.t, err)
	if !task.State.Terminal() {
		h.t.Fatalf("task %s is still %s (%s)", taskID, task.State, task.Phase)
	}
	return task
}

// claimer is an agent without a connection to the broker.
type claimer struct {
	h        *house
	id       string
	instance string
}

func (h *house) claimer(id string, offers ...schemas.Offer) *claimer {
	h.t.Helper()
	a := &claimer{h: h, id: id, instance: schemas.NewTaskID()}
	check(h.t, a.register(offers...))
	return a
}

func (a *claimer) register(offers ...schemas.Offer) error { return a.registerAs(false, offers) }

func (a *claimer) registerAs(fetches bool, offers []schemas.Offer) error {
	_, err := a.h.Register(a.h.t.Context(), &schemas.Registration{
		AgentID: a.id, InstanceID: a.instance, Version: "1.0.0", Transport: schemas.Transport{Type: schemas.TransportClaim},
		Capabilities: offers, LargeBodies: fetches,
	})
	return err
}

// claim asks for work, and waits for it for long.
func (a *claimer) claim(d *running, change ...func(*schemas.Claim)) *schemas.Claimed {
	a.h.t.Helper()
	claimed, err := a.ask(a.h.t.Context(), d, patience, change...)
	check(a.h.t, err)
	return claimed
}

func (a *claimer) ask(ctx context.Context, d *running, wait time.Duration, change ...func(*schemas.Claim)) (*schemas.Claimed, error) {
	claim := &schemas.Claim{AgentID: a.id, InstanceID: a.instance}
	for _, fn := range change {
		fn(claim)
	}
	claimed, err := d.Claim(ctx, claim, wait)
	if err != nil {
		return nil, err
	}
	var written bytes.Buffer
	if err := claimed.Write(ctx, &written); err != nil {
		return nil, err
	}
	answer := new(schemas.Claimed)
	return answer, schemas.Accept(written.Bytes(), answer)
}

// one is the one task of an answer.
func (a *claimer) one(claimed *schemas.Claimed) given {
	a.h.t.Helper()
	if len(claimed.Assignments) != 1 {
		a.h.t.Fatalf("%d assignments, want 1: %+v", len(claimed.Assignments), claimed)
	}
	g := given{sequence: claimed.Assignments[0].Sequence}
	check(a.h.t, schemas.Decode(claimed.Assignments[0].Message, &g.message))
	return g
}

// given is a task as an agent was given it.
type given struct {
	message  schemas.ReachMessage
	sequence uint64
}

func (a *claimer) result(g given, result string) *schemas.Result {
	return &schemas.Result{
		AgentID: a.id, InstanceID: a.instance, TaskID: g.message.TaskID, Sequence: g.sequence, Attempt: 1,
		State: schemas.StateCompleted, Result: schemas.Payload(result),
	}
}

func held(sequences ...uint64) func(*schemas.Claim) {
	return func(c *schemas.Claim) { c.Held = append([]uint64{}, sequences...) }
}

func named(id string) func(*schemas.Claim) { return func(c *schemas.Claim) { c.ClaimID = id } }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, code schemas.Code, reason string) {
	t.Helper()
	var e *schemas.Error
	if !errors.As(err, &e) || e.Code != code || e.Reason != reason {
		t.Fatalf("got %v, want %s %s", err, code, reason)
	}
}
