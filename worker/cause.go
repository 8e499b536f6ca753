package worker

import "errors"

// Why the context of a task has ended, as context.Cause tells a Handler.
var (
	ErrCanceled   = errors.New("the task was canceled")
	ErrRunLimit   = errors.New("the run limit has passed")
	ErrSuperseded = errors.New("the task is no longer this worker's")
	ErrStopping   = errors.New("the worker is stopping")
)

// Why a call to a dispatcher or a chunk came to nothing.
var (
	errExpired   = errors.New("the task has expired")
	errEnded     = errors.New("the task has ended")
	errDisplaced = errors.New("another process serves this agent")
)
