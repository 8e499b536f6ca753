package desk

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/align"
)

// Bounds of a place.
const (
	maxArrivals = 1024 // assignments that wait for a claim
	maxEnded    = 1024 // tasks whose end is remembered
	maxForeign  = 256  // sequences that the agent holds and should not
)

// place is what the desk keeps for one process of one agent.
type place struct {
	desk         *Desk
	agentID      string
	instance     string
	registration *schemas.Registration
	said, feed   *broker.Subscription
	words        map[string]*align.Pair // by capability, of those that the agent spells in another way
	after        atomic.Uint64          // the highest sequence that an answer has told

	mu       sync.Mutex
	arrivals map[uint64]arrival // by sequence
	jobs     map[string]*job    // handed to the agent, by task
	ended    ended
	left     ended             // what the agent no longer has, by its own word or because a dispatcher has had the last one
	foreign  map[uint64]*order // not the agent's, though it said that it holds them
	answers  answers
	heard    time.Time
	gone     bool // the caller of its last claim went away, and nothing was heard since
	visits   map[*visit]struct{}
	chunks   *broker.ChunkWriters // nil before the first chunk
	changed  chan struct{}        // closed and made anew when a claim should look at the place
	looks    int                  // how often claims were told to ask a dispatcher
	draining bool
	closed   bool
}

// arrival is an assignment that nobody has claimed yet.
type arrival struct {
	entry broker.Entry
	at    time.Time
	write string // names its begin, once one was tried
	named bool   // the claim that it was begun for has a name: it may have been asked again elsewhere
	begun uint64 // the token, where it was begun for a claim that has gone since
}

func (d *Desk) newPlace(r *schemas.Registration) *place {
	p := &place{
		desk: d, agentID: r.AgentID, instance: r.InstanceID, registration: r, heard: d.cfg.Now(),
		arrivals: make(map[uint64]arrival), jobs: make(map[string]*job), foreign: make(map[uint64]*order),
		words: make(map[string]*align.Pair), visits: make(map[*visit]struct{}), changed: make(chan struct{}), ended: newEnded(), left: newEnded(), answers: newAnswers(),
	}
	for capability, alignment := range r.Alignments() {
		p.words[capability] = align.New(alignment)
	}
	return p
}

// listen hears what dispatchers say to the agent, until close.
func (p *place) listen() (err error) {
	if p.said, err = p.desk.conn.Serve(broker.SubjectControl(p.agentID), p.control, broker.Plain()); err != nil {
		return unreachable()
	}
	if p.feed, err = p.desk.conn.FollowAssigned(p.agentID, p.arrive); err != nil {
		p.said.Close()
		return unreachable()
	}
	return nil
}

// close ends the place: open claims are answered, and nobody answers for the agent here any more.
func (p *place) close() {
	p.mu.Lock()
	was, chunks := p.closed, p.chunks
	p.closed = true
	for _, j := range p.jobs {
		j.leave()
	}
	p.mu.Unlock()
	if was {
		return
	}
	p.wake(false)
	p.feed.Close()
	p.said.Close()
	if chunks != nil {
		chunks.Close()
	}
}

// hear notes that the agent has spoken.
func (p *place) hear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard, p.gone = p.desk.cfg.Now(), false
}

// silentSince is how long nothing was heard of the agent; an open claim is heard all the time.
func (p *place) silentSince(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.visits) > 0 {
		p.heard = now
	}
	return now.Sub(p.heard)
}

// wake makes open claims look at the place, and ask a dispatcher as well.
func (p *place) wake(look bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ring(look)
}

// ring is wake for whoever holds the lock.
func (p *place) ring(look bool) {
	if look {
		p.looks++
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

// arrive takes an assignment, by whichever way it comes.
func (p *place) arrive(e broker.Entry) {
	if e.Phase != schemas.PhaseAssigned || e.Agent != p.agentID || e.Sequence == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, known := p.arrivals[e.Sequence]
	if known || p.ended.has(e.TaskID, e.Sequence) || len(p.arrivals) >= maxArrivals {
		return
	}
	p.arrivals[e.Sequence] = arrival{entry: e, at: p.desk.cfg.Now()}
	p.ring(false)
}

// learn notes the sequence that an answer has told.
func (p *place) learn(sequence uint64) {
	for known := p.after.Load(); known < sequence; known = p.after.Load() {
		if p.after.CompareAndSwap(known, sequence) {
			return
		}
	}
}

// publish tells all dispatchers; what an outage swallows is told again with the next word.
func (p *place) publish(subject string, v any) {
	_ = p.desk.conn.Publish(subject, schemas.MustEncode(v))
}

// receipt tells all dispatchers that the agent lives and works on tasks.
func (p *place) receipt(tasks []schemas.ReceiptTask) {
	if tasks == nil {
		tasks = []schemas.ReceiptTask{}
	}
	p.publish(broker.SubjectReceipt(p.agentID), schemas.Receipt{
		AgentID: p.agentID, InstanceID: p.instance, Time: schemas.At(p.desk.cfg.Now()), Tasks: tasks,
	})
}

// ask asks for assignments, takes the answer, and gives its end.
func (p *place) ask(ctx context.Context, within time.Duration, subject string, question any) (end schemas.PullEnd, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	body, err := p.desk.conn.RequestEntries(ctx, subject, schemas.MustEncode(question), p.arrive)
	if err != nil {
		return end, p.refused(err)
	}
	if err := schemas.Decode(body, &end); err != nil {
		return end, unreachable()
	}
	p.notYours(end.NotYours, end.Applied)
	return end, nil
}

// refused is what the agent hears of a dispatcher's error. One that says that another process serves the agent ends the place.
func (p *place) refused(err error) error {
	e := asRefusal(err)
	if e.Code == schemas.FailedPrecondition || e.Code == schemas.NotFound {
		p.desk.leave(p)
	}
	return e
}
