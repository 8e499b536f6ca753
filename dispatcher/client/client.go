// Package client is the Go SDK for callers: it submits tasks, waits for them, and looks after agents and capabilities, over NATS.
//
// What is guaranteed:
//
//   - Submit returns a task that is durable. A message gets a fresh task_id before it is sent, and is sent again, the very same, until
//     an answer comes or ctx ends: a lost answer never makes a second task. If ctx ends first, the error says whether the task may be
//     there (OUTCOME_UNKNOWN, with its task_id in the details) or certainly is not (NO_DISPATCHER, BROKER_UNAVAILABLE).
//   - Wait, Result, Do and Follow survive the death of the dispatcher that they were waiting with, and an outage of the broker.
//   - Every error is an *schemas.Error.
//
// A context without a deadline gets one of 10 seconds for a single question; a wait ends only with its own time or its context.
// A Client's methods may be called at once. It starts no goroutines of its own.
package client

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/rs/zerolog"
)

// Config of a connection; the zero value connects to a broker on this machine.
type Config struct {
	URL         string // "nats://host:port", several with commas
	Name        string // shown by the broker
	CredsFile   string
	User        string
	Password    string
	Token       string
	InboxPrefix string // "" is _INBOX
	Logger      zerolog.Logger
}

// Option changes how a client works.
type Option func(*Client)

// WithTenant says whose results to hear; it is the tenant that the connection's credentials belong to.
func WithTenant(tenant string) Option { return func(c *Client) { c.tenant = tenant } }

// WithTimes sets how long one try waits for its answer (5 s), and how long a single question is repeated when its context has no
// deadline (10 s). Zero leaves a time as it is.
func WithTimes(try, patience time.Duration) Option {
	return func(c *Client) { c.try, c.patience = cmp.Or(try, c.try), cmp.Or(patience, c.patience) }
}

// Client talks to whichever dispatcher answers.
type Client struct {
	conn     *broker.Conn
	owned    bool
	tenant   string
	try      time.Duration // for one answer
	patience time.Duration // for a question whose context has no deadline
	slice    time.Duration // of a wait: how long one dispatcher is asked to wait
	look     time.Duration // of a stream: how often a task is looked at of which nothing is heard
	late     time.Duration // without a result, after which a dispatcher is asked for it
	ears     ears

	submitting chan struct{}   // holds one for each message that is being submitted
	submits    *broker.Bundler // takes them to a dispatcher
	does       *broker.Bundler // likewise, to one that tells this client how they end
	untold     atomic.Int64    // until when no dispatcher is asked for that, in nanoseconds since 1970
}

// New makes a client on a connection, which stays the caller's to close.
func New(conn *broker.Conn, options ...Option) *Client {
	c := &Client{
		tenant: schemas.DefaultTenant, try: 5 * time.Second, patience: 10 * time.Second, slice: 10 * time.Second,
		look: time.Second, late: 3 * time.Second, submitting: make(chan struct{}, submitsAtOnce),
	}
	for _, option := range options {
		option(c)
	}
	c.ears = ears{tenant: c.tenant, waiting: make(map[string][]*ear)}
	if conn != nil {
		c.speakOn(conn)
	}
	return c
}

func (c *Client) speakOn(conn *broker.Conn) {
	c.conn, c.ears.conn = conn, conn
	c.submits = conn.Bundler(broker.SubjectAPI("task", "submit"), broker.SubjectAPI("task", "submits"))
	c.does = conn.Bundler(broker.SubjectAPI("task", "do"), broker.SubjectAPI("task", "dos"))
}

// Connect makes a client with a connection of its own, trying until ctx ends.
func Connect(ctx context.Context, config Config, options ...Option) (*Client, error) {
	c := New(nil, options...)
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	conn, err := broker.Connect(ctx, broker.Config{
		URL: config.URL, Name: config.Name, CredsFile: config.CredsFile, User: config.User, Password: config.Password,
		Token: config.Token, InboxPrefix: config.InboxPrefix, Logger: config.Logger,
	})
	if err != nil {
		return nil, connectError(ctx, err)
	}
	c.speakOn(conn)
	c.owned = true
	return c, nil
}

// connectError tells a broker that is not there from one that does not want this client.
func connectError(ctx context.Context, err error) *schemas.Error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return canceled()
	case ctx.Err() != nil:
		return schemas.NewError(schemas.Unavailable, schemas.ReasonBrokerOutage, "no broker answers at that URL")
	case errors.Is(err, fs.ErrNotExist):
		return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue, "the credentials file is not there")
	}
	return schemas.NewError(schemas.Unauthenticated, "BROKER_REFUSED",
		"the broker refuses this connection; look at the credentials, and at what was configured")
}

// Close closes the connection that Connect has made.
func (c *Client) Close() {
	if c.owned {
		c.conn.Close()
	}
}

// bounded gives a context a deadline if it has none.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, found := ctx.Deadline(); found {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, c.patience)
}
