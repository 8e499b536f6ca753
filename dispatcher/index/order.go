package index

import "time"

// Bounds on what Order holds back while it waits for a missing event.
const (
	MaxHeld = 1000
	MaxHold = 25 * time.Millisecond
)

// Order puts events into sequence order. Events at or below Applied are repeats; those further on are held until the hole before
// them is filled, by the missing event or by reading the ledger.
type Order struct {
	applied   uint64
	held      map[uint64]Event
	heldSince time.Time // since when the hole before them is not closing: no event has come in its turn
}

// NewOrder starts after applied: everything up to it has been folded.
func NewOrder(applied uint64) *Order {
	return &Order{applied: applied, held: make(map[uint64]Event)}
}

// Applied is the sequence up to which every event has been given out.
func (o *Order) Applied() uint64 { return o.applied }

// Wants reports whether the event of that sequence has neither been given out nor is held.
func (o *Order) Wants(sequence uint64) bool {
	_, held := o.held[sequence]
	return sequence > o.applied && !held
}

// Holds reports whether an event of a task waits for those before it: the task is no longer as it was given out last.
func (o *Order) Holds(taskID string) bool {
	for _, event := range o.held {
		if event.TaskID == taskID {
			return true
		}
	}
	return false
}

// Add takes one event and gives out those that are now next, in order. A repeat gives out nothing.
func (o *Order) Add(event Event, now time.Time) []Event {
	if !o.Wants(event.Sequence) {
		return nil
	}
	if event.Sequence == o.applied+1 {
		o.applied++
		o.heldSince = now
		return append([]Event{event}, o.next(now)...)
	}
	if len(o.held) == 0 {
		o.heldSince = now
	}
	if len(o.held) < MaxHeld {
		o.held[event.Sequence] = event
	}
	return nil
}

// Gap is the range that must be read from the ledger now: there is a hole that has not been closing for MaxHold, or too much waits
// behind it.
func (o *Order) Gap(now time.Time) (from, to uint64, found bool) {
	if len(o.held) == 0 || len(o.held) < MaxHeld && now.Sub(o.heldSince) < MaxHold {
		return 0, 0, false
	}
	first := o.firstHeld()
	return o.applied + 1, first - 1, true
}

// Fill takes what the ledger has up to the sequence to, in order, and gives out what is next. A sequence up to it that does not
// come is one that the ledger no longer has: it counts as applied.
func (o *Order) Fill(events []Event, to uint64, now time.Time) []Event {
	var ready []Event
	for _, event := range events {
		if event.Sequence > o.applied && event.Sequence <= to {
			delete(o.held, event.Sequence)
			o.applied = event.Sequence
			ready = append(ready, event)
		}
	}
	o.skipTo(to)
	return append(ready, o.next(now)...)
}

// skipTo forgets what is held up to a sequence: the ledger no longer has it, so something newer has taken its place.
func (o *Order) skipTo(to uint64) {
	for sequence := range o.held {
		if sequence <= to {
			delete(o.held, sequence)
		}
	}
	o.applied = max(o.applied, to)
}

// next gives out the held events that follow without a hole.
func (o *Order) next(now time.Time) []Event {
	var ready []Event
	for {
		event, found := o.held[o.applied+1]
		if !found {
			break
		}
		delete(o.held, o.applied+1)
		o.applied++
		ready = append(ready, event)
	}
	if len(ready) > 0 {
		o.heldSince = now // what still waits, waits for a newer hole
	}
	return ready
}

func (o *Order) firstHeld() uint64 {
	var first uint64
	for sequence := range o.held {
		if first == 0 || sequence < first {
			first = sequence
		}
	}
	return first
}
