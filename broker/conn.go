package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Conn is a connection to the broker. It survives outages; only Close ends it. All its methods may be called from any goroutine.
type Conn struct {
	cfg     Config
	log     zerolog.Logger
	nc      *nats.Conn
	js      jetstream.JetStream
	link    link
	replies replies
	crew    crew
	ctx     context.Context // ends when Close begins
	stop    context.CancelFunc
	closed  chan struct{} // closed when nc has ended

	trouble  callbacks
	watchers sync.WaitGroup
	closing  sync.Once

	mu   sync.Mutex
	open map[closer]struct{} // what Close has to close first
}

type closer interface{ Close() }

// Connect connects, trying until ctx ends; what no repetition mends, such as a refused password, is an error at once.
func Connect(ctx context.Context, cfg Config) (*Conn, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	c := &Conn{cfg: cfg, log: cfg.Logger, closed: make(chan struct{}), open: make(map[closer]struct{})}
	c.link.restored()
	c.ctx, c.stop = context.WithCancel(context.Background())
	if err := c.dial(ctx); err != nil {
		c.stop()
		return nil, err
	}
	js, err := jetstream.New(c.nc)
	if err == nil {
		err = c.hearReplies()
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("connect to the broker: %w", err)
	}
	c.js = js
	return c, nil
}

func (c *Conn) dial(ctx context.Context) error {
	for told := false; ; told = true {
		nc, err := nats.Connect(c.cfg.URL, append(c.cfg.options(), c.handlers()...)...)
		if err == nil {
			c.nc = nc
			return nil
		}
		if hopeless(err) {
			return fmt.Errorf("connect to the broker: %w", err)
		}
		if !told {
			c.log.Warn().Err(err).Msg("no broker answers; trying until one does")
		}
		if !pause(ctx, reconnectWait) {
			return unconnected(ctx, err)
		}
	}
}

// unconnected is the error of whoever has stopped trying: that it was told to, where it was.
func unconnected(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("connect to the broker: %w: %w", context.Canceled, err)
	}
	return fmt.Errorf("connect to the broker: %w", err)
}

// hopeless reports whether connecting again would end the same way.
func hopeless(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked) ||
		errors.Is(err, fs.ErrNotExist)
}

func (c *Conn) handlers() []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			c.link.lost()
			if c.ctx.Err() == nil {
				c.log.Warn().Err(err).Msg("broker disconnected")
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			lost := c.link.restored()
			c.log.Info().Str("url", c.where(nc)).Msg("broker reconnected")
			c.trouble.call(Trouble{Lost: lost})
		}),
		nats.ClosedHandler(func(*nats.Conn) {
			c.link.lost()
			close(c.closed)
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) { c.asyncError(sub, err) }),
	}
}

// where names the server of a connection. One within this process has no address, and the client library would name any.
func (c *Conn) where(nc *nats.Conn) string {
	if c.cfg.Embedded != nil {
		return "this process"
	}
	return nc.ConnectedUrlRedacted()
}

// asyncError hears what went wrong outside of any call: a subscription that was too slow, a permission that is missing.
func (c *Conn) asyncError(sub *nats.Subscription, err error) {
	event := c.log.Error().Err(err)
	if sub != nil {
		event = event.Str("subject", sub.Subject)
	}
	if errors.Is(err, nats.ErrSlowConsumer) {
		event.Msg("broker messages dropped: a handler is too slow")
		c.trouble.call(Trouble{})
		return
	}
	event.Msg("broker error")
}

// Close ends everything that runs on the connection: it takes nothing new, lets handlers end, sends what is on its way, and waits.
// A handler must not call it.
func (c *Conn) Close() {
	c.closing.Do(func() {
		c.stop()
		c.closeAll()
		c.crew.close()
		c.watchers.Wait()
		c.drain()
	})
}

func (c *Conn) closeAll() {
	c.mu.Lock()
	open := c.open
	c.open = nil
	c.mu.Unlock()
	var all sync.WaitGroup
	for one := range open {
		all.Go(one.Close)
	}
	all.Wait()
}

func (c *Conn) drain() {
	if c.nc.Drain() == nil {
		select {
		case <-c.closed:
		case <-time.After(2 * c.cfg.Grace):
		}
	}
	c.nc.Close()
	<-c.closed
}

// keep makes Close close one, and reports whether it still will.
func (c *Conn) keep(one closer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		return false
	}
	c.open[one] = struct{}{}
	return true
}

func (c *Conn) forget(one closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, one)
}

// OnTrouble has fn called after every reconnect and whenever messages were dropped because a handler was too slow. fn must not block.
func (c *Conn) OnTrouble(fn func(Trouble)) (cancel func()) { return c.trouble.add(fn) }

// Connected reports whether the connection is up now.
func (c *Conn) Connected() bool { return c.nc.IsConnected() }

// MaxPayload is how many bytes one message may have, headers included.
func (c *Conn) MaxPayload() int64 { return c.nc.MaxPayload() }

// Flush returns when the server has had everything that was published before.
func (c *Conn) Flush(ctx context.Context) error {
	ctx, cancel := bounded(ctx, storeTimeout)
	defer cancel()
	if err := c.nc.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("flush: %w", c.natsError(ctx, err, 0))
	}
	return nil
}

// Publish sends body and forgets it: nobody may be there to hear it.
func (c *Conn) Publish(subject string, body []byte) error {
	return c.publish(&nats.Msg{Subject: subject, Data: body})
}

// PublishEntry sends a ledger entry on another subject, with the headers that the feed has: an assignment sent again.
func (c *Conn) PublishEntry(subject string, e Entry) error { return c.publish(e.message(subject)) }

func (c *Conn) publish(m *nats.Msg) error {
	if err := c.nc.PublishMsg(m); err != nil {
		return fmt.Errorf("publish: %w", c.natsError(context.Background(), err, len(m.Data)))
	}
	return nil
}

// patienceKey is where a context keeps the patience of whoever made it.
type patienceKey struct{}

// WithPatience is a context within which no single write or read of this package takes longer than d, whatever its deadline: for callers
// who would rather hear soon that the broker does not answer.
func WithPatience(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, d)
}

// patient is ctx, with the end of its patience if it has one.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	if d, has := ctx.Value(patienceKey{}).(time.Duration); has {
		return context.WithTimeout(ctx, d)
	}
	return ctx, func() {}
}

// bounded is ctx with a deadline: its own, that of its patience, or one after timeout.
func bounded(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := patient(ctx)
	if _, has := ctx.Deadline(); has {
		return ctx, cancel
	}
	return context.WithTimeout(ctx, timeout)
}

// pause waits, and reports false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil // both may have come while nobody looked
	case <-ctx.Done():
		return false
	}
}
