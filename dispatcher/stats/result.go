package stats

import (
	"github.com/agentreach/agent-reach/schemas"
)

// ResultOf is what the end of a task says of its agent; counts is false if it says nothing: the task never had one, was canceled,
// or was refused for what the caller had sent.
func ResultOf(t *schemas.Task) (r Result, counts bool) {
	r = Result{At: t.FinishedAt.Time, OK: t.State == schemas.StateCompleted, Took: -1}
	if !t.StartedAt.IsZero() {
		r.Took = max(0, t.FinishedAt.Sub(t.StartedAt.Time))
	}
	return r, t.AgentID != "" && (r.OK || t.State == schemas.StateFailed && !callersFault(t.Error))
}

// callersFault reports whether an error is one that any agent would have answered.
func callersFault(e *schemas.Error) bool {
	if e == nil {
		return false
	}
	switch e.Code {
	case schemas.InvalidArgument, schemas.NotFound, schemas.AlreadyExists, schemas.PermissionDenied, schemas.Unauthenticated,
		schemas.FailedPrecondition, schemas.OutOfRange, schemas.Cancelled:
		return true
	}
	return e.Reason == schemas.ReasonPayloadTooLarge
}
