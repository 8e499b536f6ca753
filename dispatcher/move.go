package dispatcher

import (
	"context"
	"slices"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/dispatcher/slots"
	"github.com/agentreach/agent-reach/schemas"
)

// moving says how an open task goes to another agent, or back to the queue.
type moving struct {
	writeID  string
	attempt  int
	lost     int    // agents that were lost with it, one after another, the last of them just now
	tried    string // an agent that has failed: not asked again until a back-off
	avoidNow string // an agent that does not want it now, but may later
	fallback bool   // it turns to its fallback
	streamed streamed
	hop      routed
}

// moveOn gives a task to the best agent that has a free slot, else to the queue. One whose payload is gone ends.
func (d *Dispatcher) moveOn(ctx context.Context, t *index.Task, how moving) (stored, error) {
	m, err := d.withPayload(ctx, t)
	if gone := payloadGone(err); gone != nil {
		return d.failAs(ctx, t, how.writeID, gone)
	}
	if err != nil {
		return stored{}, err
	}
	c := d.decideMove(t, m, how)
	done, err := d.create(ctx, c)
	if err == nil && how.hop.From != "" {
		d.metrics.Moved(how.hop.Rule)
	}
	return done, err
}

// decideMove chooses the agent and reserves its slot.
func (d *Dispatcher) decideMove(t *index.Task, m *schemas.ReachMessage, how moving) change {
	m.Assignment, m.Attempt = waiting(m.Assignment), how.attempt
	m.Assignment.Lost = how.lost
	how.streamed.goOn(m.Assignment)
	if how.tried != "" {
		m.Assignment.Tried = append(m.Assignment.Tried, how.tried)
	}
	if entry := d.fallback(m); how.fallback && entry != nil {
		fallBack(m, entry)
	}
	entry, known := d.dictionary.Load().Entry(m.Capability)

	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	w := d.wishOf(m)
	if how.avoidNow != "" {
		w.want.Tried = append(w.want.Tried, how.avoidNow)
	}
	p := d.makePlan(w)
	c := d.next(t, schemas.PhaseQueued, "", m)
	c.capability = m.Capability
	if p.agent != "" && known {
		c.phase, c.agentID = schemas.PhaseAssigned, p.agent
		d.view.slots.Take(slots.Slot{AgentID: p.agent, Capability: m.Capability})
		m.Assignment = d.assignment(m, entry, p.agent)
		m.Attempt = max(m.Attempt, 1)
	} else {
		d.keepShape(m)
	}
	m.Hops = d.hop(m.Hops, schemas.HopRouted, p.told(how.hop))
	c.writeID = how.writeID
	return c
}

// waiting is what stays of an assignment while its task has no agent: all that was decided at submit, and who has failed.
func waiting(old *schemas.Assignment) *schemas.Assignment {
	if old == nil {
		return &schemas.Assignment{}
	}
	w := *old
	w.AgentID, w.Also, w.InstanceID, w.BegunAt, w.TimeoutHintMS, w.RunTimeoutMS = "", "", "", schemas.Time{}, 0, 0
	w.Tried = slices.Clone(old.Tried)
	return &w
}

// withPayload is a task's whole message for whoever plans next: it is noted which agents do not take its payload.
func (d *Dispatcher) withPayload(ctx context.Context, t *index.Task) (*schemas.ReachMessage, error) {
	m, err := d.messageWhole(ctx, t)
	if err != nil {
		return nil, err
	}
	return m, d.noteMisfits(ctx, t, m)
}

// messageWhole is a task's whole message, with its payload, or the name of it, and all else that only the ledger holds.
func (d *Dispatcher) messageWhole(ctx context.Context, t *index.Task) (*schemas.ReachMessage, error) {
	body := d.bodies.take(t.Sequence)
	if body == nil {
		entry, err := d.entryWithPayload(ctx, t)
		if err != nil {
			return nil, err
		}
		body = entry.Body
	}
	var full schemas.ReachMessage
	if err := schemas.Decode(body, &full); err != nil {
		return nil, err
	}
	if t.Phase == schemas.PhaseBegun {
		full.Assignment = t.Terms.Assignment
	}
	return &full, nil
}

// noteMisfits finds out which agents do not take a large payload, for whoever plans next.
func (d *Dispatcher) noteMisfits(ctx context.Context, t *index.Task, m *schemas.ReachMessage) error {
	misfits, err := d.misfits(ctx, m, payloadOf(m))
	if len(misfits) == 0 {
		return err
	}
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	d.view.contactOf(t).misfits = misfits
	return nil
}

func (d *Dispatcher) entryWithPayload(ctx context.Context, t *index.Task) (broker.Entry, error) {
	if t.Phase == schemas.PhaseBegun {
		return d.ledger.LastOfPhase(ctx, t.ID, schemas.PhaseAssigned)
	}
	return d.ledger.At(ctx, t.Sequence)
}

// retryLater schedules a task for another attempt after a back-off; every agent may be tried again then. One whose payload is gone ends.
func (d *Dispatcher) retryLater(ctx context.Context, t *index.Task, how moving, after time.Duration) (stored, error) {
	m, err := d.withPayload(ctx, t)
	if gone := payloadGone(err); gone != nil {
		return d.failAs(ctx, t, how.writeID, gone)
	}
	if err != nil {
		return stored{}, err
	}
	m.Attempt = how.attempt
	m.NotBefore = schemas.At(d.now().Add(after))
	m.Assignment = waiting(m.Assignment)
	m.Assignment.Tried, m.Assignment.Lost = nil, 0
	how.streamed.goOn(m.Assignment)
	m.Hops = d.hop(m.Hops, schemas.HopRouted, how.hop)
	c := d.next(t, schemas.PhaseScheduled, "", m)
	c.writeID = how.writeID
	return d.write(ctx, c)
}
