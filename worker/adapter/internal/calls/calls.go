// Package calls holds the Handle calls of an agent together: what runs when the agent is closed is told to stop, and waited for. It starts
// no goroutine.
package calls

import (
	"context"
	"sync"

	"github.com/agentreach/agent-reach/worker"
)

// Calls are those of one agent.
type Calls struct {
	closing context.Context         // ends with Close
	end     context.CancelCauseFunc // ends closing

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// New are no calls yet.
func New() *Calls {
	c := new(Calls)
	c.closing, c.end = context.WithCancelCause(context.Background())
	return c
}

// Begin is the context of one more call: it ends with ctx, and, with worker.ErrStopping as the cause, when the agent is closed. Done is to be
// called when the call has ended. After Close there are none: ok is false.
func (c *Calls) Begin(ctx context.Context) (of context.Context, done func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ctx, func() {}, false
	}
	c.running.Add(1)
	of, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(c.closing, func() { cancel(worker.ErrStopping) })
	return of, func() {
		unhook()
		cancel(nil)
		c.running.Done()
	}, true
}

// Close stops what runs, as a cancel does, and waits until all of it has ended.
func (c *Calls) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end(worker.ErrStopping)
	c.running.Wait()
}
