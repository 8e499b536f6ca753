package broker

import (
	"context"
	"sync"
	"time"
)

// link is the state of the connection for those who wait for an answer on it: an answer to what was asked before the connection was
// lost will mostly not come, so they need not wait for it.
type link struct {
	mu   sync.Mutex
	up   context.Context // ends, with cause ErrDisconnected, when the connection is lost
	lose context.CancelCauseFunc
	end  time.Time // when it was lost last
}

// restored says when the connection that was there before was lost.
func (l *link) restored() (lost time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lose != nil {
		l.lose(ErrDisconnected)
	}
	l.up, l.lose = context.WithCancelCause(context.Background())
	return l.end
}

func (l *link) lost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose(ErrDisconnected)
	l.end = time.Now()
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

// Trouble is what may have been missed. What was heard until then may have holes.
type Trouble struct {
	// Lost is when a connection was lost that is up again: what was published shortly before may not have arrived. It is zero where
	// messages were dropped, and none that was published.
	Lost time.Time
}

// callbacks are functions to be called when there is trouble.
type callbacks struct {
	mu   sync.Mutex
	next int
	fns  map[int]func(Trouble)
}

func (c *callbacks) add(fn func(Trouble)) (cancel func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fns == nil {
		c.fns = make(map[int]func(Trouble))
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

func (c *callbacks) call(t Trouble) {
	c.mu.Lock()
	fns := make([]func(Trouble), 0, len(c.fns))
	for _, fn := range c.fns {
		fns = append(fns, fn)
	}
	c.mu.Unlock()
	for _, fn := range fns {
		fn(t)
	}
}
