package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/schemas"
)

// maxAnswer is how many messages of an answer may wait to be read: many more than the slots of a worker and what a pull sends again.
const maxAnswer = 8192

// pullEnd is the value of Reach-Pull in the message that ends an answer of entries.
const pullEnd = "end"

// Request asks and gives the answer's body. An error that the other side answered with is a *schemas.Error. ErrNoResponders says
// that nobody serves the subject; ErrDisconnected that the connection is down, or was lost before the answer came, and then the
// request may have arrived. Without a deadline in ctx it waits a minute.
func (c *Conn) Request(ctx context.Context, subject string, body []byte) ([]byte, error) {
	within := requestTimeout
	if _, has := ctx.Deadline(); has {
		within = 0
	}
	return c.RequestWithin(ctx, within, subject, body)
}

// RequestWithin is Request, but waits for so long at most: then the error is context.DeadlineExceeded.
func (c *Conn) RequestWithin(ctx context.Context, within time.Duration, subject string, body []byte) ([]byte, error) {
	if subject == "" {
		return nil, errBadSubject()
	}
	reply, err := c.roundTrip(ctx, &nats.Msg{Subject: subject, Data: body}, within)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", subject, err)
	}
	if err := replyError(reply); err != nil {
		return nil, err
	}
	return reply.Data, nil
}

// RequestEntries asks, calls fn with every ledger entry of the answer, and gives the body of the message that ends it. Its errors
// are those of Request.
func (c *Conn) RequestEntries(ctx context.Context, subject string, body []byte, fn func(Entry)) ([]byte, error) {
	if subject == "" {
		return nil, errBadSubject()
	}
	ctx, cancel := bounded(ctx, requestTimeout)
	defer cancel()
	end, err := c.requestMany(ctx, &nats.Msg{Subject: subject, Data: body}, fn)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", subject, err)
	}
	return end, nil
}

func (c *Conn) requestMany(ctx context.Context, m *nats.Msg, fn func(Entry)) ([]byte, error) {
	if !c.nc.IsConnected() {
		return nil, errUnsent
	}
	ctx, cancel := c.link.guard(ctx)
	defer cancel()
	inbox, err := c.subscribeInbox()
	if err != nil {
		return nil, err
	}
	defer func() { _ = inbox.Unsubscribe() }()
	m.Reply = inbox.Subject
	if err := c.publish(m); err != nil {
		return nil, err
	}
	return c.receiveEntries(ctx, inbox, fn)
}

func (c *Conn) receiveEntries(ctx context.Context, inbox *nats.Subscription, fn func(Entry)) ([]byte, error) {
	for {
		m, err := inbox.NextMsgWithContext(ctx)
		if err != nil {
			return nil, c.natsError(ctx, err, 0)
		}
		if err := replyError(m); err != nil {
			return nil, err
		}
		if m.Header.Get(headerPull) == pullEnd {
			return m.Data, nil
		}
		e, err := carriedEntry(m)
		if err != nil {
			c.log.Warn().Err(err).Msg("entry skipped")
			continue
		}
		fn(e)
	}
}

// carriedEntry reads a ledger entry that came on another subject, its own in a header.
func carriedEntry(m *nats.Msg) (Entry, error) {
	s, err := readDirect(m)
	if err != nil {
		return Entry{}, err
	}
	return entryOf(s)
}

// replyError is the error that an answer holds.
func replyError(m *nats.Msg) error {
	if noResponders(m) {
		return ErrNoResponders
	}
	code := schemas.Code(m.Header.Get(headerErrorCode))
	if code == "" {
		return nil
	}
	var e schemas.Error
	if err := schemas.Decode(m.Data, &e); err == nil && e.Code.Standard() {
		return &e
	}
	if !code.Standard() {
		code = schemas.Unknown
	}
	return schemas.NewError(code, "", "%s", oneLine(m.Header.Get(headerErrorText)))
}
