package index

import (
	"iter"

	"github.com/agentreach/agent-reach/schemas"
)

// Ended is a task that ended: what lists show of it. Its result stays in the ledger.
type Ended struct {
	Task   schemas.Task
	Tenant string
}

// ended is a ring of the last MaxEnded ended tasks.
type ended struct {
	ring []*Ended
	next int
}

func newEnded() ended { return ended{} }

func (r *ended) add(e Event) {
	task := e.Record.Task
	task.Result = nil
	task.Revision = e.Sequence
	entry := &Ended{Task: task, Tenant: e.Record.Tenant}
	if len(r.ring) < MaxEnded {
		r.ring = append(r.ring, entry)
		return
	}
	r.ring[r.next] = entry
	r.next = (r.next + 1) % MaxEnded
}

func (r *ended) newestFirst() iter.Seq[*Ended] {
	return func(yield func(*Ended) bool) {
		for i := range r.ring {
			at := (r.next - 1 - i + 2*len(r.ring)) % len(r.ring)
			if !yield(r.ring[at]) {
				return
			}
		}
	}
}
