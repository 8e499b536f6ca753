package index

import (
	"iter"

	"github.com/agentreach/agent-reach/schemas"
)

// MaxEnded is how many ended tasks are remembered for lists, and how many dead letters and undelivered callbacks beside
// them.
const MaxEnded = 10_000

// Ended is a task that ended: what lists show of it. Its result stays in the ledger.
type Ended struct {
	Task   schemas.Task
	Tenant string
}

// ended remembers the last MaxEnded tasks of a kind. A task whose record was amended keeps its place.
type ended struct {
	ring []*Ended       // nil where one was taken out
	at   map[string]int // places in ring, by task id
	next int            // the oldest place, once the ring is full
}

func newEnded() ended { return ended{at: make(map[string]int)} }

func (r *ended) put(e Event) {
	entry := endedOf(e)
	if place, found := r.at[entry.Task.TaskID]; found {
		r.ring[place] = entry
		return
	}
	if len(r.ring) < MaxEnded {
		r.at[entry.Task.TaskID] = len(r.ring)
		r.ring = append(r.ring, entry)
		return
	}
	if oldest := r.ring[r.next]; oldest != nil {
		delete(r.at, oldest.Task.TaskID)
	}
	r.at[entry.Task.TaskID] = r.next
	r.ring[r.next] = entry
	r.next = (r.next + 1) % MaxEnded
}

func endedOf(e Event) *Ended {
	task := e.Record.Task
	task.Result, task.LateResult = nil, nil
	task.Revision = e.Sequence
	return &Ended{Task: task, Tenant: e.Record.Tenant}
}

func (r *ended) remove(taskID string) {
	if place, found := r.at[taskID]; found {
		r.ring[place] = nil
		delete(r.at, taskID)
	}
}

// keepIf keeps a task among those of a kind for as long as it is of that kind.
func keepIf(kind *ended, e Event, is bool) {
	if is {
		kind.put(e)
	} else {
		kind.remove(e.Record.TaskID)
	}
}

func (r *ended) newestFirst() iter.Seq[*Ended] {
	return func(yield func(*Ended) bool) {
		for i := range r.ring {
			at := (r.next - 1 - i + 2*len(r.ring)) % len(r.ring)
			if r.ring[at] != nil && !yield(r.ring[at]) {
				return
			}
		}
	}
}
