package httpfront

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"golang.org/x/sync/semaphore"
)

const (
	spoolAbove  = 1 << 20          // bytes of a body that is read into a file before anything is done with it
	wholeCost   = 3                // bytes of memory that a byte of such a body takes where it has to be read whole
	passingCost = 8 << 20          // bytes of memory that it takes where its payload or result is passed on part by part
	readingCost = 3 << 19          // bytes of memory that a body takes which is read part by part
	memoryFor   = 10 * time.Second // how long it waits for that memory
	bytesInTime = 1 << 20          // that have to come, or go, within one timeout
)

// memory is what large bodies may take, all together.
type memory struct {
	free *semaphore.Weighted
	room int64
}

func newMemory(room int64) *memory { return &memory{semaphore.NewWeighted(room), room} }

// hold waits for memory; release gives it back. A body that costs more than there is has all of it.
func (m *memory) hold(ctx context.Context, cost int64) (release func(), err error) {
	cost = min(cost, m.room)
	ctx, cancel := context.WithTimeout(ctx, memoryFor)
	defer cancel()
	if m.free.Acquire(ctx, cost) == nil {
		return sync.OnceFunc(func() { m.free.Release(cost) }), nil
	}
	e := schemas.NewError(schemas.Unavailable, schemas.ReasonBusy, "too many large bodies are on their way; try again")
	e.RetryAfterMS = 1000
	return nil, e
}

// spooled is a large body in a file: however many come at once and however slowly, they take no memory until they are there. Read reads
// all of it, and takes the memory for that; what is read of its file is not counted.
type spooled struct {
	file   *os.File
	ctx    context.Context
	memory *memory
	size   int64
	held   func() // gives the memory back; nil where none is taken
	whole  bool   // whether that is for all of the body
}

// spool reads a body to its end. What is not large stays in memory.
func spool(ctx context.Context, memory *memory, from io.Reader) (io.ReadCloser, error) {
	var head bytes.Buffer
	switch _, err := io.CopyN(&head, from, spoolAbove); {
	case errors.Is(err, io.EOF):
		return io.NopCloser(&head), nil
	case err != nil:
		return nil, err
	}
	file, err := os.CreateTemp("", "reach-body-")
	if err != nil {
		return nil, fmt.Errorf("spool body: %w", err)
	}
	_ = os.Remove(file.Name()) // where an open file keeps its name, Close removes it
	b := &spooled{file: file, ctx: ctx, memory: memory}
	b.size, err = io.Copy(file, io.MultiReader(&head, from))
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

// Read takes the memory for all of the body with its first byte.
func (b *spooled) Read(into []byte) (int, error) {
	if !b.whole {
		if err := b.hold(wholeCost * b.size); err != nil {
			return 0, newProblem(err) // which comes back to us through huma
		}
		b.whole = true
	}
	return b.file.Read(into)
}

// hold takes memory, in place of what it has taken before; Close gives it back.
func (b *spooled) hold(cost int64) (err error) {
	b.release()
	b.held, err = b.memory.hold(b.ctx, cost)
	return err
}

func (b *spooled) release() {
	if b.held != nil {
		b.held()
		b.held = nil
	}
}

// Close gives up all that the body takes.
func (b *spooled) Close() error {
	b.release()
	_ = b.file.Close()
	_ = os.Remove(b.file.Name())
	return nil
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
