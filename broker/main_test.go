package broker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestMain(m *testing.M) { brokertest.Main(m) }

// within is a context for one test step.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// queued is the first entry of a new task.
func queued() broker.Entry {
	return broker.Entry{
		TaskID: schemas.NewTaskID(), Phase: schemas.PhaseQueued, Capability: "summarize", Agent: schemas.NoAgent,
		Body: []byte(`{"v":1}`), TTL: time.Hour,
	}
}

// after is the entry that follows e in another phase.
func after(e broker.Entry, phase schemas.Phase, agent string) broker.Entry {
	return broker.Entry{
		TaskID: e.TaskID, Phase: phase, Capability: e.Capability, Agent: agent, Previous: e.Sequence,
		Body: []byte(`{"v":1}`), TTL: time.Hour,
	}
}

func write(t testing.TB, l *broker.Ledger, e broker.Entry) broker.Entry {
	t.Helper()
	stored, err := l.Write(within(t, time.Minute), e)
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	return stored
}

func wantConflict(t testing.TB, err error) *broker.Conflict {
	t.Helper()
	var conflict *broker.Conflict
	if !errors.As(err, &conflict) {
		t.Fatalf("got %v, want a Conflict", err)
	}
	return conflict
}

func wantCode(t testing.TB, err error, code schemas.Code, reason string) {
	t.Helper()
	var e *schemas.Error
	if !errors.As(err, &e) || e.Code != code || e.Reason != reason {
		t.Fatalf("got %v, want %s %s", err, code, reason)
	}
}

// receive waits for one value.
func receive[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("waited in vain for %s", what)
		panic("not reached")
	}
}

// undisturbed keeps the feed as it is, for tests of the feed itself.
func undisturbed(cfg *broker.Config) {
	cfg.Disturb = func(next func(broker.Entry)) func(broker.Entry) { return next }
}

// otherTask is e of another task.
func otherTask(e broker.Entry) broker.Entry {
	e.TaskID = schemas.NewTaskID()
	return e
}
