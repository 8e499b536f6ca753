package dispatcher

import (
	"context"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/dispatcher/stats"
	"github.com/agentreach/agent-reach/schemas"
)

// keepRecent is how long an ended task's result can be published again.
const keepRecent = 10 * time.Second

// hear takes one message of the feed.
func (d *Dispatcher) hear(e broker.Entry) {
	d.view.mu.Lock()
	wanted := d.view.order.Wants(e.Sequence)
	own := d.view.writing[e.Write]
	binds := e.Phase == schemas.PhaseQueued && d.owns(e.TaskID) && (wanted || d.view.stands(e.TaskID, e.Sequence))
	d.view.mu.Unlock()
	if binds {
		d.bodies.keep(e.Sequence, e.Body)
	}
	if wanted {
		d.add(d.event(e, own))
	}
}

// add folds one event, if it is next, and all that it was waited for by.
func (d *Dispatcher) add(event index.Event) {
	d.view.mu.Lock()
	event.At = d.clock()
	ready := d.view.order.Add(event, event.At)
	effects := d.fold(ready)
	d.view.mu.Unlock()
	d.act(effects)
}

// effects are what a fold asks for, once the lock is free.
type effects struct {
	results []news   // this dispatcher publishes them
	queued  []string // tasks of this dispatcher that have begun to wait
}

// fold applies ordered events; the caller holds the lock.
func (d *Dispatcher) fold(ready []index.Event) effects {
	var out effects
	v := d.view
	for _, event := range ready {
		open := v.tasks.Open(event.TaskID) != nil
		v.tasks.Apply(event)
		v.bells.ring(event.TaskID)
		v.slots.Folded(event.Sequence)
		switch {
		case event.Record != nil:
			d.noteCallback(event)
			d.ended(event, open, &out)
		case event.Phase == schemas.PhaseQueued && !event.Foreign && d.owns(event.TaskID):
			out.queued = append(out.queued, event.TaskID)
		}
	}
	return out
}

// ended is told of a task that was open before, or not. What was amended is no news, unless its end was missed: then this is all that
// the ledger still has of it.
func (d *Dispatcher) ended(event index.Event, open bool, out *effects) {
	v, r := d.view, event.Record
	r.Revision = event.Sequence
	v.recent.add(endedAt{event.TaskID, r.FinishedAt.Time}, keepRecent)
	if r.Amended && !open {
		return
	}
	delete(v.contacts, event.TaskID)
	d.experience(&r.Task)
	v.wake(event.TaskID, r)
	n := news{record: r, all: d.owns(event.TaskID), caller: v.callers[event.TaskID]}
	delete(v.callers, event.TaskID)
	if n.all || n.caller != "" {
		out.results = append(out.results, n)
	}
}

// experience notes what the end of a task says of its agent; the caller holds the lock.
func (d *Dispatcher) experience(t *schemas.Task) {
	result, counts := stats.ResultOf(t)
	agent := d.view.roster.agents[t.AgentID]
	if !counts || agent == nil {
		return
	}
	result.Version = agent.record.Registration.Version
	d.view.speeds.Ended(t.AgentID, t.Capability, result)
}

func (d *Dispatcher) act(e effects) {
	for _, n := range e.results {
		if n.record.ResultRef == nil || !d.aside(func(ctx context.Context) { d.publishWhole(ctx, n) }) {
			d.publishResult(n, n.record.Task) // a result that nobody has the time to fetch is named
		}
	}
	for _, taskID := range e.queued {
		d.bindSoon(taskID)
	}
}
