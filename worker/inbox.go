package worker

import (
	"slices"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// bells wake the loops of a station.
type bells struct {
	start  bell // something may start, or is to be handed back
	pull   bell // a slot may be free
	beat   bell // a dispatcher should know at once
	report bell // something is held, or has made progress
	settle bell // something has ended, or is no longer held
}

func newBells() bells {
	return bells{start: newBell(), pull: newBell(), beat: newBell(), report: newBell(), settle: newBell()}
}

// bounds of an inbox.
type bounds struct {
	held   int // assignments
	bytes  int // of payloads, and again of results
	excess time.Duration
}

// inbox is all that a station holds, and the only one who changes it. Its methods may be called by any goroutine; none blocks.
type inbox struct {
	bells
	bounds

	mu       sync.Mutex
	slots    slots
	speed    speed
	ended    memory
	held     map[string][]*assignment // by task; several while an older attempt comes to its end
	waiting  []*assignment            // best first
	moved    map[string]time.Time     // when an assignment last had a slot, by capability
	count    int
	bytes    int
	unsent   int // bytes of results on their way
	closed   bool
	draining bool
	stopping bool // draining for good
	ill      bool // the agent says that it cannot work
}

func newInbox(r *schemas.Registration, b bounds) *inbox {
	return &inbox{
		bells: newBells(), bounds: b, slots: slotsOf(r), speed: make(speed), ended: newMemory(),
		held: make(map[string][]*assignment), moved: make(map[string]time.Time), closed: true,
	}
}

// has reports whether an assignment is held or has ended here: most come twice, by the feed and as the answer to a pull.
func (b *inbox) has(taskID string, sequence uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended.has(taskID, sequence) || slices.ContainsFunc(b.held[taskID], func(a *assignment) bool { return a.sequence >= sequence })
}

// hold takes an assignment in and reports whether it did: one that is held or has ended is dropped, and so is one for which there
// is no room: it comes again. A newer assignment of a task says that the older one is void.
func (b *inbox) hold(a *assignment) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.count >= b.bounds.held || b.bytes+a.bytes > b.bounds.bytes || b.ended.has(a.taskID(), a.first) {
		return false
	}
	older := b.held[a.taskID()]
	for _, o := range older {
		if o.sequence >= a.first {
			return false
		}
	}
	for _, o := range slices.Clone(older) {
		b.void(o)
	}
	b.insert(a)
	b.start.ring()
	b.report.ring()
	return true
}

func (b *inbox) insert(a *assignment) {
	b.held[a.taskID()] = append(b.held[a.taskID()], a)
	b.count++
	b.bytes += a.bytes
	at, _ := slices.BinarySearchFunc(b.waiting, a, (*assignment).before)
	b.waiting = slices.Insert(b.waiting, at, a)
}

// void ends an assignment that is no longer this agent's. What has its answer on the way learns by that.
func (b *inbox) void(a *assignment) {
	switch a.step {
	case waiting:
		b.drop(a)
	case beginning, running:
		a.cancel(ErrSuperseded)
	}
}

// drop forgets an assignment that waits.
func (b *inbox) drop(a *assignment) {
	b.waiting = slices.DeleteFunc(b.waiting, func(o *assignment) bool { return o == a })
	b.leave(a)
	b.remove(a)
}

// next takes out what may start now, with its slot, and what is to be handed back, the newest first, and says when to look again
// if nothing happens before; 0 is never.
func (b *inbox) next(now time.Time) (start, back []*assignment, again time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		return nil, nil, 0
	}
	b.waiting = slices.DeleteFunc(b.waiting, func(a *assignment) bool {
		if b.starts(a) {
			start = append(start, a)
			if a.slot {
				b.moved[a.capability()] = now
			}
			return true
		}
		return false
	})
	if back, again = b.surplus(now); len(back) == 0 {
		return start, nil, again
	}
	for _, a := range back {
		a.step = releasing
	}
	b.waiting = slices.DeleteFunc(b.waiting, func(a *assignment) bool { return a.step != waiting })
	return start, back, again
}

// starts gives a slot to a waiting assignment, if there is one. One that is refused, or has run before, needs none.
func (b *inbox) starts(a *assignment) bool {
	if a.refusal != nil || a.answer != nil {
		a.step = finishing
		return true
	}
	if b.draining || b.unsent >= b.bounds.bytes || !b.slots.take(a.capability()) {
		return false
	}
	a.step, a.slot = beginning, true
	return true
}

// surplus picks what is to be handed back, the newest first.
func (b *inbox) surplus(now time.Time) (back []*assignment, again time.Duration) {
	for capability, line := range b.lines() {
		n, soon := len(line), time.Duration(0)
		if !b.draining {
			stuck := min(longest(line, now), now.Sub(b.moved[capability]))
			n, soon = surplus(len(line), b.slots.width(capability), b.speed[capability], stuck, b.excess)
		}
		back = append(back, line[len(line)-n:]...)
		if soon > 0 && (again == 0 || soon < again) {
			again = soon
		}
	}
	slices.SortFunc(back, func(a, o *assignment) int { return o.before(a) })
	return back, again
}

// lines are the assignments that wait, by capability.
func (b *inbox) lines() map[string][]*assignment {
	lines := make(map[string][]*assignment)
	if len(b.slots.most) == 1 && len(b.waiting) > 0 { // what else it may be asked for is refused, and does not wait
		lines[b.waiting[0].capability()] = b.waiting
		return lines
	}
	for _, a := range b.waiting {
		lines[a.capability()] = append(lines[a.capability()], a)
	}
	return lines
}

// longest is how long the oldest has waited.
func longest(line []*assignment, now time.Time) time.Duration {
	var most time.Duration
	for _, a := range line {
		most = max(most, now.Sub(a.arrived))
	}
	return most
}

// run notes that the assignment is this worker's to run, under the sequence.
func (b *inbox) run(a *assignment, sequence uint64, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.sequence, a.started = sequence, now
	if a.step == beginning {
		a.step = running
	}
}

// yield is the end of a handler: it gives the slot back, after a rest where the agent may still be at work. confirmed says that nothing
// of the task runs anywhere.
func (b *inbox) yield(a *assignment, took time.Duration, confirmed bool, rest time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.confirmed = confirmed
	if took > 0 {
		b.speed.note(a.capability(), took)
	}
	if a.givenUp {
		b.beat.ring()
	}
	if a.slot && rest > 0 {
		a.slot = false
		b.beat.ring()
		time.AfterFunc(rest, func() { b.rested(a.capability()) })
	}
	b.leave(a)
}

// rested gives back the slot of a task that is over for everybody but, perhaps, its agent.
func (b *inbox) rested(capability string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slots.give(capability)
	b.start.ring()
	b.pull.ring()
	b.beat.ring()
}

func (b *inbox) leave(a *assignment) {
	if a.slot {
		b.slots.give(a.capability())
		a.slot = false
	}
	close(a.left)
	b.start.ring()
	if a.givenUp { // its result has gone before
		b.pull.ring()
	}
}

// giveUp notes that a handler outlasts its context: its slot stays taken, and dispatchers should know.
func (b *inbox) giveUp(a *assignment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.givenUp = true
	b.beat.ring()
}

// finish notes that the result is on its way, and returns what it must name: the sequence that is fenced and when the handler was
// called.
func (b *inbox) finish(a *assignment) (sequence uint64, started time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.step = finishing
	b.settle.ring()
	return a.sequence, a.started
}

// weigh counts the bytes of a result that is on its way.
func (b *inbox) weigh(a *assignment, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unsent += bytes - a.unsent
	a.unsent = bytes
}

// answered notes what a dispatcher said of the result.
func (b *inbox) answered(a *assignment, answer schemas.Answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.idle = answer.Idle
}

// forget ends an assignment here: a dispatcher has had the last word on it.
func (b *inbox) forget(a *assignment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(a)
}

func (b *inbox) remove(a *assignment) {
	rest := slices.DeleteFunc(b.held[a.taskID()], func(o *assignment) bool { return o == a })
	if len(rest) == 0 {
		delete(b.held, a.taskID())
	} else {
		b.held[a.taskID()] = rest
	}
	b.count--
	b.bytes -= a.bytes
	b.unsent -= a.unsent
	if !a.lost {
		b.ended.add(a.taskID(), a.sequence)
	}
	a.cancel(errEnded)
	b.start.ring()
	b.settle.ring()
	if !a.idle {
		b.pull.ring()
	}
}

func (b *inbox) all() []*assignment {
	all := make([]*assignment, 0, b.count)
	for _, same := range b.held {
		all = append(all, same...)
	}
	return all
}

// empty reports whether nothing is held.
func (b *inbox) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count == 0
}

// still reports whether no handler is at work any more, nor about to be.
func (b *inbox) still() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, same := range b.held {
		for _, a := range same {
			if a.step == beginning || a.step == running {
				return false
			}
		}
	}
	return true
}
