package index

import (
	"iter"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// queues are the waiting tasks: for each capability a queue of those that any agent may take, and for each agent a queue of those
// that are pinned to it.
type queues struct {
	open    map[string]*queue // by capability
	pinned  map[string]*queue // by agent
	lengths map[string]int    // by capability, pinned ones included
}

func newQueues() queues {
	return queues{open: make(map[string]*queue), pinned: make(map[string]*queue), lengths: make(map[string]int)}
}

// home is where a task waits, if it waits.
func (q *queues) home(t *Task) (of map[string]*queue, key string) {
	if agent := t.PinnedTo(); agent != "" {
		return q.pinned, agent
	}
	return q.open, t.Capability
}

func (q *queues) add(t *Task) {
	of, key := q.home(t)
	if of[key] == nil {
		of[key] = new(queue)
	}
	of[key].add(t)
	q.lengths[t.Capability]++
}

func (q *queues) remove(t *Task) {
	of, key := q.home(t)
	of[key].remove(t)
	if of[key].length == 0 {
		delete(of, key)
	}
	if q.lengths[t.Capability]--; q.lengths[t.Capability] == 0 {
		delete(q.lengths, t.Capability)
	}
}

// served notes that a task got a slot, from the queue or past it; a retry does not count as its tenant's turn.
func (q *queues) served(t *Task, retry bool) {
	of, key := q.home(t)
	if queue := of[key]; queue != nil {
		queue.served(t, retry)
	}
}

func (q *queues) pinnedLen(agentID string) int {
	if queue := q.pinned[agentID]; queue != nil {
		return queue.length
	}
	return 0
}

func (q *queues) waiting(capability, agentID string) iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for t := range q.pinned[agentID].all() {
			if t.Capability == capability && !yield(t) {
				return
			}
		}
		for t := range q.open[capability].all() {
			if !yield(t) {
				return
			}
		}
	}
}

func (q *queues) position(t *Task, limit int) int {
	of, key := q.home(t)
	position := 0
	for other := range of[key].all() {
		if position++; other == t || position >= limit {
			break
		}
	}
	return position
}

// before reports whether a waiting task would get a slot before a new one of that priority.
func (q *queues) before(capability string, priority int) bool {
	queue := q.open[capability]
	return queue != nil && (queue.highest(levels) >= priority || queue.sparesNext())
}

func (q *queues) oldest(capability string) time.Time {
	var oldest time.Time
	if queue := q.open[capability]; queue != nil {
		for l := range queue.levels {
			oldest = earlier(oldest, queue.levels[l].oldest())
		}
	}
	return oldest
}

// earlier is the earlier of two moments; a zero one does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// levels is how many priorities there are.
const levels = schemas.MaxPriority + 1
