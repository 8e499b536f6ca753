package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/dispatcher/slots"
	"github.com/agentreach/agent-reach/schemas"
)

const (
	onItsWay      = 250 * time.Millisecond // an assignment younger than this is still coming by the feed: a pull does not send it
	missingAtOnce = 64                     // older ones that one pull sends
	headStart     = 250 * time.Millisecond // how long a waiting task is its owner's alone
	lookAhead     = 512                    // waiting tasks that one pull looks at per capability
	pullParallel  = 128                    // ledger requests of one pull at a time
)

// servePull answers a worker that has room: with what is its own and did not arrive, with what it holds and is not its own, and
// with waiting tasks, bound to it on the spot.
func (d *Dispatcher) servePull(ctx context.Context, r *broker.Request) {
	var p schemas.Pull
	if err := schemas.Accept(r.Data, &p); err != nil {
		r.Fail(schemas.AsError(err))
		return
	}
	if err := d.authentic(ctx, r.Agent, p.InstanceID); err != nil {
		r.Fail(schemas.AsError(err))
		return
	}
	if !d.caughtUp(ctx, p.After) {
		r.Fail(schemas.NewError(schemas.Unavailable, "", "this dispatcher is still reading the ledger; ask again"))
		return
	}
	d.rescuePredecessor(r.Agent, p.InstanceID)
	missing, notYours := d.compareHeld(r.Agent, p.Held)
	picked := d.pick(r.Agent, p)
	answer := &pullAnswer{request: r}
	d.sendAgain(ctx, answer, missing)
	d.bindAll(ctx, answer, r.Agent, picked)
	end := schemas.PullEnd{NotYours: notYours, Applied: d.applied()}
	if p.Begun {
		end.Begun = d.begunBy(r.Agent, p)
	}
	answer.end(end)
}

// pullAnswer collects what one pull sends; several goroutines add to it.
type pullAnswer struct {
	request *broker.Request
	mu      sync.Mutex
	count   int
}

func (a *pullAnswer) send(e broker.Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count++
	a.request.ReplyEntry(e)
}

func (a *pullAnswer) end(end schemas.PullEnd) {
	end.Count = a.count
	a.request.ReplyEnd(schemas.MustEncode(end))
}

// begunBy are the tasks that a process has begun and does not hold: the answer that gave it the right to may have been lost.
func (d *Dispatcher) begunBy(agentID string, p schemas.Pull) []schemas.Token {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	var begun []schemas.Token
	for t := range d.view.tasks.Load(agentID).Tasks() {
		own := t.Phase == schemas.PhaseBegun && t.AgentID == agentID && t.Terms.Assignment.InstanceID == p.InstanceID
		if own && !slices.Contains(p.Held, t.Sequence) && !slices.Contains(p.Held, t.Previous) && len(begun) < missingAtOnce {
			begun = append(begun, schemas.Token{TaskID: t.ID, Sequence: t.Sequence})
		}
	}
	return begun
}

// compareHeld compares what a worker holds with what the ledger says is its own.
func (d *Dispatcher) compareHeld(agentID string, held []uint64) (missing []*index.Task, notYours []uint64) {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	has := make(map[uint64]bool, len(held))
	for _, sequence := range held {
		has[sequence] = true
	}
	own := make(map[uint64]bool, len(held))
	now := d.clock()
	for t := range d.view.tasks.Load(agentID).Tasks() {
		own[t.Sequence], own[t.Previous] = true, true
		comes := t.Phase != schemas.PhaseAssigned || now.Sub(t.At) < onItsWay
		if t.AgentID == agentID && !has[t.Sequence] && !has[t.Previous] && !comes {
			missing = append(missing, t)
		}
		if has[t.Sequence] {
			d.view.contactOf(t).confirmed = true
		}
	}
	missing = oldest(missing, missingAtOnce)
	for _, t := range missing {
		d.view.resent(t, now)
	}
	for f := range d.view.tasks.Foreign(agentID) {
		own[f.Sequence], own[f.Previous] = true, true
	}
	for _, sequence := range held {
		if !own[sequence] && sequence <= d.view.order.Applied() {
			notYours = append(notYours, sequence)
		}
	}
	return missing, notYours
}

// pick chooses waiting tasks for an agent, the best first, and reserves their slots. A dispatcher serves its own part of the queue
// first; others' tasks only when they have waited longer, so that dispatchers do not race for the same heads.
func (d *Dispatcher) pick(agentID string, p schemas.Pull) []*index.Task {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	a := d.view.roster.agents[agentID]
	if a == nil || a.state(d.judgement()) != schemas.AgentOnline {
		return nil
	}
	var picked []*index.Task
	for capability, free := range p.Free {
		if a.serves(capability, d.judgement()) {
			picked = append(picked, d.pickOf(a, capability, free)...)
		}
	}
	return picked
}

func (d *Dispatcher) pickOf(a *agent, capability string, free int) []*index.Task {
	p := a.post(capability)
	if p == nil {
		return nil
	}
	most, inFlight := d.view.room(a, p)
	free = min(free, most-inFlight)
	wanted := free + d.excess(a, p, most)
	if wanted <= 0 {
		return nil
	}
	var picked, others []*index.Task
	looked, known := 0, make(absences)
	for t := range d.view.tasks.Waiting(capability, a.id()) {
		if looked++; looked > lookAhead || len(picked) == wanted {
			break
		}
		switch {
		case d.view.moving[t.ID]:
		case !d.owns(t.ID):
			others = append(others, t)
		case d.mayHave(a, t, known):
			picked = append(picked, t)
		}
	}
	for _, t := range d.longer(others, picked) {
		if len(picked) < free && d.mayHave(a, t, known) {
			picked = append(picked, t)
		}
	}
	for _, t := range picked {
		d.view.grab(t.ID)
		d.view.slots.Take(slots.Slot{AgentID: a.id(), Capability: capability})
	}
	return picked
}

// longer are the tasks of others that have waited for a while, and so much longer than the first of our own that they come first wherever
// they are looked for. They fill slots that would be free else: beyond those, two dispatchers would mostly bind the same.
func (d *Dispatcher) longer(others, mine []*index.Task) []*index.Task {
	than := d.clock()
	if len(mine) > 0 {
		than = mine[0].At
	}
	return slices.DeleteFunc(others, func(t *index.Task) bool { return than.Sub(t.At) < headStart })
}

// absences remembers, while the lock is held, whether a share of a split has nobody.
type absences map[share]bool

// share is what the absence of a share depends on.
type share struct{ capability, versions, share string }

// mayHave reports whether an agent passes the hard filters of a waiting task; the caller holds the lock.
func (d *Dispatcher) mayHave(a *agent, t *index.Task, known absences) bool {
	w := d.wishOf(t.Order())
	c := d.candidate(a, w, d.judgement())
	_, may := score.Filter(&c, &w.want)
	if !may || w.share == nil || a.version != nil && w.share.Check(a.version) {
		return may
	}
	if len(w.want.Tried) > 0 || len(w.want.Unfit) > 0 || w.want.Agent != "" { // it is this task's alone
		return len(d.planAll(w.inShare()).chain) == 0
	}
	key := share{t.Capability, t.Terms.Assignment.Versions, t.Terms.Assignment.Share}
	if _, looked := known[key]; !looked {
		known[key] = len(d.planAll(w.inShare()).chain) == 0
	}
	return known[key]
}

// sendAgain sends assignments that did not arrive.
func (d *Dispatcher) sendAgain(ctx context.Context, answer *pullAnswer, missing []*index.Task) {
	var group errgroup.Group
	group.SetLimit(pullParallel)
	for _, t := range missing {
		group.Go(func() error {
			if entry, err := d.ledger.At(ctx, t.Sequence); err == nil {
				answer.send(entry)
			}
			return nil
		})
	}
	_ = group.Wait()
}

// bindAll assigns picked tasks to the agent and sends those that it got. One that somebody else was first with is simply not its.
func (d *Dispatcher) bindAll(ctx context.Context, answer *pullAnswer, agentID string, picked []*index.Task) {
	var group errgroup.Group
	group.SetLimit(pullParallel)
	for _, t := range picked {
		group.Go(func() error {
			if done, err := d.bind(ctx, t, agentID); err == nil {
				answer.send(done.entry)
			}
			return nil
		})
	}
	_ = group.Wait()
}

// bind assigns a waiting task to an agent whose slot is reserved.
func (d *Dispatcher) bind(ctx context.Context, t *index.Task, agentID string) (stored, error) {
	defer d.view.release(t.ID)
	c, err := d.binding(ctx, t, agentID)
	if err != nil {
		d.giveBack(change{phase: schemas.PhaseAssigned, agentID: agentID, capability: t.Capability})
		if gone := payloadGone(err); gone != nil {
			d.lost(d.fail(ctx, t, gone), t, "end")
		}
		return stored{}, err
	}
	done, err := d.writeReserved(ctx, c)
	d.countBind(t, err)
	return done, err
}

// binds counts the waiting tasks that a dispatcher has tried to bind, and how often another was first.
type binds struct{ tried, refused atomic.Int64 }

func (d *Dispatcher) countBind(t *index.Task, err error) {
	d.binds.tried.Add(1)
	var conflict *broker.Conflict
	switch {
	case err == nil:
		d.metrics.Bound(true)
		d.metrics.Waited(t.Capability, d.clock().Sub(t.At))
	case errors.As(err, &conflict):
		d.binds.refused.Add(1)
		d.metrics.Bound(false)
	}
}

// Binds is how many binds were tried, and how many of them another dispatcher was first with.
func (d *Dispatcher) Binds() (tried, refused int64) {
	return d.binds.tried.Load(), d.binds.refused.Load()
}

func (d *Dispatcher) binding(ctx context.Context, t *index.Task, agentID string) (change, error) {
	m, err := d.withPayload(ctx, t)
	if err != nil {
		return change{}, err
	}
	entry, known := d.dictionary.Load().Entry(t.Capability)
	if !known {
		return change{}, d.dictionary.Load().NotFound(t.Capability)
	}
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	a := d.view.roster.agents[agentID]
	if a == nil {
		return change{}, fmt.Errorf("bind %s: %s has gone", t.ID, agentID)
	}
	unfit := d.view.unfit(t.ID)
	if !slices.Contains(unfit, a) && !a.takes(t.Capability, m.Payload) {
		unfit = append(unfit, a)
		d.view.contactOf(t).misfits = unfit
	}
	if slices.Contains(unfit, a) {
		return change{}, fmt.Errorf("bind %s: %s does not take it", t.ID, agentID)
	}
	m.Assignment = d.assignment(m, entry, agentID)
	m.Attempt = max(m.Attempt, 1)
	m.Hops = d.hop(slices.Clip(m.Hops), schemas.HopRouted, routed{Rule: "bound", Preferred: m.PreferAgent, Winner: agentID})
	return d.next(t, schemas.PhaseAssigned, agentID, m), nil
}

// bindSoon asks the bind loop to look at a task that has begun to wait. While very many do, the sweep finds them.
func (d *Dispatcher) bindSoon(taskID string) {
	select {
	case d.toBind <- taskID:
	default:
	}
}

// bindLoop binds tasks of this dispatcher that wait although an agent has a free slot: they were queued while the slot was just
// being freed, or their agent has just come.
func (d *Dispatcher) bindLoop(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case taskID := <-d.toBind:
			if t, agentID := d.pickFor(taskID); agentID != "" {
				d.inBackground(func(ctx context.Context) { _, _ = d.bind(ctx, t, agentID) })
			}
		}
	}
}

// pickFor finds a free agent for the first of this dispatcher's tasks that wait with the given one, and reserves its slot.
func (d *Dispatcher) pickFor(taskID string) (*index.Task, string) {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	named := d.view.tasks.Open(taskID)
	if named == nil || named.Phase != schemas.PhaseQueued {
		return nil, ""
	}
	looked := 0
	for t := range d.view.tasks.Waiting(named.Capability, "") {
		if looked++; looked > maxAhead || t == named {
			break
		}
		if d.owns(t.ID) {
			if agentID := d.freeFor(t); agentID != "" {
				return t, agentID
			}
		}
	}
	return named, d.freeFor(named)
}

// freeFor reserves a slot for a waiting task, if an agent has one; the caller holds the lock.
func (d *Dispatcher) freeFor(t *index.Task) string {
	if d.view.moving[t.ID] {
		return ""
	}
	w := d.wishOf(t.Order())
	w.exactly = true
	p := d.makePlan(w)
	if p.agent == "" {
		return ""
	}
	d.view.grab(t.ID)
	d.view.slots.Take(slots.Slot{AgentID: p.agent, Capability: t.Capability})
	return p.agent
}
