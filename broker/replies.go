package broker

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// replies brings every single answer to the one who waits for it. One subscription hears them all; an answer's subject ends in the
// number of its request.
type replies struct {
	prefix string // ends in a dot

	mu      sync.Mutex
	last    uint64
	waiting map[string]*exchange       // by number
	parcels map[string]*parcel         // several requests in one message, by the number of that
	beside  map[string][]*func([]byte) // who hears more, by the last word of the subject
	idle    []*exchange
}

// exchange is a request on its way. It is used again once nobody waits for it any more.
type exchange struct {
	number string
	answer chan *nats.Msg // holds one
	timer  *time.Timer
}

// maxIdle bounds the exchanges that are kept for later use.
const maxIdle = 1024

// hearReplies starts to listen. What is sent on the connection afterwards is sent by one who hears its answer.
func (c *Conn) hearReplies() error {
	inbox := c.nc.NewInbox()
	c.replies.prefix, c.replies.waiting = inbox+".", make(map[string]*exchange)
	c.replies.parcels, c.replies.beside = make(map[string]*parcel), make(map[string][]*func([]byte))
	sub, err := c.nc.Subscribe(inbox+".*", c.replies.hear)
	if err == nil {
		err = sub.SetPendingLimits(maxPendingMessages, maxPendingBytes)
	}
	if err != nil {
		return fmt.Errorf("subscribe inbox: %w", c.natsError(context.Background(), err, 0))
	}
	return nil
}

// hear takes an answer. One that nobody waits for any more is dropped, and so is a second one.
func (r *replies) hear(m *nats.Msg) {
	number := strings.TrimPrefix(m.Subject, r.prefix)
	r.mu.Lock()
	p, beside := r.parcels[number], r.beside[number]
	if p == nil {
		r.deliver(number, m)
	}
	r.mu.Unlock()
	switch {
	case p == nil:
		for _, fn := range beside {
			(*fn)(m.Data)
		}
	case noResponders(m):
		p.sendSingly()
	default:
		r.hearMany(p, m)
	}
}

// HearBeside calls fn with what is sent beside answers to requests of this connection, on Request.Beside of that word: one message at a
// time, and nothing else is heard meanwhile. A word with a character beyond a to z and 0 to 9 is the number of no request.
func (c *Conn) HearBeside(word string, fn func(body []byte)) (cancel func()) {
	r, own := &c.replies, &fn
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beside[word] = append(slices.Clone(r.beside[word]), own)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.beside[word] = slices.DeleteFunc(slices.Clone(r.beside[word]), func(o *func([]byte)) bool { return o == own })
	}
}

// deliver brings an answer to the one who waits for it; the caller holds the lock.
func (r *replies) deliver(number string, m *nats.Msg) {
	if x := r.waiting[number]; x != nil {
		delete(r.waiting, number)
		x.answer <- m
	}
}

// hearMany takes answers to requests that went together; a message that is none of theirs is an error, and meant for all.
func (r *replies) hearMany(p *parcel, m *nats.Msg) {
	p.bundler.taken.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.Header.Get(headerBundle) == "" {
		for _, one := range p.requests {
			r.deliver(one.number, m)
		}
		return
	}
	bundled(m, func(place int, answer *nats.Msg) {
		if place >= 0 && place < len(p.requests) {
			r.deliver(p.requests[place].number, answer)
		}
	})
}

// expect gives a parcel its number: what is answered to that is brought to its requests.
func (r *replies) expect(p *parcel) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	p.number = strconv.FormatUint(r.last, 36)
	r.parcels[p.number] = p
}

func (r *replies) forget(p *parcel) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.parcels, p.number)
}

// lose tells the senders of a parcel that it has no answer.
func (r *replies) lose(p *parcel) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range p.requests {
		r.deliver(one.number, nil)
	}
}

// begin makes an exchange that waits for so long at most; 0 is for ever.
func (r *replies) begin(within time.Duration) *exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.free()
	r.last++
	x.number = strconv.FormatUint(r.last, 36)
	r.waiting[x.number] = x
	if within > 0 {
		x.timer.Reset(within)
	}
	return x
}

func (r *replies) free() *exchange {
	n := len(r.idle)
	if n == 0 {
		x := &exchange{answer: make(chan *nats.Msg, 1), timer: time.NewTimer(time.Hour)}
		x.timer.Stop()
		return x
	}
	x := r.idle[n-1]
	r.idle = r.idle[:n-1]
	return x
}

// end forgets an exchange: nobody waits for its answer any more.
func (r *replies) end(x *exchange) {
	x.timer.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, x.number)
	select {
	case <-x.answer: // it came too late
	default:
	}
	if len(r.idle) < maxIdle {
		r.idle = append(r.idle, x)
	}
}

// roundTrip sends a request and waits for the one answer, for so long at most; 0 is until ctx ends. Of the errors, only a refused
// size, a bad subject and a connection that was down before say for certain that the request did not arrive; errUnsent tells the
// last.
func (c *Conn) roundTrip(ctx context.Context, m *nats.Msg, within time.Duration) (*nats.Msg, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !c.nc.IsConnected() {
		return nil, errUnsent
	}
	lost := c.link.down()
	x := c.replies.begin(within)
	defer c.replies.end(x)
	m.Reply = c.replies.prefix + x.number
	if err := c.nc.PublishMsg(m); err != nil {
		return nil, c.natsError(ctx, err, len(m.Data))
	}
	return x.wait(ctx, lost)
}

// wait waits for the answer.
func (x *exchange) wait(ctx context.Context, lost <-chan struct{}) (*nats.Msg, error) {
	select {
	case reply := <-x.answer:
		switch {
		case reply == nil:
			return nil, ErrDisconnected
		case noResponders(reply):
			return nil, ErrNoResponders
		}
		return reply, nil
	case <-x.timer.C:
		return nil, context.DeadlineExceeded
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-lost:
		return nil, ErrDisconnected
	}
}

// noResponders reports whether the server says that nobody has heard the request.
func noResponders(m *nats.Msg) bool { return len(m.Data) == 0 && m.Header.Get(headerStatus) == "503" }
