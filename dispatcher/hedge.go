package dispatcher

import (
	"context"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/failover"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/dispatcher/slots"
	"github.com/agentreach/agent-reach/schemas"
)

// hedgeAfter is the share of an agent's tasks that end before a realtime one is given to a second agent as well.
const hedgeAfter = .95

// hedgeLoop gives realtime tasks that take unusually long to a second agent as well (Dean and Barroso, "The Tail at Scale", 2013).
// Whoever finishes first ends the task; the other is told to stop.
func (d *Dispatcher) hedgeLoop(ctx context.Context) error {
	return d.every(ctx, d.cfg.Tick, func() {
		for _, t := range d.slow() {
			d.inBackground(func(ctx context.Context) { d.hedge(ctx, t) })
		}
	})
}

// slow grabs this dispatcher's realtime tasks that run longer than nearly all before them.
func (d *Dispatcher) slow() []*index.Task {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	now := d.clock()
	var tasks []*index.Task
	for agentID, load := range d.view.tasks.Busy() {
		for t := range load.Tasks() {
			if t.AgentID == agentID && d.hedgeable(t, now) && d.view.grab(t.ID) {
				tasks = append(tasks, t)
			}
		}
	}
	return tasks
}

func (d *Dispatcher) hedgeable(t *index.Task, now time.Time) bool {
	if t.Terms.QualityOfService != schemas.QoSRealtime || t.Phase != schemas.PhaseAssigned || !t.Idempotent() || t.Also() != "" {
		return false
	}
	series := d.view.speeds.Of(t.AgentID, t.Capability)
	_, known := series.Mean()
	usual := max(series.Quantile(hedgeAfter), leastMean)
	return known && now.Sub(t.At) > usual && t.Terms.Attempt < failover.Attempts(t.Terms.QualityOfService) && d.owns(t.ID)
}

// hedge assigns a task to a second agent that has a free slot; without one it stays as it is.
func (d *Dispatcher) hedge(ctx context.Context, t *index.Task) {
	defer d.view.release(t.ID)
	m, err := d.withPayload(ctx, t)
	if err != nil {
		return
	}
	c, found := d.decideHedge(t, m)
	if !found {
		return
	}
	if _, err := d.writeReserved(ctx, c); !d.lost(err, t, "hedge") {
		d.metrics.Moved("hedge")
		d.log.Debug().Str("task_id", t.ID).Str("agent_id", c.agentID).Str("also", t.AgentID).Msg("hedged")
	}
}

func (d *Dispatcher) decideHedge(t *index.Task, m *schemas.ReachMessage) (change, bool) {
	entry, known := d.dictionary.Load().Entry(t.Capability)
	if !known {
		return change{}, false
	}
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	w := d.wishOf(m)
	w.exactly = true
	w.want.Tried = append(w.want.Tried, t.AgentID)
	for _, a := range d.view.roster.byCapability[t.Capability] {
		if !a.post(t.Capability).mayRepeat() { // while it ran, the first one's result would not count
			w.want.Tried = append(w.want.Tried, a.id())
		}
	}
	p := d.makePlan(w)
	if p.agent == "" {
		return change{}, false
	}
	d.view.slots.Take(slots.Slot{AgentID: p.agent, Capability: t.Capability})
	m.Assignment = d.assignment(m, entry, p.agent)
	m.Assignment.Also = t.AgentID
	streamed{uncounted: true}.goOn(m.Assignment) // the other one goes on sending
	m.Attempt = t.Terms.Attempt + 1
	m.Hops = d.hop(m.Hops, schemas.HopRouted, p.told(routed{Rule: "hedge", From: t.AgentID}))
	return d.next(t, schemas.PhaseAssigned, p.agent, m), true
}

// stopOthers tells the other agent of a hedged task to stop.
func (d *Dispatcher) stopOthers(t *index.Task, agentID string) {
	also := t.Also()
	if also == "" {
		return
	}
	other, sequence := also, t.Previous
	if agentID == also {
		other, sequence = t.Terms.Assignment.AgentID, t.Sequence
	}
	d.tellToStop(other, t.ID, sequence, schemas.ReasonCanceled)
}

// attemptsFor is how often a task may reach an agent. That a second one is not reached, or is lost, costs a hedged task none: the first one
// was at work, and may have been about to finish.
func attemptsFor(t *index.Task) int {
	attempts := failover.Attempts(t.Terms.QualityOfService)
	if t.Also() != "" {
		attempts++
	}
	return attempts
}
