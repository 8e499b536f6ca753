package schemas_test

import (
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

func TestOpenState(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		phase   schemas.Phase
		attempt int
		want    schemas.State
	}{
		{"a task for later waits", schemas.PhaseScheduled, 0, schemas.StateSubmitted},
		{"a retry that waits is at work", schemas.PhaseScheduled, 1, schemas.StateWorking},
		{"a queued task waits", schemas.PhaseQueued, 0, schemas.StateSubmitted},
		{"a queued task waits, whatever it has been through", schemas.PhaseQueued, 2, schemas.StateSubmitted},
		{"an assigned task is at work", schemas.PhaseAssigned, 0, schemas.StateWorking},
		{"a begun task is at work", schemas.PhaseBegun, 1, schemas.StateWorking},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := schemas.OpenState(tt.phase, tt.attempt)
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if got.Terminal() {
				t.Errorf("%s is terminal", got)
			}
		})
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	tests := map[schemas.State]bool{
		schemas.StateSubmitted: false, schemas.StateWorking: false, schemas.StateInputRequired: false, schemas.StateAuthRequired: false,
		schemas.StateCompleted: true, schemas.StateFailed: true, schemas.StateCanceled: true, schemas.StateRejected: true, "": false,
	}
	for state, want := range tests {
		if got := state.Terminal(); got != want {
			t.Errorf("%q terminal: %t", state, got)
		}
	}
}

func TestPriorityOrDefault(t *testing.T) {
	t.Parallel()
	zero := 0
	if got := (&schemas.ReachMessage{}).PriorityOrDefault(); got != schemas.DefaultPriority {
		t.Errorf("absent: %d", got)
	}
	if got := (&schemas.ReachMessage{Priority: &zero}).PriorityOrDefault(); got != 0 {
		t.Errorf("zero: %d", got)
	}
}

func TestRecordKeepsEachMemberInItsPlace(t *testing.T) {
	t.Parallel()
	const text = `{"task_id":"","state":"failed","phase":"done","tenant":"acme","newer":1}`
	var record schemas.Record
	if err := schemas.Accept([]byte(text), &record); err != nil {
		t.Fatal(err)
	}
	if record.Tenant != "acme" || string(record.Unknown) != `{"newer":1}` {
		t.Errorf("tenant %q, unknown %s", record.Tenant, record.Unknown)
	}
}
