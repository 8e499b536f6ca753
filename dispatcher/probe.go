package dispatcher

import (
	"context"
	"errors"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/breaker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/redact"
)

const (
	probeFor     = 6 * time.Second // how long the answer to a probe may take
	probesATick  = 8
	maxBreakers  = 100_000
	probesPerTry = 5 // looks at who is to be probed, within the time after which a failed probe is repeated
)

// probeLoop tries agents that nobody uses, before somebody does: those of this dispatcher's part.
func (d *Dispatcher) probeLoop(ctx context.Context) error {
	tick := max(min(d.cfg.Probes.Again, 5*time.Second)/probesPerTry, 10*time.Millisecond)
	return d.every(ctx, tick, func() {
		for _, p := range d.dueProbes() {
			d.inBackground(func(ctx context.Context) { d.probe(ctx, p) })
		}
	})
}

// probeOrder is an agent to probe now, and with what.
type probeOrder struct {
	agentID    string
	capability string
	payload    schemas.Payload // nil: only its health check
}

func (d *Dispatcher) dueProbes() []probeOrder {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	d.musterProbes()
	var orders []probeOrder
	for range probesATick {
		agentID, found := d.view.prober.Next(d.clock())
		if !found {
			break
		}
		orders = append(orders, d.probeOrder(agentID))
	}
	return orders
}

// musterProbes lets the prober know who is there and this dispatcher's to probe; the caller holds the lock.
func (d *Dispatcher) musterProbes() {
	j, now := d.judgement(), d.clock()
	for id, a := range d.view.roster.agents {
		state := a.state(j)
		if state != schemas.AgentOnline && state != schemas.AgentDegraded || score.Owner(d.view.peers, id) != d.cfg.ID {
			d.view.prober.Leave(id)
			continue
		}
		d.view.prober.Join(id, now)
		for a.record.State == schemas.AgentDegraded && !d.view.prober.Degraded(id) {
			d.view.prober.Failed(id, now) // another dispatcher found it so
		}
	}
}

// probeOrder chooses an input without side effects: the agent's own probe of a capability, or the dictionary's where the agent's own
// schema takes it.
func (d *Dispatcher) probeOrder(agentID string) probeOrder {
	a := d.view.roster.agents[agentID]
	for _, offer := range a.record.Registration.Capabilities {
		if offer.Probe != nil {
			return probeOrder{agentID, offer.ID, offer.Probe}
		}
		if entry, known := d.dictionary.Load().Entry(offer.ID); known && entry.Probe != nil && a.takes(offer.ID, entry.Probe) {
			return probeOrder{agentID, offer.ID, entry.Probe}
		}
	}
	return probeOrder{agentID: agentID}
}

// probe sends one probe and notes what it says of the agent.
func (d *Dispatcher) probe(ctx context.Context, p probeOrder) {
	ctx, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	word := schemas.Control{Do: schemas.DoProbe, Capability: p.capability, Payload: p.payload}
	body, err := d.conn.Request(ctx, broker.SubjectControl(p.agentID), schemas.MustEncode(word))
	var reply schemas.ControlReply
	if err == nil {
		err = schemas.Accept(body, &reply)
	}
	if err == nil && !reply.OK && schemas.AsError(reply.Error).Code != schemas.Unimplemented {
		err = schemas.AsError(reply.Error)
	}
	state := d.probed(p.agentID, err == nil)
	if state == "" {
		return
	}
	d.log.Warn().Err(err).Str("agent_id", p.agentID).Str("capability", p.capability).Str("state", string(state)).
		Msg("probes have changed an agent's state")
	trouble := troubleOf(err)
	if _, err := d.changeAgent(ctx, p.agentID, func(r *broker.AgentRecord) bool { return mark(r, state, trouble) }); err != nil {
		d.log.Warn().Err(err).Str("agent_id", p.agentID).Msg("an agent's state was not stored")
	}
}

// troubleOf says why the probes of an agent fail.
func troubleOf(err error) string {
	if err == nil {
		return ""
	}
	why := err.Error()
	if known := new(schemas.Error); errors.As(err, &known) {
		why = known.Message
	}
	return redact.Excerpt([]byte("its probes fail: "+why), schemas.MaxTroubleBytes)
}

// probed notes the outcome of a probe, and gives the state that the agent's record is to have, if it is to change.
func (d *Dispatcher) probed(agentID string, passed bool) schemas.AgentState {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	a, now := d.view.roster.agents[agentID], d.clock()
	if passed {
		d.view.prober.Passed(agentID, now)
	} else {
		d.view.prober.Failed(agentID, now)
		d.metrics.ProbeFailed()
	}
	degraded := d.view.prober.Degraded(agentID)
	switch {
	case a != nil && degraded && a.record.State == schemas.AgentOnline:
		return schemas.AgentDegraded
	case a != nil && !degraded && a.record.State == schemas.AgentDegraded:
		return schemas.AgentOnline
	}
	return ""
}

// mark changes an agent's record between online and degraded, and notes its trouble; any other state is a person's, and stays.
func mark(r *broker.AgentRecord, state schemas.AgentState, trouble string) bool {
	if r.State == state || r.State != schemas.AgentOnline && r.State != schemas.AgentDegraded {
		return false
	}
	r.State, r.Trouble = state, trouble
	return true
}

// breakerOf names the circuit breaker of a task at its agent.
func breakerOf(agentID, capability string) breaker.Key {
	return breaker.Key{AgentID: agentID, Capability: capability}
}

// reaching tells the circuit breaker whether an attempt reached its agent, once what follows from it is written: a worker brings a result
// until then, and each attempt counts once.
func (d *Dispatcher) reaching(t *index.Task, reached bool, done stored, err error) (stored, error) {
	if err != nil {
		return done, err
	}
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	key, now := breakerOf(t.AgentID, t.Capability), d.clock()
	if reached {
		d.view.breakers.Succeeded(key, now)
	} else if d.view.breakers.Failed(key, now) {
		d.log.Warn().Str("agent_id", t.AgentID).Str("capability", t.Capability).Msg("circuit breaker open")
	}
	return done, nil
}
