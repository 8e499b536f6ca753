package broker

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Bundler sends requests of one kind. What comes while others are on their way goes in one message as soon as one of them is answered,
// and is answered by one: the more there is to do, the less each costs on its way. One that comes alone goes alone, at once. Where no
// dispatcher knows bundles, all go alone. Its methods may be called from any goroutine.
type Bundler struct {
	conn      *Conn
	one, many string
	room      int         // bytes of the requests of a bundle
	taken     atomic.Bool // somebody has answered a bundle

	mu      sync.Mutex
	under   int // messages on their way
	waiting []*bundledRequest
	overdue *time.Timer // runs while anything waits
	alone   time.Time   // until then nobody is asked whether he takes bundles
}

const (
	maxUnder = 2                    // messages on their way before others wait for them
	mostStay = 5 * time.Millisecond // how long a request waits for those before it
	aloneFor = time.Minute
	sharers  = 4 // of so many a bundle has room at least; a larger request shares its message with nobody
)

// bundledRequest is one that waits for its answer.
type bundledRequest struct {
	number string // of its exchange
	body   []byte
	in     *parcel // nil before it is sent
}

// parcel is what goes in one message.
type parcel struct {
	bundler  *Bundler
	number   string // of its answer; empty where one goes alone
	requests []*bundledRequest
	left     int  // those that wait for an answer
	passed   bool // others may go
}

// Bundler sends requests to the subject one, or several at once to the subject many.
func (c *Conn) Bundler(one, many string) *Bundler {
	b := &Bundler{conn: c, one: one, many: many, room: min(maxBundleBytes, int(c.MaxPayload())-headerRoom)}
	b.overdue = time.AfterFunc(time.Hour, b.sendOverdue)
	b.overdue.Stop()
	return b
}

// RequestWithin is Conn.RequestWithin: what is said there of errors holds here.
func (b *Bundler) RequestWithin(ctx context.Context, within time.Duration, body []byte) ([]byte, error) {
	if b.one == "" || b.many == "" {
		return nil, errBadSubject()
	}
	reply, err := b.roundTrip(ctx, within, body)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", b.one, err)
	}
	if err := replyError(reply); err != nil {
		return nil, err
	}
	return reply.Data, nil
}

func (b *Bundler) roundTrip(ctx context.Context, within time.Duration, body []byte) (*nats.Msg, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !b.conn.nc.IsConnected() {
		return nil, errUnsent
	}
	lost := b.conn.link.down()
	x := b.conn.replies.begin(within)
	defer b.conn.replies.end(x)
	r := &bundledRequest{number: x.number, body: body}
	defer b.leave(r)
	if err := b.send(ctx, r); err != nil {
		return nil, err
	}
	return x.wait(ctx, lost)
}

// send sends a request now or, where others are on their way, with the next.
func (b *Bundler) send(ctx context.Context, r *bundledRequest) error {
	b.mu.Lock()
	if b.under >= maxUnder && len(r.body) <= b.room/sharers && (b.alone.IsZero() || time.Now().After(b.alone)) {
		if b.waiting = append(b.waiting, r); len(b.waiting) == 1 {
			b.overdue.Reset(mostStay)
		}
		b.mu.Unlock()
		return nil
	}
	b.pack([]*bundledRequest{r})
	b.mu.Unlock()
	return b.sendAlone(ctx, r)
}

func (b *Bundler) sendAlone(ctx context.Context, r *bundledRequest) error {
	m := &nats.Msg{Subject: b.one, Reply: b.conn.replies.prefix + r.number, Data: r.body}
	return b.conn.natsError(ctx, b.conn.nc.PublishMsg(m), len(r.body))
}

// pack makes a parcel; the caller holds the lock.
func (b *Bundler) pack(requests []*bundledRequest) *parcel {
	p := &parcel{bundler: b, requests: requests, left: len(requests)}
	for _, r := range requests {
		r.in = p
	}
	b.under++
	return p
}

// next packs what waits, as far as it fits, the first that came first; the caller holds the lock.
func (b *Bundler) next() *parcel {
	n, size := 0, 0
	for n < len(b.waiting) && n < maxBundled && size+len(b.waiting[n].body) <= b.room {
		size += len(b.waiting[n].body)
		n++
	}
	if n == 0 {
		return nil
	}
	p := b.pack(slices.Clone(b.waiting[:n]))
	if n > 1 {
		b.conn.replies.expect(p)
	}
	b.waiting = slices.Delete(b.waiting, 0, n)
	if len(b.waiting) == 0 {
		b.overdue.Stop()
	} else {
		b.overdue.Reset(mostStay)
	}
	return p
}

// leave is the end of a request. The first of a parcel that is answered lets the next go; the others may take their time.
func (b *Bundler) leave(r *bundledRequest) {
	b.mu.Lock()
	p := r.in
	if p == nil {
		b.waiting = slices.DeleteFunc(b.waiting, func(o *bundledRequest) bool { return o == r })
		b.mu.Unlock()
		return
	}
	var next *parcel
	if !p.passed {
		p.passed = true
		b.under--
		next = b.next()
	}
	if p.left--; p.left == 0 && p.number != "" {
		b.conn.replies.forget(p)
		if !b.taken.Load() && b.conn.nc.IsConnected() { // it may not be allowed to send them
			b.alone = time.Now().Add(aloneFor)
		}
	}
	b.mu.Unlock()
	b.dispatch(next)
}

func (b *Bundler) sendOverdue() {
	b.mu.Lock()
	next := b.next()
	b.mu.Unlock()
	b.dispatch(next)
}

// dispatch sends a parcel. What cannot be sent is not answered, and its senders hear that it was lost.
func (b *Bundler) dispatch(p *parcel) {
	switch {
	case p == nil:
	case len(p.requests) == 1:
		if b.sendAlone(context.Background(), p.requests[0]) != nil {
			b.conn.replies.lose(p)
		}
	default:
		if b.conn.nc.PublishMsg(b.message(p)) != nil {
			b.conn.replies.lose(p)
		}
	}
}

// message is a parcel of several as the message that they go in.
func (b *Bundler) message(p *parcel) *nats.Msg {
	var sizes, body []byte
	for i, r := range p.requests {
		if i > 0 {
			sizes = append(sizes, ',')
		}
		sizes = strconv.AppendInt(sizes, int64(len(r.body)), 10)
		body = append(body, r.body...)
	}
	return &nats.Msg{
		Subject: b.many, Reply: b.conn.replies.prefix + p.number, Header: nats.Header{headerBundle: {string(sizes)}}, Data: body,
	}
}

// sendSingly sends each of a bundle alone that nobody takes.
func (p *parcel) sendSingly() {
	b := p.bundler
	b.mu.Lock()
	b.alone = time.Now().Add(aloneFor)
	b.mu.Unlock()
	for _, r := range p.requests {
		_ = b.sendAlone(context.Background(), r) // then it is not answered
	}
}

// String is the subject of its requests.
func (b *Bundler) String() string { return b.one }
