package index_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// strange is an event of which only what the ledger says is known.
func strange(sequence uint64, taskID string, phase schemas.Phase, agentID string) index.Event {
	return index.Event{
		Sequence: sequence, Previous: sequence - 1, TaskID: taskID, Phase: phase, Capability: "echo", AgentID: agentID, At: start,
		TTL: time.Hour, Foreign: true,
	}
}

func heldBy(x *index.Index, agentID string) (sequences []uint64) {
	for f := range x.Foreign(agentID) {
		sequences = append(sequences, f.Sequence)
	}
	slices.Sort(sequences)
	return sequences
}

func TestATaskThatOthersHaveTakenOverIsLeftToThem(t *testing.T) {
	t.Parallel()
	for _, phase := range []schemas.Phase{schemas.PhaseScheduled, schemas.PhaseQueued, schemas.PhaseAssigned, schemas.PhaseBegun} {
		t.Run(string(phase), func(t *testing.T) {
			t.Parallel()
			l, x := newLedger(), index.New()
			x.Apply(l.write("task", phase, "a", 0, 5))
			x.Apply(strange(2, "task", schemas.PhaseAssigned, "b"))
			p := pictureOf(x)
			if len(p.Open)+len(p.Waiting)+len(p.Loads)+p.Length+len(p.Due)+len(p.Expired) != 0 {
				t.Errorf("it is still here: %+v", p)
			}
			if got := heldBy(x, "b"); x.ForeignLen() != 1 || !slices.Equal(got, []uint64{2}) {
				t.Errorf("%d are known, of b %v", x.ForeignLen(), got)
			}
		})
	}
}

func TestATaskComesBackFromOthers(t *testing.T) {
	t.Parallel()
	l, x := newLedger(), index.New()
	l.last = 1
	x.Apply(strange(1, "task", schemas.PhaseAssigned, "a"))
	x.Apply(l.write("task", schemas.PhaseBegun, "a", 1, 5))
	if x.Open("task") == nil || x.ForeignLen() != 0 || heldBy(x, "a") != nil {
		t.Error("it is not open here")
	}
}

func TestOthersEndTheirTasks(t *testing.T) {
	t.Parallel()
	l, x := newLedger(), index.New()
	for _, id := range []string{"one", "two"} {
		x.Apply(strange(1, id, schemas.PhaseQueued, ""))
	}
	l.last = 2
	x.Apply(l.write("one", schemas.PhaseDone, "a", 1, 5))
	x.Apply(strange(4, "two", schemas.PhaseDone, "a"))
	if x.ForeignLen() != 0 || x.Len() != 0 {
		t.Errorf("%d are left, %d open", x.ForeignLen(), x.Len())
	}
}

func TestAnOldEventOfOthersChangesNothing(t *testing.T) {
	t.Parallel()
	l, x := newLedger(), index.New()
	l.last = 4
	x.Apply(l.write("task", schemas.PhaseAssigned, "a", 0, 5))
	x.Apply(strange(3, "task", schemas.PhaseQueued, ""))
	if x.Open("task") == nil || x.ForeignLen() != 0 {
		t.Error("it was taken for the newer one")
	}
}

func TestWhatTheLedgerHasForgottenIsForgotten(t *testing.T) {
	t.Parallel()
	x := index.New()
	for i := range 10_000 {
		e := strange(uint64(i+1), fmt.Sprint("task-", i), schemas.PhaseQueued, "")
		e.At = start.Add(time.Duration(i) * time.Minute)
		x.Apply(e)
	}
	if n := x.ForeignLen(); n > 2000 {
		t.Errorf("%d are remembered; the ledger has 60", n)
	}
}
