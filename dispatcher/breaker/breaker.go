// Package breaker keeps tasks away from agents that cannot be reached. Each pair of agent and capability has a circuit breaker: it
// opens on failures of real traffic, and lets one task through after a while to see whether the agent is back.
//
// Only failures to reach the agent count. What an agent has answered, an error too, is a success: it was reached.
//
// A Breaker is a value that takes now; Breakers keeps many of them, and their owner holds a lock.
package breaker

import (
	"math/bits"
	"time"
)

// When a breaker opens, and for how long.
const (
	InARow      = 5                // failures in a row open it
	Window      = 20               // of at most so many results, counted from the first failure on,
	LeastOf     = 10               // if there are at least so many, it opens when half of them are failures
	Remembered  = time.Minute      // results before a silence that long no longer count
	FirstOpen   = 5 * time.Second  // how long it stays open at first; twice as long after each trial that fails
	LongestOpen = 60 * time.Second // but no longer than this
	TrialTime   = 60 * time.Second // a trial of which nothing is heard for so long is given up: there may be another
)

// State is what a breaker does with tasks.
type State string

// The states of a breaker.
const (
	Closed   State = "closed"    // all may pass
	Open     State = "open"      // none may pass
	HalfOpen State = "half_open" // one may pass, to see whether the agent is back
)

// Breaker is one circuit breaker. The zero value is closed and knows of no result.
type Breaker struct {
	failed  uint32 // the last results, one bit each, the newest lowest: 1 is a failure
	results int
	last    time.Time // of the results
	opened  time.Time // zero while closed
	open    time.Duration
	trial   time.Time // when the last trial began; zero if there was none since it opened
}

// State is where the breaker stands.
func (b Breaker) State(now time.Time) State {
	switch {
	case b.opened.IsZero():
		return Closed
	case now.Sub(b.opened) < b.open:
		return Open
	}
	return HalfOpen
}

// Allows reports whether a task may be sent to the agent.
func (b Breaker) Allows(now time.Time) bool {
	switch b.State(now) {
	case Closed:
		return true
	case HalfOpen:
		return !b.trying(now)
	}
	return false
}

func (b Breaker) trying(now time.Time) bool { return !b.trial.IsZero() && now.Sub(b.trial) < TrialTime }

// Sent notes that a task goes to the agent: in a half-open breaker it is the trial.
func (b Breaker) Sent(now time.Time) Breaker {
	if b.State(now) == HalfOpen && !b.trying(now) {
		b.trial = now
	}
	return b
}

// Failed notes that a task did not reach the agent. While the breaker is not closed, only its trial counts: what else fails then
// was sent before.
func (b Breaker) Failed(now time.Time) Breaker {
	switch b.State(now) {
	case Closed:
		b = b.after(now, 1)
		if b.tooMany() {
			return Breaker{opened: now, open: FirstOpen}
		}
	case HalfOpen:
		if b.trying(now) {
			return Breaker{opened: now, open: min(2*b.open, LongestOpen)}
		}
	}
	return b
}

// Succeeded notes that a task reached the agent. It closes a breaker that is half-open, whoever sent the task.
func (b Breaker) Succeeded(now time.Time) Breaker {
	switch b.State(now) {
	case Closed:
		b = b.after(now, 0)
		if b.failed == 0 {
			return Breaker{}
		}
	case HalfOpen:
		return Breaker{}
	}
	return b
}

// after is the breaker after one more result.
func (b Breaker) after(now time.Time, failed uint32) Breaker {
	if now.Sub(b.last) > Remembered {
		b.failed, b.results = 0, 0
	}
	b.failed = (b.failed<<1 | failed) & (1<<Window - 1)
	b.results = min(b.results+1, Window)
	b.last = now
	return b
}

func (b Breaker) tooMany() bool {
	inARow := bits.TrailingZeros32(^b.failed)
	return inARow >= InARow || b.results >= LeastOf && 2*bits.OnesCount32(b.failed) >= b.results
}
