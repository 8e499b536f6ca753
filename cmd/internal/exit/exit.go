// Package exit is how the command line ends: the one table from errors to exit codes, and the one form in which an error is said.
package exit

import (
	"errors"
	"fmt"

	"github.com/agentreach/agent-reach/schemas"
)

// The exit codes.
const (
	OK          = 0
	Failed      = 1 // the task ended other than completed, or the request was refused for any other reason
	Usage       = 2 // wrong usage, INVALID_ARGUMENT, NOT_FOUND
	Unreachable = 3 // no dispatcher answered, or UNAVAILABLE
	WaitEnded   = 4 // the wait ended before the task did
)

// codes of the errors that do not end in Failed.
var codes = map[schemas.Code]int{
	schemas.InvalidArgument: Usage,
	schemas.NotFound:        Usage,
	schemas.Unavailable:     Unreachable,
}

// Said is an error of which the command has already told all: only the exit code is left.
type Said int

// Interrupted is the end of a command that a signal cut short and that has nothing to say.
const Interrupted = Said(130)

// Error names the code.
func (s Said) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// UsageError is a command line that is not understood.
func UsageError(format string, args ...any) error {
	return schemas.NewError(schemas.InvalidArgument, "USAGE", format, args...)
}

// Code is the exit code for err.
func Code(err error) int {
	if err == nil {
		return OK
	}
	var said Said
	if errors.As(err, &said) {
		return int(said)
	}
	if code, found := codes[Error(err).Code]; found {
		return code
	}
	return Failed
}

// Error is err as it is shown: an *schemas.Error as it is, anything else as FAILED_PRECONDITION with its text, since on the command
// line the reader is the one who can mend it: a port that is taken, a file that cannot be read.
func Error(err error) *schemas.Error {
	var e *schemas.Error
	if errors.As(err, &e) {
		return e
	}
	return schemas.NewError(schemas.FailedPrecondition, "", "%s", err)
}
