package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/breaker"
	"github.com/agentreach/agent-reach/schemas"
)

// While the broker is away a worker brings the same result again and again. It tells of one attempt.
func TestAResultThatCannotBeStoredCountsAtNoBreaker(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	proxy := brokertest.Proxy(t, b.URL())
	d := runOn(t, b.Connect(t, func(cfg *broker.Config) { cfg.URL = proxy.URL() }))
	instance := enlist(t, d, "one", schemas.Offer{ID: "echo"})
	task, err := d.Submit(t.Context(), schemas.DefaultTenant, &schemas.ReachMessage{Capability: "echo"})
	check(t, err)
	result := &schemas.Result{
		TaskID: task.TaskID, AgentID: "one", InstanceID: instance, Attempt: 1, Sequence: task.Revision, WriteID: "w", State: schemas.StateFailed,
		Ran: schemas.RanNo, Error: schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "refused"),
	}
	proxy.Pause()
	for range breaker.InARow {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if answer := d.finish(ctx, "one", result); answer.Outcome != schemas.OutcomeTryAgain {
			t.Errorf("got %+v", answer)
		}
		cancel()
	}
	proxy.Resume()
	if !reachable(d, "one") {
		t.Error("one attempt has opened the breaker")
	}
}

func reachable(d *Dispatcher, agentID string) bool {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	return d.view.breakers.Allows(breakerOf(agentID, "echo"), d.clock())
}
