package dispatcher

import (
	"math/rand/v2"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// failure is an attempt that did not succeed, as the decision about it sees it.
type failure struct {
	err        *schemas.Error
	ran        schemas.Ran
	idempotent bool
	attempt    int  // which attempt this was, from 1
	attempts   int  // how many there may be
	another    bool // an agent that has not been tried could run it now
	fallback   bool // there is another capability to turn to
}

// verdict is what becomes of a task after an attempt at it failed.
type verdict int

const (
	ends   verdict = iota // it ends with the error
	moves                 // another agent gets it now
	waits                 // it is tried again after a back-off
	aborts                // it ends as ABORTED: it may have executed
	turns                 // it turns to its fallback
)

// afterFailure decides. Only failures to reach an agent are retried, at another agent first; an unknown outcome moves on only where
// running twice does no harm; what an agent has answered is final. The fallback is turned to when nobody is left.
func afterFailure(f failure) verdict {
	if f.ran == schemas.RanUnknown && !f.idempotent {
		return aborts
	}
	last := f.attempt >= f.attempts
	switch {
	case !f.reachLevel():
		return ends
	case f.another && !last:
		return moves
	case f.fallback:
		return turns
	case last || f.ran != schemas.RanNo:
		return ends
	}
	return waits
}

// reachLevel reports whether the failure lies on the way to the agent, or leaves the outcome open, or says no more than that this agent
// took too long for what may be done twice.
func (f failure) reachLevel() bool {
	switch f.ran {
	case schemas.RanUnknown:
		return true
	case schemas.RanYes:
		return f.idempotent && overRunLimit(f.err)
	case schemas.RanNo:
		return f.err.Code == schemas.Unavailable || f.err.Code == schemas.ResourceExhausted && f.err.Reason != schemas.ReasonPayloadTooLarge
	}
	return false
}

// overRunLimit reports whether an attempt was stopped at its run limit. An agent that answers with such an error has answered.
func overRunLimit(e *schemas.Error) bool {
	var origin string
	return e.Code == schemas.DeadlineExceeded && e.Reason == schemas.ReasonRunLimit && !e.Detail("origin", &origin)
}

// loss is a task whose agent has gone, as the decision about it sees it.
type loss struct {
	phase      schemas.Phase
	idempotent bool
	confirmed  bool // the agent had named the task: the attempt has happened
	lost       int  // agents that were lost before, one after another, while they had the task
	attempt    int
	attempts   int
}

// mostLost is how many agents may be lost in a row with a task that none of them had named yet. That many are no accident: it kills its
// workers before they can say a word.
const mostLost = 8

// afterLoss decides what becomes of the task of an agent that has gone: move (to another agent, or to the queue), abort, or end
// after too many attempts. A task that was not begun moves whatever it does: a worker that dies before the start costs no attempt.
func afterLoss(l loss) verdict {
	switch {
	case l.phase == schemas.PhaseBegun && !l.idempotent:
		return aborts
	case l.lost+1 >= mostLost:
		return ends
	case !l.idempotent || !l.confirmed:
		return moves
	case l.attempt >= l.attempts:
		return ends
	}
	return moves
}

// nextAttempt numbers the attempt that follows: one that never reached an agent does not count.
func (l loss) nextAttempt() int {
	if l.confirmed && l.idempotent {
		return l.attempt + 1
	}
	return l.attempt
}

// backoff is the delay before a retry of an agent that was tried: base·2ⁿ and as much again at random, where n is the number of
// retries before it; at most limit. The jitter is added, so that gaps always grow.
func backoff(base, limit time.Duration, n int, random func() float64) time.Duration {
	step := base << min(max(n, 0), 20)
	if step <= 0 || step > limit {
		return limit
	}
	return min(limit, step+time.Duration(random()*float64(step)))
}

// jitter is the random part of a back-off.
func jitter() float64 { return rand.Float64() }

// mayHaveExecuted is how a task ends whose agent was lost, or did not answer, while it ran and must not run again.
func mayHaveExecuted(agentID string, attempt int, cause *schemas.Error) *schemas.Error {
	e := schemas.NewError(schemas.Aborted, schemas.ReasonMayHaveExecuted,
		"the task may have executed on %s, and must not run twice: look at what it did, then retry it by hand", agentID).
		With("agent_id", agentID).With("attempt", attempt)
	if cause != nil {
		e.With("cause", cause)
	}
	return e
}
