// Package failover decides what becomes of a task whose attempt has failed, or whose agent was lost: whether it moves to another agent, is
// tried again later, turns to its fallback, or ends. Only what certainly did no harm, or does none when it is done twice, is tried again.
//
// It is pure: what is known comes in as a Failure or a Loss, and a Verdict comes out. Whoever asks writes what follows.
package failover

import (
	"math/rand/v2"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Failure is an attempt that did not succeed, as the decision about it sees it.
type Failure struct {
	Err        *schemas.Error
	Ran        schemas.Ran
	Idempotent bool
	Attempt    int  // which attempt this was, from 1
	Attempts   int  // how many there may be
	Another    bool // an agent that has not been tried could run it now
	Fallback   bool // there is another capability to turn to
}

// Verdict is what becomes of a task after an attempt at it failed.
type Verdict int

// The verdicts.
const (
	Ends   Verdict = iota // it ends with the error
	Moves                 // another agent gets it now
	Waits                 // it is tried again after a back-off
	Aborts                // it ends as ABORTED: it may have executed
	Turns                 // it turns to its fallback
)

// Verdict decides. Only failures to reach an agent are retried, at another agent first; an unknown outcome moves on only where
// running twice does no harm; what an agent has answered is final. The fallback is turned to when nobody is left.
func (f Failure) Verdict() Verdict {
	if f.Ran == schemas.RanUnknown && !f.Idempotent {
		return Aborts
	}
	last := f.Attempt >= f.Attempts
	switch {
	case !f.OnTheWay():
		return Ends
	case f.Another && !last:
		return Moves
	case f.Fallback:
		return Turns
	case last || f.Ran != schemas.RanNo:
		return Ends
	}
	return Waits
}

// OnTheWay reports whether the failure lies on the way to the agent, or leaves the outcome open, or says no more than that this agent
// took too long for what may be done twice.
func (f Failure) OnTheWay() bool {
	switch f.Ran {
	case schemas.RanUnknown:
		return true
	case schemas.RanYes:
		return f.Idempotent && f.Err.OverRunLimit()
	case schemas.RanNo:
		return f.Err.Code == schemas.Unavailable || f.Err.Code == schemas.ResourceExhausted && f.Err.Reason != schemas.ReasonPayloadTooLarge
	}
	return false
}

// Attempts is how often a task may reach an agent.
func Attempts(qos schemas.QualityOfService) int {
	switch qos {
	case schemas.QoSRealtime:
		return 2
	case schemas.QoSComplete:
		return 5
	}
	return 3
}

// Loss is a task whose agent has gone, as the decision about it sees it.
type Loss struct {
	Phase      schemas.Phase
	Idempotent bool
	Confirmed  bool // the agent had named the task: the attempt has happened
	Lost       int  // agents that were lost before, one after another, while they had the task
	Attempt    int
	Attempts   int
}

// mostLost is how many agents may be lost in a row with a task that none of them had named yet. That many are no accident: it kills its
// workers before they can say a word.
const mostLost = 8

// Verdict decides what becomes of the task of an agent that has gone: move (to another agent, or to the queue), abort, or end
// after too many attempts. A task that was not begun moves whatever it does: a worker that dies before the start costs no attempt.
func (l Loss) Verdict() Verdict {
	switch {
	case l.Phase == schemas.PhaseBegun && !l.Idempotent:
		return Aborts
	case l.Lost+1 >= mostLost:
		return Ends
	case !l.Idempotent || !l.Confirmed:
		return Moves
	case l.Attempt >= l.Attempts:
		return Ends
	}
	return Moves
}

// NextAttempt numbers the attempt that follows: one that never reached an agent does not count.
func (l Loss) NextAttempt() int {
	if l.Confirmed && l.Idempotent {
		return l.Attempt + 1
	}
	return l.Attempt
}

// Backoff is the delay before a retry of an agent that was tried: base·2ⁿ and as much again at random, where n is the number of
// retries before it; at most limit. The jitter is added, so that gaps always grow.
func Backoff(base, limit time.Duration, n int, random func() float64) time.Duration {
	step := base << min(max(n, 0), 20)
	if step <= 0 || step > limit {
		return limit
	}
	return min(limit, step+time.Duration(random()*float64(step)))
}

// Jitter is the random part of a back-off.
func Jitter() float64 { return rand.Float64() }

// MayHaveExecuted is how a task ends whose agent was lost, or did not answer, while it ran and must not run again.
func MayHaveExecuted(agentID string, attempt int, cause *schemas.Error) *schemas.Error {
	e := schemas.NewError(schemas.Aborted, schemas.ReasonMayHaveExecuted,
		"the task may have executed on %s, and must not run twice: look at what it did, then retry it by hand", agentID).
		With("agent_id", agentID).With("attempt", attempt)
	if cause != nil {
		e.With("cause", cause)
	}
	return e
}
