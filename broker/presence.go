package broker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// What a beat says.
const (
	beatLive = "live"
	beatGone = "gone"
)

// Presence is which dispatchers live: each sends a beat, and one that has not been heard for a while, by our own clock, is out.
// While nobody can be heard nobody is judged. Callbacks are called one at a time.
type Presence struct {
	conn      *Conn
	id        string
	beat, ttl time.Duration
	sub       *Subscription
	wake      chan struct{} // peers may have changed
	hello     chan struct{} // a new peer should hear of us at once
	stop      context.CancelFunc
	ended     chan struct{}
	once      sync.Once

	telling sync.Mutex // so that nobody is told of what is by then outdated; taken before mu

	mu       sync.Mutex
	heard    map[string]time.Time // the last beat of each other dispatcher
	judged   time.Time            // when that was looked at last
	peers    []string
	onChange []func([]string)
}

// Times of a Presence that names none.
const (
	defaultBeat    = time.Second
	defaultBeatTTL = 3 * time.Second
)

// Presence joins the dispatchers under an id, which has the form of an agent_id: it beats, and listens to the others. beat is 1 s
// if 0, and ttl, after which a silent one is out, 3 s.
func (c *Conn) Presence(id string, beat, ttl time.Duration) (*Presence, error) {
	if err := schemas.CheckAgentID(id); err != nil {
		return nil, err
	}
	beat, ttl = cmp.Or(beat, defaultBeat), cmp.Or(ttl, defaultBeatTTL)
	if beat < 0 || ttl <= beat {
		return nil, fmt.Errorf("join dispatchers: a beat of %s does not fit a time to live of %s", beat, ttl)
	}
	p := &Presence{
		conn: c, id: id, beat: beat, ttl: ttl, heard: make(map[string]time.Time), peers: []string{id},
		wake: make(chan struct{}, 1), hello: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	sub, err := c.Subscribe(subjectDispatcher(Any), p.hear)
	if err != nil {
		return nil, err
	}
	p.sub = sub
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go p.run(ctx)
	if !c.keep(p) {
		p.Close()
		return nil, ErrDisconnected
	}
	return p, nil
}

// Peers are the ids of the dispatchers that live, our own always among them, sorted.
func (p *Presence) Peers() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.peers)
}

// OnChange has fn called with the peers, at once and after every change, in this order. fn must call neither OnChange nor Close.
func (p *Presence) OnChange(fn func(peers []string)) {
	p.telling.Lock()
	defer p.telling.Unlock()
	p.mu.Lock()
	p.onChange = append(p.onChange, fn)
	p.mu.Unlock()
	fn(p.Peers())
}

// Close says goodbye, so that the others need not wait to find out.
func (p *Presence) Close() {
	p.once.Do(func() {
		p.stop()
		<-p.ended
		p.sub.Close()
		p.say(beatGone)
		p.conn.forget(p)
	})
}

func (p *Presence) run(ctx context.Context) {
	defer close(p.ended)
	ticker := time.NewTicker(p.beat)
	defer ticker.Stop()
	p.say(beatLive)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.say(beatLive)
		case <-p.hello:
			p.say(beatLive)
		case <-p.wake:
		}
		p.judge(time.Now())
	}
}

// say is best effort: the next beat follows soon.
func (p *Presence) say(what string) { _ = p.conn.Publish(subjectDispatcher(p.id), []byte(what)) }

// hear takes a beat, or a goodbye.
func (p *Presence) hear(subject string, body []byte) {
	id := subject[strings.LastIndexByte(subject, '.')+1:]
	if id == p.id || schemas.CheckAgentID(id) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, known := p.heard[id]
	switch string(body) {
	case beatLive:
		p.heard[id] = time.Now()
		if !known {
			nudge(p.hello)
		}
	case beatGone:
		delete(p.heard, id)
		nudge(p.wake)
	}
}

// judge puts out who has been silent too long, and tells of a change.
func (p *Presence) judge(now time.Time) {
	p.telling.Lock()
	defer p.telling.Unlock()
	p.mu.Lock()
	p.expire(now, p.conn.Connected())
	peers := livingPeers(p.id, p.heard)
	changed := !slices.Equal(peers, p.peers)
	p.peers = peers
	callbacks := slices.Clone(p.onChange)
	p.mu.Unlock()
	if changed {
		for _, fn := range callbacks {
			fn(slices.Clone(peers))
		}
	}
}

// expire puts out who has been silent too long. Time in which nobody could be heard does not count: that of an outage, and that in which
// this process stood still and did not look. The caller holds the lock.
func (p *Presence) expire(now time.Time, connected bool) {
	stood := time.Duration(0)
	if !p.judged.IsZero() {
		stood = max(0, now.Sub(p.judged)-2*p.beat)
	}
	p.judged = now
	for id, last := range p.heard {
		if last = last.Add(stood); !connected || last.After(now) {
			last = now
		}
		p.heard[id] = last
		if now.Sub(last) > p.ttl {
			delete(p.heard, id)
		}
	}
}

func livingPeers(own string, heard map[string]time.Time) []string {
	peers := []string{own}
	for id := range heard {
		peers = append(peers, id)
	}
	slices.Sort(peers)
	return peers
}

// nudge wakes the reader of a channel with room for one, unless it will wake anyway.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
