package mqttfront

import (
	"maps"
	"slices"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// hand is what one device has in hand, as a value: which assignments it was given and which of them it has acknowledged, what waits for
// one of its slots, and what it has had. It knows no network, and is given the time. What a device holds of which this process knows
// nothing yet, because another one gave it, takes a slot all the same.
type hand struct {
	slots   map[string]int // of each capability
	total   int
	excess  time.Duration // for a slot; what would wait longer goes back
	grace   time.Duration // for a device to stop
	given   map[string]*piece
	waiting []*piece // the oldest first
	foreign map[uint64]bool
	ended   memory
}

// piece is one assignment on its way.
type piece struct {
	schemas.Handover
	capability string
	message    *schemas.ReachMessage
	runs       time.Duration // its run limit; 0 is none
	since      time.Time     // when it arrived, was received, or was told to stop
	sent       time.Time     // when the device was last given it
	received   bool
	begun      bool // it must not run twice, and the device has the right to run it
	adopted    bool // another process gave it
	lost       bool // it is begun, and the device does not name it: it has a run limit, and no slot
	stopping   bool
}

func newHand(r *schemas.Registration, excess, grace time.Duration) *hand {
	h := &hand{
		excess: excess, grace: grace,
		given: make(map[string]*piece), foreign: make(map[uint64]bool), ended: make(memory),
	}
	h.declare(r)
	return h
}

// declare takes in how many slots the device has.
func (h *hand) declare(r *schemas.Registration) {
	h.slots, h.total = make(map[string]int), r.TotalSlots()
	for i := range r.Capabilities {
		h.slots[r.Capabilities[i].ID] = r.Slots(r.Capabilities[i].ID)
	}
}

// twice is how long an assignment that comes once more is only the same one by another way.
const twice = 100 * time.Millisecond

// maxWaiting bounds what waits for a slot of the device.
const maxWaiting = 256

// offer takes an assignment in and reports whether the device is to be given it now: it has a slot, or it has been given before and has
// not said so. One that is at or below what the device has or had of its task is a repeat.
func (h *hand) offer(p *piece, now time.Time) (give *piece) {
	if h.ended.has(p.TaskID, p.Sequence) || h.foreign[p.Sequence] || slices.ContainsFunc(h.waiting, p.atMost) {
		return nil
	}
	if old := h.given[p.TaskID]; old != nil {
		switch {
		case old.Sequence == p.Sequence && !old.received && now.Sub(old.sent) >= twice:
			old.sent = now
			return old
		case old.Sequence >= p.Sequence:
			return nil
		}
		delete(h.given, p.TaskID) // a newer attempt voids the older one
	}
	p.since = now
	if h.room(p.capability) {
		p.sent = now
		h.given[p.TaskID] = p
		return p
	}
	if len(h.waiting) < maxWaiting { // else it comes again
		h.waiting = append(h.waiting, p)
	}
	return nil
}

// atMost reports whether another piece of the same task is no older.
func (p *piece) atMost(o *piece) bool { return o.TaskID == p.TaskID && o.Sequence >= p.Sequence }

// room reports whether the device has a slot for the capability.
func (h *hand) room(capability string) bool {
	return h.taken("") < h.total && h.taken(capability) < h.slots[capability]
}

// taken counts the slots in use: of a capability, or of all.
func (h *hand) taken(capability string) int {
	n := 0
	for _, p := range h.given {
		if !p.lost && (capability == "" || p.capability == capability) {
			n++
		}
	}
	if capability == "" {
		n += len(h.foreign)
	}
	return n
}

// free are the slots that a pull may ask for.
func (h *hand) free() (free map[string]int, total int) {
	total = max(0, h.total-h.taken("")-len(h.waiting))
	free = make(map[string]int)
	for capability, slots := range h.slots {
		if n := min(total, slots-h.taken(capability)); n > 0 {
			free[capability] = n
		}
	}
	return free, total
}

// held are the sequences of all that the device has acknowledged. What is still on its way to it is none of them: dispatchers send it
// again until it is.
func (h *hand) held() []uint64 {
	held := slices.Collect(maps.Keys(h.foreign))
	for _, p := range h.given {
		if p.received && !p.lost {
			held = append(held, p.Sequence)
		}
	}
	slices.Sort(held)
	return held
}

// heard takes in what the device says that it holds. It is the one who knows: what it does not name and has received before is over. What
// it was told to stop ends by its word, or after the grace: it may have dropped that before it says so. What it has begun, and nobody has
// ended, is lost: its run limit goes on.
func (h *hand) heard(sequences []uint64, now time.Time) {
	clear(h.foreign)
	for _, sequence := range sequences {
		h.foreign[sequence] = true
	}
	for taskID, p := range h.given {
		switch {
		case h.foreign[p.Sequence]:
			delete(h.foreign, p.Sequence)
			h.receive(p, now)
			p.lost = false
		case !p.received || p.stopping || p.lost:
		case p.begun && h.missing() < maxLost:
			p.lost = true
		default:
			delete(h.given, taskID)
		}
	}
}

// unknown are sequences that the device holds and of which nothing is known here: at most so many.
func (h *hand) unknown(most int) []uint64 {
	sequences := slices.Sorted(maps.Keys(h.foreign))
	return sequences[:min(len(sequences), most)]
}

// maxLost bounds the lost tasks that are looked after.
const maxLost = 256

func (h *hand) missing() int {
	n := 0
	for _, p := range h.given {
		if p.lost {
			n++
		}
	}
	return n
}

// takeIn takes in a task that another process gave to the device: its run limit is kept here from now on. It is lost unless the device
// has named it.
func (h *hand) takeIn(p *piece, now time.Time) {
	if old := h.given[p.TaskID]; h.ended.has(p.TaskID, p.Sequence) || old != nil && old.Sequence >= p.Sequence {
		return
	}
	p.since, p.received, p.adopted, p.lost = now, true, true, !h.foreign[p.Sequence]
	if p.lost && h.missing() >= maxLost {
		return
	}
	delete(h.foreign, p.Sequence)
	h.given[p.TaskID] = p
}

// receive notes that the device has a task; from then on its run limit counts.
func (h *hand) receive(p *piece, now time.Time) {
	if !p.received {
		p.received, p.since = true, now
	}
}

// received notes the device's receipt, under the sequence that its task has from now on.
func (h *hand) received(taskID string, sequence uint64, now time.Time) {
	if p := h.given[taskID]; p != nil {
		h.receive(p, now)
		p.Sequence = max(p.Sequence, sequence)
		p.begun, p.lost = p.Begin, false
	}
}

// forget lets a task come once more.
func (h *hand) forget(p *piece) {
	if h.given[p.TaskID] == p {
		delete(h.given, p.TaskID)
	}
}

// end forgets a task up to a sequence: the device has had it.
func (h *hand) end(taskID string, sequence uint64) {
	h.ended.add(taskID, sequence)
	delete(h.foreign, sequence)
	if p := h.given[taskID]; p != nil && p.Sequence <= sequence {
		delete(h.given, taskID)
	}
	h.waiting = slices.DeleteFunc(h.waiting, func(p *piece) bool { return p.TaskID == taskID && p.Sequence <= sequence })
}

// find is the task that a device was given, by its sequence.
func (h *hand) find(sequence uint64) *piece {
	for _, p := range h.given {
		if p.Sequence == sequence {
			return p
		}
	}
	return nil
}

// step is what is to be done at a moment.
type step struct {
	give []*piece  // to the device
	back []*piece  // to the dispatchers
	stop []*piece  // its run limit is over: the device is told
	fail []*piece  // and has not stopped
	next time.Time // when to look again; zero is never
}

// tick gives what has a slot by now, and finds what has waited or run too long.
func (h *hand) tick(now time.Time) step {
	var s step
	h.waiting = slices.DeleteFunc(h.waiting, func(p *piece) bool {
		switch {
		case h.room(p.capability):
			p.sent = now
			h.given[p.TaskID] = p
			s.give = append(s.give, p)
		case !now.Before(p.since.Add(h.excess)):
			s.back = append(s.back, p)
		default:
			s.look(p.since.Add(h.excess))
			return false
		}
		return true
	})
	for _, p := range h.given {
		switch limit := p.limit(h.grace); {
		case limit == 0:
			continue
		case now.Before(p.since.Add(limit)):
		case p.stopping:
			p.since = now // fail again if it cannot be written down now
			s.fail = append(s.fail, p)
		default:
			p.stopping, p.since = true, now
			s.stop = append(s.stop, p)
		}
		s.look(p.since.Add(p.limit(h.grace)))
	}
	return s
}

// limit is how long the piece may stay as it is; 0 is for ever.
func (p *piece) limit(grace time.Duration) time.Duration {
	switch {
	case p.stopping:
		return grace
	case p.received:
		return p.runs
	}
	return 0
}

func (s *step) look(at time.Time) {
	if s.next.IsZero() || at.Before(s.next) {
		s.next = at
	}
}

// maxMemory bounds the tasks that are remembered as ended.
const maxMemory = 1024

// memory is the last sequence of each task that has ended with a device.
type memory map[string]uint64

func (m memory) has(taskID string, sequence uint64) bool { return m[taskID] >= sequence }

// add remembers a task, in place of any other where there are too many: what is forgotten may only be handed over once more.
func (m memory) add(taskID string, sequence uint64) {
	if len(m) >= maxMemory && m[taskID] == 0 {
		for any := range m {
			delete(m, any)
			break
		}
	}
	m[taskID] = max(m[taskID], sequence)
}
