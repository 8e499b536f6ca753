package broker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/nats-io/nats.go"
)

// How much of the ledger is read at once.
const (
	batchMessages = 512
	batchBytes    = 8 << 20
	statusEnd     = "204"
	lastSequence  = math.MaxUint64 - 1 // of all that can be asked for: one more must still be a number
)

// Range calls fn with every message of the ledger from sequence from to sequence to, in order. It returns nil only when nothing was
// skipped: a sequence that did not come is one that the ledger no longer has. An error of fn ends it and is returned. It repeats
// itself over outages until ctx ends. Of a long range several stretches are read side by side.
func (l *Ledger) Range(ctx context.Context, from, to uint64, fn func(Entry) error) error {
	from, to = max(1, from), min(to, lastSequence)
	if to < from || to-from < 2*batchMessages {
		return l.readStretch(ctx, from, to, fn)
	}
	state, err := l.State(ctx)
	if err != nil {
		return l.readStretch(ctx, from, to, fn) // which waits for the ledger
	}
	known := min(to, state.Last)
	if from = max(from, state.First); from < known {
		if err := l.readSideBySide(ctx, from, known, stretchOf(state), fn); err != nil {
			return err
		}
		from = known + 1
	}
	return l.readStretch(ctx, from, to, fn)
}

// readStretch is Range, one batch after the other.
func (l *Ledger) readStretch(ctx context.Context, from, to uint64, fn func(Entry) error) error {
	r := reader{conn: l.conn, next: from, to: to, fn: fn}
	for again := newBackoff(); r.next <= r.to; {
		before := r.next
		err := r.step(ctx)
		var own *callbackError
		switch {
		case errors.As(err, &own):
			return own.err
		case ctx.Err() != nil || l.conn.nc.IsClosed():
			return fmt.Errorf("read ledger from %d: %w", r.next, errors.Join(context.Cause(ctx), err))
		case r.next > before:
			again = newBackoff()
		case !pause(ctx, again.delay(isUnclear)):
			return fmt.Errorf("read ledger from %d: %w", r.next, errors.Join(context.Cause(ctx), err))
		}
	}
	return nil
}

// reader goes through the ledger: everything before next has been given to fn or is gone.
type reader struct {
	conn *Conn
	next uint64
	to   uint64
	fn   func(Entry) error
}

// callbackError is an error of the caller's own function.
type callbackError struct{ err error }

func (e *callbackError) Error() string { return e.err.Error() }

// step reads one batch from any replica. A replica applies what it stores in order, so what is missing before the last message of a
// batch is gone; only what comes after it may be there without the replica knowing yet, and that is asked of the leader.
func (r *reader) step(ctx context.Context) error {
	found, err := r.batch(ctx)
	if err != nil || found {
		return err
	}
	return r.tail(ctx)
}

// tail asks the leader for the first message from next on, and takes it, or learns that there is none up to the end.
func (r *reader) tail(ctx context.Context) error {
	s, err := r.conn.askLeader(ctx, ledgerStream, query{Sequence: r.next, NextBySubject: ledgerSubjects})
	if errors.Is(err, ErrNotFound) {
		r.next = r.to + 1
		return nil
	}
	if err != nil {
		return err
	}
	return r.take(s)
}

// batch asks one replica for the next messages, and reports whether any came.
func (r *reader) batch(ctx context.Context) (bool, error) {
	ctx, cancel := r.conn.link.guard(ctx)
	defer cancel()
	inbox, err := r.conn.subscribeInbox()
	if err != nil {
		return false, err
	}
	defer func() { _ = inbox.Unsubscribe() }()
	q := query{Sequence: r.next, Batch: int(min(batchMessages, r.to-r.next+1)), MaxBytes: batchBytes}
	request := &nats.Msg{Subject: apiPrefix + "DIRECT.GET." + ledgerStream, Reply: inbox.Subject, Data: q.encode()}
	if err := r.conn.publish(request); err != nil {
		return false, err
	}
	return r.receive(ctx, inbox)
}

// receive takes the messages of one batch. Each names the one before it, so that a lost one is noticed.
func (r *reader) receive(ctx context.Context, inbox *nats.Subscription) (found bool, err error) {
	var previous uint64
	for r.next <= r.to {
		m, err := r.receiveOne(ctx, inbox)
		if err != nil {
			return found, err
		}
		if m.Header.Get(headerStatus) == "404" {
			return found, nil
		}
		if link := m.Header.Get(headerLastSequence); link != strconv.FormatUint(previous, 10) {
			return found, errors.New("read batch: a message was lost on the way")
		}
		if m.Header.Get(headerStatus) == statusEnd {
			return found, nil
		}
		s, err := readDirect(m)
		if err != nil {
			return found, err
		}
		if err := r.take(s); err != nil {
			return found, err
		}
		previous, found = s.sequence, true
	}
	return true, nil
}

func (r *reader) receiveOne(ctx context.Context, inbox *nats.Subscription) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, r.conn.cfg.TryTimeout)
	defer cancel()
	m, err := inbox.NextMsgWithContext(ctx)
	if err != nil {
		return nil, r.conn.natsError(ctx, err, 0)
	}
	return m, nil
}

// take gives one message to fn, unless it lies beyond the end. What is not an entry has no meaning to anyone and is passed over.
func (r *reader) take(s stored) error {
	if s.sequence < r.next {
		return errors.New("read batch: a message came out of order")
	}
	if s.sequence > r.to {
		r.next = r.to + 1
		return nil
	}
	e, err := entryOf(s)
	if err != nil {
		r.conn.log.Error().Err(err).Uint64("sequence", s.sequence).Msg("ledger message skipped")
	} else if err := r.fn(e); err != nil {
		return &callbackError{err: err}
	}
	r.next = s.sequence + 1
	return nil
}

// subscribeInbox makes a fresh inbox for an answer of many messages.
func (c *Conn) subscribeInbox() (*nats.Subscription, error) {
	sub, err := c.nc.SubscribeSync(c.nc.NewInbox())
	if err != nil {
		return nil, fmt.Errorf("subscribe inbox: %w", c.natsError(context.Background(), err, 0))
	}
	if err := sub.SetPendingLimits(maxPendingMessages, maxPendingBytes); err != nil {
		return nil, fmt.Errorf("subscribe inbox: %w", err)
	}
	return sub, nil
}
