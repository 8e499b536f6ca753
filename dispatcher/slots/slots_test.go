package slots_test

import (
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/slots"
)

var (
	echo  = slots.Slot{AgentID: "laptop-1", Capability: "echo"}
	sums  = slots.Slot{AgentID: "laptop-1", Capability: "sums"}
	other = slots.Slot{AgentID: "laptop-2", Capability: "echo"}
)

func TestReservations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		do      func(r *slots.Reserved)
		of, all int // of echo at laptop-1
	}{
		{"nothing is reserved at first", func(*slots.Reserved) {}, 0, 0},
		{"what is taken counts, for its capability and for its agent", func(r *slots.Reserved) { r.Take(echo); r.Take(sums); r.Take(other) }, 1, 2},
		{"what was not written is given back", func(r *slots.Reserved) { r.Take(echo); r.Take(echo); r.GiveBack(echo) }, 1, 1},
		{"what is stored counts until it is folded", func(r *slots.Reserved) { r.Take(echo); r.Until(7, echo); r.Folded(6) }, 1, 1},
		{"and no longer", func(r *slots.Reserved) { r.Take(echo); r.Until(7, echo); r.Folded(7); r.Folded(7) }, 0, 0},
		{"what was passed over counts no longer", func(r *slots.Reserved) { r.Take(echo); r.Take(sums); r.Until(7, echo); r.Until(9, sums); r.Applied(8) }, 0, 1},
		{"an index that is made anew counts what is stored", func(r *slots.Reserved) { r.Take(echo); r.Take(sums); r.Until(7, echo); r.Restart() }, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := slots.New()
			tt.do(r)
			if of, all := r.Of(echo); of != tt.of || all != tt.all {
				t.Errorf("got %d and %d, want %d and %d", of, all, tt.of, tt.all)
			}
		})
	}
}
