package answer

import (
	"context"
	"errors"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// Value is raw as a result. Nothing at all is null. JSON that is broken or beyond the limits of schemas.Scan is INTERNAL,
// NOT_JSON, with an excerpt.
func Value(raw []byte) (schemas.Payload, *schemas.Error) {
	trimmed := Trim(raw)
	if len(trimmed) == 0 {
		return schemas.Payload("null"), nil
	}
	if err := schemas.Scan(trimmed); err != nil {
		return nil, notJSON(trimmed, schemas.AsError(err))
	}
	return schemas.Payload(trimmed), nil
}

func notJSON(raw []byte, problem *schemas.Error) *schemas.Error {
	e := schemas.NewError(schemas.Internal, schemas.ReasonNotJSON, "the agent's answer is not valid JSON: %s", problem.Message)
	return WithExcerpt(FromAgent(e), raw)
}

// TooLarge refuses an answer of size bytes or more, as far as it is known.
func TooLarge(limit, size int64) *schemas.Error {
	e := schemas.NewError(schemas.ResourceExhausted, schemas.ReasonResultTooLarge,
		"the agent's answer has %d bytes or more, and a result may have %d", size, limit)
	return FromAgent(e).With("limit_bytes", limit).With("size_bytes", size)
}

// Reported is the failure of an agent that says itself that it failed, on a transport that says nothing more.
func Reported(value []byte, mapping map[string]schemas.Code) *worker.Failure {
	report, _ := ReadReport(value)
	base := schemas.NewError(schemas.Internal, "", "the agent reported an error without details")
	return &worker.Failure{Err: report.Error(base, mapping), Ran: schemas.RanYes}
}

// Unreached is the failure of a task that never came to the agent.
func Unreached(format string, args ...any) *worker.Failure {
	e := schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, format, args...)
	return &worker.Failure{Err: e, Ran: schemas.RanNo}
}

// Ended is the failure of an attempt whose context ended before the agent had answered.
func Ended(ctx context.Context, ran schemas.Ran, confirmed bool) *worker.Failure {
	e := schemas.NewError(schemas.Cancelled, schemas.ReasonCanceled, "the task was stopped before the agent answered")
	cause := context.Cause(ctx)
	if errors.Is(cause, worker.ErrRunLimit) || errors.Is(cause, context.DeadlineExceeded) {
		e = schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonRunLimit, "the agent did not answer within the run limit")
	}
	return &worker.Failure{Err: e, Ran: ran, Confirmed: confirmed}
}

// Acknowledged is what an agent's failure means once ctx has ended: the agent has stopped, and one that says no more than
// CANCELLED did so because it was told to.
func Acknowledged(ctx context.Context, failure *worker.Failure) *worker.Failure {
	if failure.Err.Code == schemas.Cancelled {
		return Ended(ctx, schemas.RanUnknown, true)
	}
	failure.Confirmed = true
	return failure
}
