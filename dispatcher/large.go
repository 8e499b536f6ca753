package dispatcher

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
)

// Reasons of what goes wrong with a body.
const (
	reasonBodiesFull  = "BODIES_FULL"
	reasonBodyMissing = "BODY_MISSING"
)

const (
	stagedFor      = 10 * time.Minute // how long a staged payload waits for its message
	usageFor       = time.Second      // how long it is believed how much all bodies take
	mostSkeleton   = 4 << 20          // bytes of a skeleton
	payloadShare   = 80               // percent of the room for bodies that payloads may fill; the rest is for results alone
	wholeAnyway    = 4 * time.Second  // how long a request waits for memory to hold a body whole
	mostNarrowings = 32               // agents whose own schemas look at one large payload
)

// large is how a dispatcher handles bodies that are too large for a message.
type large struct {
	blobs  *broker.Blobs
	limit  int64               // bytes of all bodies that are kept
	memory *semaphore.Weighted // bytes of those that are held whole

	taken   atomic.Int64 // as it was last read, and what was written since
	takenAt atomic.Int64
}

func newLarge(conn *broker.Conn, cfg Config) large {
	return large{blobs: conn.Blobs(), limit: cfg.MaxBodyBytes, memory: semaphore.NewWeighted(max(cfg.BodyMemory, int64(cfg.MaxPayload)))}
}

// admit refuses a body for which there is no room; percent is of all the room there is.
func (l *large) admit(ctx context.Context, bytes, percent int64, now time.Time) error {
	if now.UnixNano()-l.takenAt.Load() > int64(usageFor) {
		taken, err := l.blobs.Bytes(ctx)
		if err != nil {
			return refusal(err)
		}
		l.taken.Store(taken)
		l.takenAt.Store(now.UnixNano())
	}
	if taken, room := l.taken.Load(), l.limit/100*percent; taken+bytes > room {
		return schemas.NewError(schemas.ResourceExhausted, reasonBodiesFull,
			"there is no room for a body of %d bytes: bodies take %d of the %d bytes that they may; try again later, or raise ledger.max_body_bytes",
			bytes, taken, room).With("size_bytes", bytes)
	}
	l.taken.Add(bytes)
	return nil
}

// hold takes memory for a body; release gives it back.
func (l *large) hold(ctx context.Context, bytes int64) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, wholeAnyway)
	defer cancel()
	if l.memory.Acquire(ctx, bytes) != nil {
		e := schemas.NewError(schemas.Unavailable, schemas.ReasonBusy, "this dispatcher is checking as many large bodies as it may hold; try again")
		e.RetryAfterMS = 1000
		return nil, e
	}
	return func() { l.memory.Release(bytes) }, nil
}

// loadBody reads a body whole. release, which is never nil, gives the memory back that it takes.
func (d *Dispatcher) loadBody(ctx context.Context, b *body) (whole schemas.Payload, release func(), err error) {
	release, err = d.large.hold(ctx, b.ref.Bytes)
	if err != nil {
		return nil, func() {}, err
	}
	r, err := d.open(ctx, b)
	if err != nil {
		release()
		return nil, func() {}, bodyError(err)
	}
	defer func() { _ = r.Close() }()
	whole = make(schemas.Payload, b.ref.Bytes)
	if _, err := io.ReadFull(r, whole); err != nil {
		release()
		return nil, func() {}, bodyError(err)
	}
	return whole, release, nil
}

// bodyError is why a body could not be read, for whoever asked for it.
func bodyError(err error) error {
	if errors.Is(err, broker.ErrNotFound) {
		return schemas.NewError(schemas.NotFound, reasonBodyMissing, "this body is not here, or is no longer kept")
	}
	return refusal(err)
}

// isGone reports whether a body is not there, or not what it was: no other try finds it.
func isGone(err error) bool {
	var e *schemas.Error
	return errors.As(err, &e) && (e.Reason == reasonBodyMissing || e.Code == schemas.DataLoss)
}

// payloadGone is why a task has to end whose payload nobody can read any more; nil for all other errors.
func payloadGone(err error) *schemas.Error {
	if !isGone(err) {
		return nil
	}
	return schemas.NewError(schemas.DataLoss, reasonBodyMissing, "the payload of this task is no longer kept: submit it anew")
}

// body is a payload or result that schemas look at: in memory, or by reference where it is kept, or where it comes from.
type body struct {
	whole schemas.Payload // nil where it is elsewhere
	ref   *schemas.BodyRef
	shelf broker.Shelf
	from  io.ReadSeeker // what is not kept yet; nil for all else

	looked   bool
	skeleton []byte // nil where there is none
}

func (b *body) size() int64 {
	if b.whole == nil && b.ref != nil {
		return b.ref.Bytes
	}
	return int64(len(b.whole))
}

// payloadOf is the payload of a message.
func payloadOf(m *schemas.ReachMessage) *body {
	return &body{whole: m.Payload, shelf: broker.OfTask(m.TaskID), ref: m.PayloadRef}
}

// resultOf is the result that a worker brings.
func resultOf(r *schemas.Result) *body {
	return &body{whole: r.Result, shelf: broker.OfTask(r.TaskID), ref: r.ResultRef}
}

// open reads a body from its start.
func (d *Dispatcher) open(ctx context.Context, b *body) (io.ReadCloser, error) {
	switch {
	case b.whole != nil:
		return io.NopCloser(bytes.NewReader(b.whole)), nil
	case b.from != nil:
		_, err := b.from.Seek(0, io.SeekStart)
		return io.NopCloser(b.from), err
	}
	return d.large.blobs.Reader(ctx, b.shelf, b.ref), nil
}

// inspect lets a schema look at a body: at its skeleton where it is large and that will do, else at the whole of it. refused is what
// the schema says; err says that nobody could look.
func (d *Dispatcher) inspect(ctx context.Context, b *body, s *contract.Schema, check func([]byte) *schemas.Error) (refused *schemas.Error, err error) {
	if b.ref == nil && len(b.whole) <= d.cfg.InlineBytes {
		return check(b.whole), nil
	}
	if err := d.skim(ctx, b); err != nil {
		return nil, err
	}
	if b.skeleton != nil && !s.ReadsStrings() {
		return check(b.skeleton), nil
	}
	if b.whole != nil {
		return check(b.whole), nil
	}
	whole, release, err := d.loadBody(ctx, b)
	defer release()
	if err != nil {
		return nil, err
	}
	return check(whole), nil
}

// skim looks for the skeleton of a body, once. What is no JSON is left for a check of the whole to find.
func (d *Dispatcher) skim(ctx context.Context, b *body) error {
	if b.looked {
		return nil
	}
	r, err := d.open(ctx, b)
	if err != nil {
		return bodyError(err)
	}
	defer func() { _ = r.Close() }()
	skeleton, err := contract.ReadSkeleton(r, mostSkeleton)
	var invalid *schemas.Error
	switch {
	case err == nil:
		b.skeleton = skeleton.Value
	case !errors.Is(err, contract.ErrNoSkeleton) && !(errors.As(err, &invalid) && invalid.Code == schemas.InvalidArgument):
		return bodyError(err)
	}
	b.looked = true
	return nil
}

// misfits are the agents for a message whose own schemas do not take its large payload. It is found out beforehand: nothing looks at
// that much while the view is locked. Of very many agents with schemas of their own, those that are not looked at do not get it.
func (d *Dispatcher) misfits(ctx context.Context, m *schemas.ReachMessage, payload *body) ([]*agent, error) {
	if !d.isLarge(m) {
		return nil, nil
	}
	var misfits []*agent
	for i, a := range d.narrowing(m) {
		n := a.narrow[m.Capability]
		refused, err := d.inspect(ctx, payload, n.input, func(value []byte) *schemas.Error {
			return n.input.CheckInput(m.Capability, n.words.Payload(value))
		})
		if err != nil {
			return nil, err
		}
		if refused != nil || i >= mostNarrowings {
			misfits = append(misfits, a)
		}
	}
	return misfits, nil
}

// narrowing are the agents for a message that have an input schema of their own.
func (d *Dispatcher) narrowing(m *schemas.ReachMessage) []*agent {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	var agents []*agent
	for _, a := range d.view.roster.byCapability[m.Capability] {
		if a.narrow[m.Capability].input != nil {
			agents = append(agents, a)
		}
	}
	return agents
}

// isLarge reports whether a message's payload is, or is going to be, kept apart from it.
func (d *Dispatcher) isLarge(m *schemas.ReachMessage) bool {
	return m.PayloadRef != nil || len(m.Payload) > d.cfg.InlineBytes
}

// shelve puts what is too large for a message of the ledger among the bodies, for as long as the change is kept. The change that it
// returns names the body in its place, to be dropped if the change does not come about.
func (d *Dispatcher) shelve(ctx context.Context, c change) (change, error) {
	switch {
	case c.message != nil && c.payload == nil && c.message.PayloadRef != nil && c.message.Payload != nil:
		m := *c.message
		m.Payload, c.message = nil, &m
	case c.message != nil && (c.payload != nil || len(c.message.Payload) > d.cfg.InlineBytes):
		m := *c.message
		payload := c.payload
		if payload == nil {
			payload = payloadOf(&m)
		}
		ref, err := d.store(ctx, c, payload, payloadShare)
		if err != nil {
			return c, err
		}
		m.Payload, m.PayloadRef, c.message, c.shelved = nil, ref, &m, ref.ID
	case c.record != nil && len(c.record.Result) > d.cfg.InlineBytes:
		r := *c.record
		ref, err := d.store(ctx, c, &body{whole: r.Result}, 100)
		if err != nil {
			return c, err
		}
		r.Result, r.ResultRef, c.record, c.shelved = nil, ref, &r, ref.ID
	}
	return c, nil
}

// store keeps a body among those of a change's task.
func (d *Dispatcher) store(ctx context.Context, c change, b *body, percent int64) (*schemas.BodyRef, error) {
	if err := d.large.admit(ctx, b.size(), percent, d.clock()); err != nil {
		return nil, err
	}
	r, err := d.open(ctx, b)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return d.large.blobs.Write(ctx, broker.OfTask(c.taskID), r, c.ttl)
}

// unshelve forgets the body of a change that did not come about, as far as that is known.
func (d *Dispatcher) unshelve(c change, err error) {
	if c.shelved != "" && !errors.Is(err, broker.ErrUnknownOutcome) {
		d.large.blobs.Drop(broker.OfTask(c.taskID), c.shelved)
	}
}

// copyBody keeps a body of a task for longer, under another name.
func (d *Dispatcher) copyBody(ctx context.Context, taskID string, ref *schemas.BodyRef, ttl time.Duration) (*schemas.BodyRef, error) {
	r := d.large.blobs.Reader(ctx, broker.OfTask(taskID), ref)
	defer func() { _ = r.Close() }()
	return d.large.blobs.Write(ctx, broker.OfTask(taskID), r, ttl)
}
