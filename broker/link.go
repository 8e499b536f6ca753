package broker

import (
	"context"
	"sync"
)

// link is the state of the connection for those who wait for an answer on it: an answer to what was asked before the connection was
// lost will mostly not come, so they need not wait for it.
type link struct {
	mu   sync.Mutex
	up   context.Context // ends, with cause ErrDisconnected, when the connection is lost
	lose context.CancelCauseFunc
}

func (l *link) restored() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lose != nil {
		l.lose(ErrDisconnected)
	}
	l.up, l.lose = context.WithCancelCause(context.Background())
}

func (l *link) lost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose(ErrDisconnected)
}

// down is closed when the connection that is up now is lost. It is nil, and never closed, in the moment after a reconnect that this
// has not been told of yet.
func (l *link) down() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.up.Err() != nil {
		return nil
	}
	return l.up.Done()
}

// guard is ctx, but ends also when the connection is lost.
func (l *link) guard(ctx context.Context) (context.Context, context.CancelFunc) {
	l.mu.Lock()
	up := l.up
	l.mu.Unlock()
	guarded, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(up, func() { cancel(ErrDisconnected) })
	return guarded, func() {
		stop()
		cancel(nil)
	}
}

// callbacks are functions to be called when something happens.
type callbacks struct {
	mu   sync.Mutex
	next int
	fns  map[int]func()
}

func (c *callbacks) add(fn func()) (cancel func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fns == nil {
		c.fns = make(map[int]func())
	}
	id := c.next
	c.next++
	c.fns[id] = fn
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.fns, id)
	}
}

func (c *callbacks) call() {
	c.mu.Lock()
	fns := make([]func(), 0, len(c.fns))
	for _, fn := range c.fns {
		fns = append(fns, fn)
	}
	c.mu.Unlock()
	for _, fn := range fns {
		fn()
	}
}
