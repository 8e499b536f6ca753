package dispatcher

import (
	"context"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/route"
	"github.com/agentreach/agent-reach/dispatcher/slots"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

// SetRoutes puts a table of routes in place of the one before; nil is none. Tasks that were accepted keep what was decided for them.
func (d *Dispatcher) SetRoutes(table *route.Table) { d.routes.Store(table) }

// ListRoutes is the routes of this dispatcher, in their order.
func (d *Dispatcher) ListRoutes(context.Context) (*schemas.RoutePage, error) {
	return &schemas.RoutePage{Items: d.routes.Load().Routes()}, nil
}

// CheckRoutes reports the capabilities of a table that the dictionary does not know.
func (d *Dispatcher) CheckRoutes(table *route.Table) error { return table.Check(d.dictionary.Load()) }

// Patience is how long a caller of a message waits that says nothing of it, as its route has it; 0 where no route does.
func (d *Dispatcher) Patience(ctx context.Context, tenant string, message *schemas.ReachMessage) time.Duration {
	m := *message
	m.Tenant = tenant
	match, problem := d.match(ctx, &m)
	if problem != nil {
		return 0
	}
	return match.Timeout
}

// target is what a message was found to ask for.
type target struct {
	entry *dictionary.Entry
	match route.Match
}

// resolve finds what a message asks for, by route, capability, alias or meaning, and checks its payload against the contract. What was
// decided is noted in the message's assignment, to stay so.
func (d *Dispatcher) resolve(ctx context.Context, m *schemas.ReachMessage, payload *body) (target, error) {
	match, problem := d.match(ctx, m)
	if problem != nil {
		return target{}, problem
	}
	words := d.dictionary.Load()
	entry, found := words.Entry(match.Capability)
	if !found {
		return target{}, words.NotFound(match.Capability)
	}
	if err := d.takes(ctx, entry, payload); err != nil {
		return target{}, err
	}
	m.Capability = match.Capability
	m.Assignment = decided(match, m)
	m.Assignment.Idempotent = entry.Idempotent
	if next, known := words.Entry(m.Assignment.Fallback); known && d.isLarge(m) && d.takes(ctx, next, payload) != nil {
		m.Assignment.Fallback = "" // a smaller payload is looked at when it turns there
	}
	if m.TimeoutMS == 0 {
		m.TimeoutMS = match.Timeout.Milliseconds()
	}
	if m.RunTimeoutMS == 0 {
		m.RunTimeoutMS = match.RunTimeout.Milliseconds()
	}
	return target{entry, match}, nil
}

// takes is why a capability does not take a payload; nil if it does.
func (d *Dispatcher) takes(ctx context.Context, entry *dictionary.Entry, payload *body) error {
	check := func(value []byte) *schemas.Error { return entry.Input.CheckInput(entry.ID, value) }
	refused, err := d.inspect(ctx, payload, entry.Input, check)
	if refused != nil {
		return refused
	}
	return err
}

// decided is what a match fixes for the life of a task.
func decided(match route.Match, m *schemas.ReachMessage) *schemas.Assignment {
	a := &schemas.Assignment{Route: match.Route, Strategy: string(match.Strategy), Versions: match.Versions.String(), Share: match.Within.String()}
	if match.Sticky != m.MsgID && match.Sticky != m.TaskID {
		a.Sticky = match.Sticky
	}
	if match.Fallback != nil {
		a.Fallback, a.FallbackStrategy = match.Fallback.Capability, match.Fallback.Strategy
	}
	return a
}

// route decides where a new task goes and reserves the slot it takes. Where no agent of its target is there, its fallback is tried.
func (d *Dispatcher) route(m *schemas.ReachMessage, to target, misfits []*agent) (change, error) {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	hop := routed{Rule: string(to.match.Rule), Route: to.match.Route, Share: to.match.Share, Meant: to.match.Meant}
	hop.Similarity = round(to.match.Similarity)
	w := d.wishOf(m)
	w.want.Unfit = append(w.want.Unfit, idsOf(misfits)...)
	p := d.makePlan(w)
	if p.online == 0 {
		if entry := d.fallback(m); entry != nil {
			fallBack(m, entry)
			hop.Rule, to.entry = "fallback", entry
			p = d.makePlan(d.wishOf(m))
		}
	}
	if p.agent != "" && d.isBehind(m, p) {
		p.agent = ""
	}
	if err := d.refuse(m, p); err != nil {
		return change{}, err
	}
	if to.match.Route != "" {
		d.metrics.RouteHit(to.match.Route)
	}
	if p.missed {
		d.metrics.ShareMissed(to.match.Route)
	}
	c := change{
		taskID: m.TaskID, capability: m.Capability, message: m, ttl: ttl(m.ForgetAt.Time, m.SubmittedAt.Time, 0), phase: schemas.PhaseQueued,
	}
	switch {
	case m.NotBefore.After(m.SubmittedAt.Time):
		c.phase = schemas.PhaseScheduled
	case p.agent != "":
		c.phase, c.agentID = schemas.PhaseAssigned, p.agent
		d.view.slots.Take(slots.Slot{AgentID: p.agent, Capability: m.Capability})
		m.Attempt = 1
		m.Assignment = d.assignment(m, to.entry, p.agent)
	}
	if p.agent == "" || c.phase == schemas.PhaseScheduled {
		d.keepShape(m)
	}
	m.Assignment.Chain = p.chain
	m.Hops = d.hop(m.Hops, schemas.HopRouted, p.told(hop))
	m.Hops = d.hop(m.Hops, schemas.HopPublished, nil)
	return c, nil
}

// maxAhead is how many waiting tasks a new one is compared with.
const maxAhead = 8

// isBehind reports whether a task waits that goes before a new one and that the agent of its plan could take: then the new one waits
// as well, and the slot is the other's. Where there is room for all who wait, nobody loses anything to the new one. The caller holds
// the lock.
func (d *Dispatcher) isBehind(m *schemas.ReachMessage, p plan) bool {
	a := d.view.roster.agents[p.agent]
	if a == nil || p.room > d.view.tasks.QueueLen(m.Capability) || !d.view.tasks.Before(m.Capability, m.PriorityOrDefault()) {
		return false
	}
	looked, known := 0, make(absences)
	for t := range d.view.tasks.Waiting(m.Capability, "") {
		if looked++; looked > maxAhead {
			return false
		}
		if d.mayHave(a, t, known) {
			return true
		}
	}
	return false
}

// fallback is the capability that a message may turn to, once, and whose contract takes its payload; nil if there is none.
func (d *Dispatcher) fallback(m *schemas.ReachMessage) *dictionary.Entry {
	if m.Assignment == nil || m.Assignment.Fallback == "" {
		return nil
	}
	entry, known := d.dictionary.Load().Entry(m.Assignment.Fallback)
	if !known || m.Payload != nil && !d.isLarge(m) && entry.Input.CheckInput(entry.ID, m.Payload) != nil {
		return nil
	}
	return entry
}

// fallBack turns a message to its fallback. The versions and the agents of the target mean nothing there.
func fallBack(m *schemas.ReachMessage, entry *dictionary.Entry) {
	m.Capability = entry.ID
	m.Assignment = &schemas.Assignment{
		Route: m.Assignment.Route, Strategy: m.Assignment.FallbackStrategy, Sticky: m.Assignment.Sticky, Idempotent: entry.Idempotent,
		NextChunk: m.Assignment.NextChunk, Restarts: m.Assignment.Restarts,
	}
}
