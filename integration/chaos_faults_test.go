//go:build unix

package integration

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
)

// fault is one way to hurt the stage. strike does it and returns what undoes it, which may be nothing.
type fault struct {
	name   string
	share  int // of all faults
	strike func(r *rand.Rand) (heal func())
}

// faults are those that are possible here.
func (s *stage) faults() []fault {
	all := []fault{
		{"a dispatcher is killed", 3, s.killing(s.dispatchers)},
		{"a dispatcher is frozen", 2, s.freezing(s.dispatchers)},
		{"a dispatcher is stopped", 1, s.stopping(s.dispatchers)},
		{"a worker is killed", 6, s.killing(s.workers)},
		{"a worker is frozen", 6, s.freezing(s.workers)},
		{"a worker is stopped", 3, s.stopping(s.workers)},
		{"an agent is killed", 3, s.killing(s.servers)},
		{"connections are cut", 4, s.cutting},
		{"connections are held up", 3, s.holdingUp},
		{"acknowledgements are lost", 3, s.losing},
	}
	if s.cluster != nil {
		return append(all, s.clusterFaults()...)
	}
	brokers := []*process{s.broker}
	return append(all,
		fault{"the broker is killed", 3, s.killing(brokers)},
		fault{"the broker is frozen", 1, s.freezing(brokers)},
		fault{"the broker is stopped", 1, s.stopping(brokers)})
}

func (s *stage) killing(among []*process) func(*rand.Rand) func() {
	return func(r *rand.Rand) func() {
		p := pick(r, among)
		p.kill()
		return func() { begin(p) }
	}
}

func (s *stage) freezing(among []*process) func(*rand.Rand) func() {
	return func(r *rand.Rand) func() {
		p := pick(r, among)
		p.freeze()
		return p.thaw
	}
}

// stopping asks a process to end. It may be frozen, and would not hear of it.
func (s *stage) stopping(among []*process) func(*rand.Rand) func() {
	return func(r *rand.Rand) func() {
		p := pick(r, among)
		p.thaw()
		_ = p.end(syscall.SIGTERM)
		return func() { begin(p) }
	}
}

// begin starts a process that is down.
func begin(p *process) {
	if p.pid() == 0 {
		p.start()
	}
}

func (s *stage) cutting(r *rand.Rand) func() {
	pick(r, s.wires).each((*brokertest.Relay).Cut)
	return func() {}
}

func (s *stage) holdingUp(r *rand.Rand) func() {
	w := pick(r, s.wires)
	w.each((*brokertest.Relay).Pause)
	return func() { w.each((*brokertest.Relay).Resume) }
}

// losing loses the acknowledgements of some writes of somebody.
func (s *stage) losing(r *rand.Rand) func() {
	w, n := pick(r, s.wires), 1+r.IntN(8)
	w.each(func(relay *brokertest.Relay) { relay.SwallowAcks(n) })
	return func() { w.each(func(relay *brokertest.Relay) { relay.SwallowAcks(0) }) }
}

// upTo is a random time that is less than d.
func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

func pick[T any](r *rand.Rand, among []T) T { return among[r.IntN(len(among))] }

// Times of a storm.
const (
	breath    = 1200 * time.Millisecond // between two faults, at most
	shortHold = time.Second             // until a fault is undone, at most
	longHold  = 6 * time.Second         // the same, of one in three: longer than any lease
)

// storm hurts the stage for a while, and heals it. It tells what was done.
func (s *stage) storm(r *rand.Rand, d time.Duration) (told string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	all, done := s.faults(), make(map[string]int)
	for pause(ctx, upTo(r, breath)); ctx.Err() == nil; pause(ctx, upTo(r, breath)) {
		var heal []func()
		for range 1 + r.IntN(2) {
			f := draw(r, all)
			done[f.name]++
			heal = append(heal, f.strike(r))
		}
		hold := upTo(r, shortHold)
		if r.IntN(3) == 0 {
			hold = upTo(r, longHold)
		}
		pause(context.Background(), hold)
		for _, undo := range heal {
			undo()
		}
	}
	s.standUp()
	return tellFaults(done)
}

// draw takes a fault by its share.
func draw(r *rand.Rand, all []fault) fault {
	total := 0
	for _, f := range all {
		total += f.share
	}
	at := r.IntN(total)
	for _, f := range all {
		if at -= f.share; at < 0 {
			return f
		}
	}
	panic("no fault has a share")
}

func tellFaults(done map[string]int) string {
	total, parts := 0, []string(nil)
	for _, name := range slices.Sorted(maps.Keys(done)) {
		total += done[name]
		parts = append(parts, fmt.Sprintf("%s %d times", name, done[name]))
	}
	return fmt.Sprintf("%d faults: %s", total, strings.Join(parts, ", "))
}
