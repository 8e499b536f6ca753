package dispatcher

import (
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// An index that is rebuilt while the ledger forgets a task may read an open phase of it, and find its end gone.
func TestATaskThatTheLedgerHasForgottenDoesNotStayOpen(t *testing.T) {
	t.Parallel()
	phases := []struct {
		phase   schemas.Phase
		agentID string
	}{
		{schemas.PhaseAssigned, "gone"},
		{schemas.PhaseBegun, "gone"},
		{schemas.PhaseQueued, ""},
		{schemas.PhaseScheduled, ""},
	}
	d := runOn(t, brokertest.New(t).Conn(t))
	past := time.Now().Add(-time.Minute)
	d.view.mu.Lock()
	for n, p := range phases {
		d.view.tasks.Apply(index.Event{
			Sequence: uint64(n + 1), TaskID: schemas.NewTaskID(), Phase: p.phase, Capability: "echo", AgentID: p.agentID, At: past,
			Message: &schemas.ReachMessage{Tenant: schemas.DefaultTenant, NotBefore: schemas.At(past), ExpiresAt: schemas.At(past), ForgetAt: schemas.At(past)},
		})
	}
	d.view.mu.Unlock()
	brokertest.Eventually(t, "no task is open any more", func() bool {
		d.view.mu.Lock()
		defer d.view.mu.Unlock()
		return d.view.tasks.Len() == 0 && d.view.tasks.QueueLen("echo") == 0 && len(d.view.contacts) == 0
	})
}
