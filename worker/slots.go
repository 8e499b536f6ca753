package worker

import "github.com/agentreach/agent-reach/schemas"

// slots counts what runs against what an agent may run at once, for each capability and over all. A value without a lock.
type slots struct {
	most, taken       map[string]int
	mostAll, takenAll int
}

func slotsOf(r *schemas.Registration) slots {
	s := slots{most: make(map[string]int), taken: make(map[string]int), mostAll: r.TotalSlots()}
	for i := range r.Capabilities {
		s.most[r.Capabilities[i].ID] = r.Slots(r.Capabilities[i].ID)
	}
	return s
}

// take reports whether there was a slot, and takes it.
func (s *slots) take(capability string) bool {
	if s.free(capability) == 0 {
		return false
	}
	s.taken[capability]++
	s.takenAll++
	return true
}

func (s *slots) give(capability string) {
	s.taken[capability]--
	s.takenAll--
}

// free is how many more tasks of the capability may start now.
func (s *slots) free(capability string) int {
	return max(0, min(s.most[capability]-s.taken[capability], s.mostAll-s.takenAll))
}

// width is how many tasks of the capability the agent ever runs at once.
func (s *slots) width(capability string) int { return min(s.most[capability], s.mostAll) }
