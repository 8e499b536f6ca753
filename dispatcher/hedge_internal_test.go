package dispatcher

import (
	"testing"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// An agent that must not run a task twice begins it, and from then on the first one's result does not count: it is no second agent.
func TestNoSecondAgentMustBeginWhatTheFirstOneRuns(t *testing.T) {
	t.Parallel()
	d := runOn(t, brokertest.New(t).Conn(t))
	no := false
	enlist(t, d, "one", schemas.Offer{ID: "echo"})
	enlist(t, d, "two", schemas.Offer{ID: "echo", Idempotent: &no})
	task, err := d.Submit(t.Context(), schemas.DefaultTenant, &schemas.ReachMessage{Capability: "echo", PreferAgent: "one"})
	check(t, err)
	if c, found := d.secondFor(t, task.TaskID); found {
		t.Errorf("it is given to %s as well", c.agentID)
	}
	enlist(t, d, "three", schemas.Offer{ID: "echo"})
	c, found := d.secondFor(t, task.TaskID)
	if !found || c.agentID != "three" {
		t.Errorf("it is given to %q as well, want three", c.agentID)
	}
	d.giveBack(c)
}

func (d *Dispatcher) secondFor(t *testing.T, taskID string) (change, bool) {
	t.Helper()
	d.view.mu.Lock()
	open := d.view.tasks.Open(taskID)
	d.view.mu.Unlock()
	m, err := d.withPayload(t.Context(), open)
	check(t, err)
	return d.decideHedge(open, m)
}
