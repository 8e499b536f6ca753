package index

import (
	"container/list"
	"iter"

	"github.com/agentreach/agent-reach/schemas"
)

// queues are the waiting tasks: for each capability one list per priority, and for each agent one list of what is pinned to it.
type queues struct {
	open    map[string]*priorities // by capability
	pinned  map[string]*priorities // by agent
	lengths map[string]int         // by capability, pinned ones included
}

type priorities [schemas.MaxPriority + 1]list.List

func newQueues() queues {
	return queues{open: make(map[string]*priorities), pinned: make(map[string]*priorities), lengths: make(map[string]int)}
}

// add puts a task where its age says: nearly always last, for age is the order in which tasks come.
func (q *queues) add(t *Task) {
	line := q.line(t)
	after := line.Back()
	for after != nil && older(t, after.Value.(*Task)) {
		after = after.Prev()
	}
	if after == nil {
		t.waiting = line.PushFront(t)
	} else {
		t.waiting = line.InsertAfter(t, after)
	}
	q.lengths[t.Capability]++
}

func older(a, b *Task) bool {
	if !a.Message.SubmittedAt.Equal(b.Message.SubmittedAt.Time) {
		return a.Message.SubmittedAt.Before(b.Message.SubmittedAt.Time)
	}
	return a.ID < b.ID
}

func (q *queues) remove(t *Task) {
	lines, key := q.home(t)
	line := &lines[key][t.Message.PriorityOrDefault()]
	line.Remove(t.waiting)
	t.waiting = nil
	if lines[key].len() == 0 {
		delete(lines, key)
	}
	if q.lengths[t.Capability]--; q.lengths[t.Capability] == 0 {
		delete(q.lengths, t.Capability)
	}
}

func (q *queues) line(t *Task) *list.List {
	lines, key := q.home(t)
	if lines[key] == nil {
		lines[key] = new(priorities)
	}
	return &lines[key][t.Message.PriorityOrDefault()]
}

func (q *queues) home(t *Task) (lines map[string]*priorities, key string) {
	if agent := t.PinnedTo(); agent != "" {
		return q.pinned, agent
	}
	return q.open, t.Capability
}

func (q *queues) pinnedLen(agentID string) int {
	if lines := q.pinned[agentID]; lines != nil {
		return lines.len()
	}
	return 0
}

func (q *queues) waiting(capability, agentID string) iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		ofThis := func(t *Task) bool { return t.Capability != capability || yield(t) }
		if agentID == "" || q.pinned[agentID].bestFirst(ofThis) {
			q.open[capability].bestFirst(yield)
		}
	}
}

func (q *queues) position(t *Task, limit int) int {
	lines, key := q.home(t)
	position := 0
	lines[key].bestFirst(func(other *Task) bool {
		position++
		return other != t && position < limit
	})
	return position
}

func (p *priorities) len() int {
	n := 0
	for i := range p {
		n += p[i].Len()
	}
	return n
}

// bestFirst yields the tasks, highest priority first, oldest first; it reports whether yield wanted all of them. The next one is
// looked up before yield runs, so that yield may take the task out.
func (p *priorities) bestFirst(yield func(*Task) bool) bool {
	if p == nil {
		return true
	}
	for i := len(p) - 1; i >= 0; i-- {
		for e := p[i].Front(); e != nil; {
			next := e.Next()
			if !yield(e.Value.(*Task)) {
				return false
			}
			e = next
		}
	}
	return true
}
