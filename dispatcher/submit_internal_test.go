package dispatcher

import (
	"testing"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// The agent of a task could not be reached, and the task has left it before its caller is answered.
func TestASubmitIsAnsweredWithTheTaskAsItWasAccepted(t *testing.T) {
	t.Parallel()
	d := runOn(t, brokertest.New(t).Conn(t))
	now, err := d.Submit(t.Context(), schemas.DefaultTenant, &schemas.ReachMessage{Capability: "echo", WaitForAgent: true})
	check(t, err)
	accepted := d.openView(index.Event{
		Sequence: now.Revision - 1, TaskID: now.TaskID, Phase: schemas.PhaseAssigned, Capability: "echo", AgentID: "desk-2",
		Message: &schemas.ReachMessage{TaskID: now.TaskID, Tenant: schemas.DefaultTenant, Assignment: &schemas.Assignment{AgentID: "desk-2"}},
	})
	if accepted.AgentID != "desk-2" || accepted.State != schemas.StateWorking {
		t.Errorf("it is answered with %+v", accepted)
	}
}
