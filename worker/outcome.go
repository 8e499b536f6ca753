package worker

import (
	"errors"
	"maps"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// reasonPanic is the reason of a handler that panicked.
const reasonPanic = "PANIC"

// fate is how far a handler came.
type fate int

const (
	gone      fate = iota // its goroutine ended without a return
	returned              // it has returned
	unstarted             // it had the right to run, but was to stop before it was called
	givenUp               // it outlasts its context by too much
	skipped               // it had no right to run
)

// ending is all that is known of a handler's call when it is over.
type ending struct {
	fate   fate
	result schemas.Payload
	large  *spooled // in place of result, where that is not held in memory
	err    error
	cause  error // why its context ended; nil if it had not
	took   time.Duration
	at     time.Time
}

// matters reports whether a dispatcher is to hear of it: not of a task that a dispatcher has ended or moved.
func (e ending) matters() bool {
	return e.fate != skipped && !errors.Is(e.cause, ErrCanceled) && !errors.Is(e.cause, ErrSuperseded)
}

// confirmed reports whether it is known that nothing of the task runs any more, by the agent's own word or because it never
// began.
func (e ending) confirmed() bool {
	var f *Failure
	return e.fate == unstarted || e.fate == skipped || errors.As(e.err, &f) && f != nil && f.Confirmed
}

// lingers reports whether the agent may still be at work on a task that was taken from it: it was told to stop, or was cut off, and
// has said nothing. A handler that is itself the agent has stopped when it returns, and so has what never began.
func (e ending) lingers() bool {
	var f *Failure
	return e.cause != nil && e.fate == returned && errors.As(e.err, &f) && f != nil &&
		f.Ran == schemas.RanUnknown && !f.Confirmed && !f.Stopped
}

// outcome is what a dispatcher is told: state, result or error, and whether the agent did anything. What the handler answered
// counts for more than why its context ended. mapping goes from the agent's own codes to standard ones.
func (e ending) outcome(limit int, mapping map[string]schemas.Code) schemas.Result {
	if e.fate == returned && e.err == nil && e.large != nil {
		return schemas.Result{State: schemas.StateCompleted}
	}
	if e.fate == returned && e.err == nil {
		bad := checkResult(e.result, limit)
		if bad == nil {
			return schemas.Result{State: schemas.StateCompleted, Result: e.result}
		}
		e.err = bad
	}
	f := e.failure()
	return schemas.Result{State: schemas.StateFailed, Error: tidy(f.Err, mapping), Ran: f.Ran}
}

// checkResult refuses what no result may be.
func checkResult(result schemas.Payload, limit int) error {
	if len(result) > limit {
		return tooLarge(len(result), limit)
	}
	if err := schemas.ScanWithin(result); err != nil {
		return badJSON("the result", err)
	}
	return nil
}

func tooLarge(size, limit int) error {
	return &Failure{Ran: schemas.RanYes, Err: schemas.NewError(schemas.ResourceExhausted, schemas.ReasonResultTooLarge,
		"the result has %d bytes; at most %d are accepted", size, limit).With("size_bytes", size).With("limit_bytes", limit)}
}

func badJSON(what string, err error) error {
	problem := schemas.AsError(err)
	e := schemas.NewError(schemas.Internal, problem.Reason,
		"%s of the agent is not valid JSON: %s", what, problem.Message)
	e.Details = maps.Clone(problem.Details)
	return &Failure{Err: e.With("origin", "agent"), Ran: schemas.RanYes}
}

func (e ending) failure() Failure {
	switch e.fate {
	case unstarted:
		return stopped(e.cause, Failure{Ran: schemas.RanNo})
	case givenUp:
		return stopped(e.cause, Failure{})
	case gone:
		return Failure{Err: internal("", "the agent's handler ended without an answer"), Ran: schemas.RanYes}
	}
	f := said(e.err)
	if e.cause != nil && !f.answers() {
		f = stopped(e.cause, f)
	}
	f.Ran = ranOr(f.Ran, schemas.RanYes)
	return f
}

// said is the error of a handler as a Failure.
func said(err error) Failure {
	var f *Failure
	if errors.As(err, &f) && f != nil && f.Err != nil {
		return *f
	}
	var e *schemas.Error
	if errors.As(err, &e) && e != nil {
		f := Failure{Err: clone(e), Ran: schemas.RanYes}
		if _, known := e.Details["origin"]; !known {
			f.Err.With("origin", "agent")
		}
		return f
	}
	return Failure{Err: internal("", "the agent's handler failed")}
}

func internal(reason, message string) *schemas.Error {
	return schemas.NewError(schemas.Internal, reason, "%s", message).With("origin", "agent")
}

// answers reports whether the failure is the agent's own answer, and not what became of it when its context ended.
func (f Failure) answers() bool {
	known := f.Ran == schemas.RanYes || f.Ran == schemas.RanNo
	return known && !f.Confirmed && f.Err.Code != schemas.Cancelled && f.Err.Code != schemas.DeadlineExceeded
}

// stopped is the failure of a task that was made to stop. After the run limit an agent that confirmed is known to have run; a
// worker that stops knows only of what was not begun.
func stopped(cause error, f Failure) Failure {
	ran := schemas.RanUnknown
	if f.Ran == schemas.RanNo {
		ran = schemas.RanNo
	}
	if !errors.Is(cause, ErrRunLimit) {
		return Failure{Ran: ran, Err: schemas.NewError(schemas.Unavailable, schemas.ReasonWorkerStopped,
			"the worker stopped before the agent had answered")}
	}
	if f.Confirmed && ran != schemas.RanNo {
		ran = schemas.RanYes
	}
	return Failure{Ran: ran, Confirmed: f.Confirmed, Err: schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonRunLimit,
		"the agent did not answer within the run limit")}
}

func ranOr(ran, otherwise schemas.Ran) schemas.Ran {
	if ran == "" {
		return otherwise
	}
	return ran
}

func clone(e *schemas.Error) *schemas.Error {
	c := *e
	c.Details = maps.Clone(e.Details)
	return &c
}

// tidy is an error as it may leave the worker: a standard code, valid text, and not more than fits.
func tidy(e *schemas.Error, mapping map[string]schemas.Code) *schemas.Error {
	e = clone(e)
	if !e.Code.Standard() {
		e = standard(e, mapping)
	}
	return e.Bounded()
}

// standard replaces an agent's own code, which stays visible.
func standard(e *schemas.Error, mapping map[string]schemas.Code) *schemas.Error {
	own := string(e.Code)
	e.Code = schemas.Internal
	if code, known := mapping[own]; known && code.Standard() {
		e.Code = code
	}
	return e.With("agent_code", schemas.Clip(own, schemas.MaxErrorWord))
}

// rejected is the result of a task that can never run here.
func rejected(why *schemas.Error) schemas.Result {
	return schemas.Result{State: schemas.StateRejected, Error: why, Ran: schemas.RanNo}
}

// cutShort is the result of an attempt that the worker's process did not outlive.
func cutShort() *schemas.Result {
	f := stopped(ErrStopping, Failure{})
	return &schemas.Result{State: schemas.StateFailed, Error: f.Err, Ran: f.Ran}
}
