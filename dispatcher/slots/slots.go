// Package slots counts the places at agents that a dispatcher's own writes take before its index counts them: from the plan that chose the
// agent until the fold of the assignment, or until the write has failed.
//
// It is pure. Its owner holds a lock.
package slots

// Slot is one place at an agent, for a task of a capability.
type Slot struct{ AgentID, Capability string }

// Reserved counts places that are taken, and that no index counts.
type Reserved struct {
	bySlot     map[Slot]int
	byAgent    map[string]int
	bySequence map[uint64]Slot // of those whose assignment is stored: where the index will count them
}

// New reserves nothing.
func New() *Reserved {
	return &Reserved{bySlot: make(map[Slot]int), byAgent: make(map[string]int), bySequence: make(map[uint64]Slot)}
}

// Of is how many places are reserved at an agent: for a capability, and for all of them together.
func (r *Reserved) Of(s Slot) (of, all int) {
	if len(r.bySlot) == 0 {
		return 0, 0
	}
	return r.bySlot[s], r.byAgent[s.AgentID]
}

// Take reserves a place. It is given back by GiveBack, or kept by Until.
func (r *Reserved) Take(s Slot) {
	r.bySlot[s]++
	r.byAgent[s.AgentID]++
}

// GiveBack ends a reservation: nothing was written.
func (r *Reserved) GiveBack(s Slot) {
	if r.bySlot[s]--; r.bySlot[s] <= 0 {
		delete(r.bySlot, s)
	}
	if r.byAgent[s.AgentID]--; r.byAgent[s.AgentID] <= 0 {
		delete(r.byAgent, s.AgentID)
	}
}

// Until keeps a reservation until the event with that sequence is folded.
func (r *Reserved) Until(sequence uint64, s Slot) { r.bySequence[sequence] = s }

// Folded ends the reservation for the event with that sequence, if there is one.
func (r *Reserved) Folded(sequence uint64) {
	if s, found := r.bySequence[sequence]; found {
		delete(r.bySequence, sequence)
		r.GiveBack(s)
	}
}

// Applied ends the reservations for all events up to a sequence. One that the ledger no longer had when a hole was filled is never folded.
func (r *Reserved) Applied(sequence uint64) {
	for stored := range r.bySequence {
		if stored <= sequence {
			r.Folded(stored)
		}
	}
}

// Restart ends the reservations for all that is stored: an index that is made anew counts it. What is still being written stays reserved.
func (r *Reserved) Restart() {
	for stored := range r.bySequence {
		r.Folded(stored)
	}
}
