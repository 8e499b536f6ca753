package brokertest

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/agentreach/agent-reach/broker"
)

// Disturbed makes feed handlers that hear what a bad feed would let them hear: of the given share of events, a third is
// dropped, a third comes twice and a third comes behind its successor. The very last event may be lost as well: dropped, or
// held for a successor that never comes. It fits broker.Config.Disturb.
//
// The same seed does the same to the same events. Several handlers are disturbed differently, in the order they were made.
// Each handler is for one goroutine, as feed handlers are.
func Disturbed(seed int64, rate float64) func(next func(broker.Entry)) func(broker.Entry) {
	return disturbed[broker.Entry](seed, rate)
}

func disturbed[E any](seed int64, rate float64) func(next func(E)) func(E) {
	var handlers atomic.Uint64
	return func(next func(E)) func(E) {
		d := &disturbance[E]{next: next, rate: rate, random: rand.New(rand.NewPCG(uint64(seed), handlers.Add(1)))}
		return d.hear
	}
}

type disturbance[E any] struct {
	next   func(E)
	rate   float64
	random *rand.Rand
	held   []E // at most one
}

func (d *disturbance[E]) hear(event E) {
	behind := d.held
	d.held = nil
	switch d.draw() {
	case intact:
		d.next(event)
	case doubled:
		d.next(event)
		d.next(event)
	case swapped:
		d.held = []E{event}
	case dropped:
	}
	for _, late := range behind {
		d.next(late)
	}
}

type fate int

const (
	intact fate = iota
	dropped
	doubled
	swapped
)

func (d *disturbance[E]) draw() fate {
	if d.random.Float64() >= d.rate {
		return intact
	}
	return dropped + fate(d.random.IntN(3))
}
