package worker

import (
	"context"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Task is what a Handler is given: one attempt at one task, to be finished before Deadline.
type Task struct {
	Message  *schemas.ReachMessage // as stored in the ledger, hops left out
	Offer    *schemas.Offer        // what the agent declared of the capability
	Deadline time.Time             // the end of the run limit
}

// ID is the task_id: also the key under which an agent can recognise a repeat.
func (t *Task) ID() string { return t.Message.TaskID }

// Handler runs tasks on one agent. Handle blocks until the agent has answered or ctx has ended; it is called from many goroutines,
// never more than the agent's slots at once. The result is one JSON value; nil means that the chunks emitted are the result.
// An error that is, or wraps, *Failure says whether the agent did anything; any other *schemas.Error counts as RanYes, and any
// other error as INTERNAL, RanYes. When ctx ends, context.Cause tells why: ErrCanceled, ErrRunLimit, ErrSuperseded or ErrStopping.
type Handler interface {
	Handle(ctx context.Context, task *Task, emit Emit) (schemas.Payload, error)
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, task *Task, emit Emit) (schemas.Payload, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, task *Task, emit Emit) (schemas.Payload, error) {
	return f(ctx, task, emit)
}

// Emit carries what an agent says before its result.
type Emit interface {
	// Chunk passes on one piece of the result, in order. It may block, and fails only when the task has ended.
	Chunk(ctx context.Context, data schemas.Payload) error
	// Progress tells how far the agent is; only the latest word is kept.
	Progress(progress schemas.Progress)
	// Hop notes a step of the task, such as schemas.HopAdapterRequest, with the current time.
	Hop(name string)
}

// Failure is a failed attempt together with whether the agent did anything: what a retry may do depends on it.
type Failure struct {
	Err       *schemas.Error
	Ran       schemas.Ran
	Confirmed bool // after a cancel or run limit: the agent itself acknowledged that it has stopped
	Stopped   bool // nothing of the task runs any more, though the agent has not acknowledged it: its process is dead, say
}

// Error is the text of Err.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap gives Err.
func (f *Failure) Unwrap() error { return f.Err }
