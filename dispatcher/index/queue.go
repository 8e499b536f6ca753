package index

import "iter"

// LowShare is the share of slots that goes to waiting tasks below the highest priority: one in so many.
const LowShare = 16

// queue is a waiting line. Who is next?
//
//   - A slot goes to the highest priority that waits.
//   - But one slot of LowShare goes to a priority below, while something waits there: first to a task that was tried before, else
//     the priorities below take turns, downwards. So every priority has its share, however much comes in above it.
//   - Within a priority, tasks that were tried before go first: a retry keeps its turn. Then the tenants take turns, and each has
//     its tasks by age.
//
// Whose turn it is follows from the tasks that got slots since the queue was last empty. An index that was read from the ledger
// anew does not know those: it gives the turns afresh. Nothing else depends on it.
type queue struct {
	levels [levels]level
	length int
	turns
}

// turns remember who is next.
type turns struct {
	passed int // slots in a row that went past something that waits below
	below  int // the priority that had the last slot of those below
}

func (q *queue) add(t *Task) {
	q.levels[t.level()].add(t)
	q.length++
}

func (q *queue) remove(t *Task) {
	q.levels[t.level()].remove(t)
	q.length--
}

// served moves the turns on after a task got a slot. If it waited, it is removed already.
func (q *queue) served(t *Task, retry bool) {
	level := t.level()
	if !retry {
		q.levels[level].served(t.Tenant())
	}
	switch {
	case q.highest(levels) > level:
		q.passed, q.below = 0, level
	case q.highest(level) >= 0:
		q.passed++
	default:
		q.passed = 0
	}
}

// highest is the highest priority below a limit at which something waits; -1 if nothing does.
func (q *queue) highest(limit int) int {
	for l := limit - 1; l >= 0; l-- {
		if !q.levels[l].empty() {
			return l
		}
	}
	return -1
}

// sparesNext reports whether the next slot goes to a lower priority.
func (q *queue) sparesNext() bool { return q.passed >= LowShare-1 && q.highest(q.highest(levels)) >= 0 }

// all runs over the tasks in the order in which they would get slots if nothing else came. The queue must not change meanwhile.
func (q *queue) all() iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		if q == nil {
			return
		}
		o := q.order()
		for t := o.next(); t != nil; t = o.next() {
			if !yield(t) {
				return
			}
		}
	}
}

// order is a way through a queue that leaves the queue as it is.
type order struct {
	levels [levels]cursor
	turns
}

func (q *queue) order() order {
	o := order{turns: q.turns}
	for l := range q.levels {
		o.levels[l] = q.levels[l].cursor()
	}
	return o
}

// next is the next task; nil at the end.
func (o *order) next() *Task {
	top := o.highest(levels)
	if top < 0 {
		return nil
	}
	switch {
	case o.highest(top) < 0:
		o.passed = 0
	case o.passed < LowShare-1:
		o.passed++
	default:
		o.passed, o.below = 0, o.lower(top)
		return o.levels[o.below].next()
	}
	return o.levels[top].next()
}

func (o *order) highest(limit int) int {
	for l := limit - 1; l >= 0; l-- {
		if !o.levels[l].empty() {
			return l
		}
	}
	return -1
}

// lower is the priority below the top that is next.
func (o *order) lower(top int) int {
	for l := top - 1; l >= 0; l-- {
		if o.levels[l].tried != nil {
			return l
		}
	}
	if next := o.highest(min(o.below, top)); next >= 0 {
		return next
	}
	return o.highest(top)
}
