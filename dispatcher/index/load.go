package index

import "iter"

// Load is what one agent has in flight.
type Load struct {
	tasks        map[string]*Task
	byCapability map[string]int
}

// noLoad is that of all who have nothing in flight.
var noLoad Load

func newLoad() *Load {
	return &Load{tasks: make(map[string]*Task), byCapability: make(map[string]int)}
}

func (l *Load) add(t *Task) {
	l.tasks[t.ID] = t
	l.byCapability[t.Capability]++
}

func (l *Load) remove(t *Task) {
	delete(l.tasks, t.ID)
	if l.byCapability[t.Capability]--; l.byCapability[t.Capability] == 0 {
		delete(l.byCapability, t.Capability)
	}
}

// Total is the number of tasks in flight.
func (l *Load) Total() int { return len(l.tasks) }

// Of is the number of tasks of one capability in flight.
func (l *Load) Of(capability string) int { return l.byCapability[capability] }

// Tasks runs over the tasks in flight, in no order.
func (l *Load) Tasks() iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for _, t := range l.tasks {
			if !yield(t) {
				return
			}
		}
	}
}
