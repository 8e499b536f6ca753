package dispatcher

import (
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// The ledger keeps one end of a task: when something is added to it, as of a callback that was made, the end as it was written first is
// gone. Whoever has missed it hears of it as it was amended.
func TestAnEndIsNewsOnceWhateverIsHeardOfIt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		amended []bool // the ends that are heard, in order
		news    int
	}{
		{"as it was written", []bool{false}, 1},
		{"and as it was amended", []bool{false, true, true}, 1},
		{"only as it was amended", []bool{true}, 1},
		{"only as it was amended, twice", []bool{true, true}, 1},
	}
	conn := brokertest.New(t).Conn(t)
	for _, tt := range tests {
		d, err := New(conn, Config{ID: "d1", Logger: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		d.view.peers = []string{"d1"}
		taskID, sequence, news := schemas.NewTaskID(), uint64(1), 0
		heard := func(phase schemas.Phase, m *schemas.ReachMessage, r *schemas.Record) {
			event := index.Event{
				Sequence: sequence, Previous: sequence - 1, TaskID: taskID, Phase: phase, Capability: "echo", AgentID: "laptop-1",
				Message: m, Record: r,
			}
			news += len(d.fold([]index.Event{event}).results)
			sequence++
		}
		heard(schemas.PhaseAssigned, &schemas.ReachMessage{Tenant: schemas.DefaultTenant, Assignment: &schemas.Assignment{}}, nil)
		for _, amended := range tt.amended {
			r := &schemas.Record{Amended: amended}
			r.TaskID, r.State, r.FinishedAt = taskID, schemas.StateCompleted, schemas.At(time.Now())
			heard(schemas.PhaseDone, nil, r)
		}
		if news != tt.news {
			t.Errorf("%s: it was news %d times", tt.name, news)
		}
		if ring := d.view.recent.ring; len(ring) == 0 || ring[len(ring)-1].taskID != taskID {
			t.Errorf("%s: it could not be published again: %+v", tt.name, ring)
		}
	}
}
