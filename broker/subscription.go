package broker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// How much may wait for a handler before messages are dropped, and OnTrouble is told.
const (
	maxPendingMessages = 1_000_000
	maxPendingBytes    = 512 << 20
)

// Subscription is something that calls a handler until it is closed.
type Subscription struct {
	conn   *Conn
	stop   func()             // ends the intake
	cancel context.CancelFunc // ends the handlers' context; nil if they have none
	gate   gate
	once   sync.Once
}

// Close ends the intake and returns when no handler runs any more. Handlers that take long have their context ended. A handler must
// not call it.
func (s *Subscription) Close() {
	s.once.Do(func() {
		s.stop()
		left := s.gate.close()
		if s.cancel != nil {
			waitFor(left, s.conn.cfg.Grace)
			s.cancel()
		}
		<-left
		s.conn.forget(s)
	})
}

// waitFor waits until done, but not longer than d.
func waitFor(done <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// gate lets handlers in until it is closed, and knows when the last of them has left.
type gate struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.running.Add(1)
	return true
}

func (g *gate) leave() { g.running.Done() }

// close lets nobody in any more; the channel closes when all have left.
func (g *gate) close() <-chan struct{} {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	left := make(chan struct{})
	go func() {
		g.running.Wait()
		close(left)
	}()
	return left
}

// Subscribe calls fn with every message on a subject, one at a time, in order.
func (c *Conn) Subscribe(subject string, fn func(subject string, body []byte)) (*Subscription, error) {
	return c.subscribe(subject, func(m *nats.Msg) { fn(m.Subject, m.Data) })
}

// SubscribeAhead is Subscribe, but does not wait until the server knows of the subscription. What is sent on this connection
// afterwards arrives after it, so every answer to that is heard.
func (c *Conn) SubscribeAhead(subject string, fn func(subject string, body []byte)) (*Subscription, error) {
	s, err := c.newSubscription(subject, func(m *nats.Msg) { fn(m.Subject, m.Data) })
	if err != nil {
		return nil, err
	}
	return c.kept(s)
}

func (c *Conn) subscribe(subject string, fn func(*nats.Msg)) (*Subscription, error) {
	s, err := c.newSubscription(subject, fn)
	if err != nil {
		return nil, err
	}
	return c.started(s)
}

func (c *Conn) newSubscription(subject string, fn func(*nats.Msg)) (*Subscription, error) {
	s := &Subscription{conn: c}
	sub, err := c.listen(subject, "", func(m *nats.Msg) {
		if s.gate.enter() {
			defer s.gate.leave()
			fn(m)
		}
	})
	if err != nil {
		return nil, err
	}
	s.stop = func() { _ = sub.Unsubscribe() } // it fails only where there is nothing left to end
	return s, nil
}

// listen subscribes, as a member of a queue group if one is named, with bounded room for what waits.
func (c *Conn) listen(subject, group string, fn nats.MsgHandler) (*nats.Subscription, error) {
	if subject == "" {
		return nil, errBadSubject()
	}
	sub, err := c.nc.QueueSubscribe(subject, group, fn)
	if err != nil {
		return nil, fmt.Errorf("subscribe %s: %w", subject, c.natsError(context.Background(), err, 0))
	}
	if err := sub.SetPendingLimits(maxPendingMessages, maxPendingBytes); err != nil {
		return nil, fmt.Errorf("subscribe %s: %w", subject, err)
	}
	return sub, nil
}

// started hands the subscription to Conn.Close, and returns once the server knows it, if the connection is up: what is published
// after that is heard.
func (c *Conn) started(s *Subscription) (*Subscription, error) {
	s, err := c.kept(s)
	if err == nil && c.nc.IsConnected() {
		_ = c.nc.FlushTimeout(c.cfg.TryTimeout) // a reconnect subscribes again by itself
	}
	return s, err
}

func (c *Conn) kept(s *Subscription) (*Subscription, error) {
	if !c.keep(s) {
		s.Close()
		return nil, ErrDisconnected
	}
	return s, nil
}
