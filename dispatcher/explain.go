package dispatcher

import (
	"context"

	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

// Explain says where a message would go now, and why: it decides as Submit does, and writes nothing.
func (d *Dispatcher) Explain(ctx context.Context, tenant string, message *schemas.ReachMessage) (*schemas.Explanation, error) {
	m, err := d.accept(tenant, message)
	if err == nil {
		err = timely(m)
	}
	if err != nil {
		return nil, err
	}
	payload, release, err := d.receive(ctx, m, d.staged(ctx, m))
	defer release()
	if err != nil {
		return nil, err
	}
	to, err := d.resolve(ctx, m, payload)
	if err != nil {
		return nil, err
	}
	misfits, err := d.misfits(ctx, m, payload)
	if err != nil {
		return nil, err
	}
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	w := d.wishOf(m)
	w.everybody = true
	w.want.Unfit = append(w.want.Unfit, idsOf(misfits)...)
	e := d.explained(m, w)
	e.Share = to.match.Within.String()
	if e.Rule = string(to.match.Rule); to.match.Route != "" {
		e.Rule = to.match.Route
	}
	return e, nil
}

// explained ranks every agent of the capability; the caller holds the lock.
func (d *Dispatcher) explained(m *schemas.ReachMessage, w wish) *schemas.Explanation {
	agents := d.view.roster.byCapability[w.capability]
	missed := false
	if w.share != nil {
		missed = len(d.planAmong(w.inShare(), agents).chain) == 0
	}
	if w.share != nil && !missed {
		w = w.inShare()
	}
	p := d.planAmong(w, agents)
	heard, presumed, _ := d.candidates(w, agents)
	e := &schemas.Explanation{
		Capability: m.Capability, Strategy: string(w.rank.Strategy), Preferred: p.preferred, Winner: p.agent, Chain: p.chain, ShareMissed: missed && len(p.chain) > 0,
		Candidates: []schemas.ExplainedCandidate{}, LeftOut: []schemas.LeftOut{},
	}
	if len(heard) == 0 {
		heard = presumed
	}
	for _, r := range score.Rank(heard, w.rank) {
		e.Candidates = append(e.Candidates, explainedCandidate(r))
	}
	for _, x := range p.left {
		e.LeftOut = append(e.LeftOut, schemas.LeftOut{AgentID: x.AgentID, Why: string(x.Why)})
	}
	return e
}

func explainedCandidate(r score.Ranked) schemas.ExplainedCandidate {
	c := schemas.ExplainedCandidate{
		AgentID: r.AgentID, Score: round(r.Score), InFlight: r.InFlight, Slots: r.Slots, Factors: r.Factors().ByName(),
	}
	for name, value := range c.Factors {
		c.Factors[name] = round(value)
	}
	return c
}
