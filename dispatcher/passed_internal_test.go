package dispatcher

import (
	"testing"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/slots"
)

// An assignment can be overtaken in the ledger before a hole of the feed is filled, and is never folded: its place is free all the same.
func TestAnAssignmentThatIsPassedOverKeepsNoPlace(t *testing.T) {
	t.Parallel()
	d := runOn(t, brokertest.New(t).Conn(t))
	s := slots.Slot{AgentID: "one", Capability: "echo"}
	d.view.mu.Lock()
	d.view.slots.Take(s)
	next := d.view.order.Applied() + 1
	d.view.slots.Until(next, s)
	d.view.mu.Unlock()
	d.fill(nil, next)
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	if of, all := d.view.slots.Of(s); of != 0 || all != 0 {
		t.Errorf("%d and %d places are reserved for good", of, all)
	}
}
