package httpfront

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"golang.org/x/sync/semaphore"
)

const (
	spoolAbove  = 1 << 20          // bytes of a body that is read into a file before anything is done with it
	bodyCost    = 3                // bytes of memory that a byte of such a body takes while it is dealt with
	memoryFor   = 10 * time.Second // how long it waits for that memory
	bytesInTime = 1 << 20          // that have to come, or go, within one timeout
)

// spooler takes large bodies in. However many come at once and however slowly, they lie in files; memory is taken by those that are
// whole, and only so much of it.
type spooler struct {
	memory *semaphore.Weighted
	room   int64
}

func newSpooler(room int64) *spooler { return &spooler{semaphore.NewWeighted(room), room} }

// take reads a body to its end. The body that it gives is read anew; release gives up what it takes.
func (s *spooler) take(ctx context.Context, body io.Reader) (spooled io.ReadCloser, release func(), err error) {
	var head bytes.Buffer
	switch _, err = io.CopyN(&head, body, spoolAbove); {
	case errors.Is(err, io.EOF):
		return io.NopCloser(&head), func() {}, nil
	case err != nil:
		return nil, nil, err
	}
	file, err := os.CreateTemp("", "reach-body-")
	if err != nil {
		return nil, nil, fmt.Errorf("spool body: %w", err)
	}
	_ = os.Remove(file.Name()) // where an open file keeps its name, close removes it
	remove := func() { _ = file.Close(); _ = os.Remove(file.Name()) }
	size, err := io.Copy(file, io.MultiReader(&head, body))
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	cost := min(bodyCost*size, s.room)
	if err == nil {
		err = s.hold(ctx, cost)
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return file, func() { s.memory.Release(cost); remove() }, nil
}

func (s *spooler) hold(ctx context.Context, cost int64) error {
	ctx, cancel := context.WithTimeout(ctx, memoryFor)
	defer cancel()
	if s.memory.Acquire(ctx, cost) == nil {
		return nil
	}
	e := schemas.NewError(schemas.Unavailable, schemas.ReasonBusy, "as many large bodies are dealt with as may be; try again")
	e.RetryAfterMS = 1000
	return e
}

// unread is what a caller hears whose body could not be taken in.
func unread(err error) error {
	var known *schemas.Error
	switch {
	case errors.As(err, &known):
		return known
	case knownProblem(err) != nil:
		return knownProblem(err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return humaProblem(http.StatusRequestTimeout, "")
	}
	return humaProblem(http.StatusInternalServerError, "")
}
