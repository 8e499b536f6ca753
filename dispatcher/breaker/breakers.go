package breaker

import (
	"container/list"
	"time"
)

// DefaultLimit is how many breakers are kept where nobody says.
const DefaultLimit = 10_000

// Key names a breaker: an agent may be lost to one of its capabilities and well in the others.
type Key struct{ AgentID, Capability string }

// Breakers holds the breakers that know of a failure; all others are closed and need no place. There are never more than the
// limit: the one that has been quiet the longest makes room, and is closed again.
type Breakers struct {
	limit  int
	byKey  map[Key]*list.Element
	recent list.List // of *kept, the last one to change first
}

type kept struct {
	key     Key
	breaker Breaker
}

// New holds at most limit breakers; DefaultLimit for 0.
func New(limit int) *Breakers {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Breakers{limit: limit, byKey: make(map[Key]*list.Element)}
}

// State is where a breaker stands.
func (b *Breakers) State(key Key, now time.Time) State { return b.of(key).State(now) }

// Allows reports whether a task may be sent to the agent.
func (b *Breakers) Allows(key Key, now time.Time) bool { return b.of(key).Allows(now) }

// Sent notes that a task goes to the agent.
func (b *Breakers) Sent(key Key, now time.Time) {
	if _, found := b.byKey[key]; found {
		b.put(key, b.of(key).Sent(now))
	}
}

// Failed notes that a task did not reach the agent, and reports whether the breaker has opened, or opened again, for it.
func (b *Breakers) Failed(key Key, now time.Time) (opened bool) {
	before := b.of(key)
	after := before.Failed(now)
	b.put(key, after)
	return after.State(now) == Open && before.State(now) != Open
}

// Succeeded notes that a task reached the agent, and reports whether it has closed the breaker.
func (b *Breakers) Succeeded(key Key, now time.Time) (closed bool) {
	before := b.of(key)
	after := before.Succeeded(now)
	b.put(key, after)
	return after.State(now) == Closed && before.State(now) != Closed
}

// Forget drops the breakers of an agent.
func (b *Breakers) Forget(agentID string) {
	for key := range b.byKey {
		if key.AgentID == agentID {
			b.drop(key)
		}
	}
}

// Open is how many breakers let nothing through.
func (b *Breakers) Open(now time.Time) int {
	n := 0
	for _, place := range b.byKey {
		if place.Value.(*kept).breaker.State(now) == Open {
			n++
		}
	}
	return n
}

// Len is how many breakers are kept.
func (b *Breakers) Len() int { return len(b.byKey) }

func (b *Breakers) of(key Key) Breaker {
	if place := b.byKey[key]; place != nil {
		return place.Value.(*kept).breaker
	}
	return Breaker{}
}

func (b *Breakers) put(key Key, breaker Breaker) {
	if breaker == (Breaker{}) {
		b.drop(key)
		return
	}
	if place := b.byKey[key]; place != nil {
		place.Value.(*kept).breaker = breaker
		b.recent.MoveToFront(place)
		return
	}
	b.byKey[key] = b.recent.PushFront(&kept{key, breaker})
	if len(b.byKey) > b.limit {
		b.drop(b.recent.Back().Value.(*kept).key)
	}
}

func (b *Breakers) drop(key Key) {
	if place := b.byKey[key]; place != nil {
		b.recent.Remove(place)
		delete(b.byKey, key)
	}
}
