package dispatcher

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/route"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/dispatcher/stats"
	"github.com/agentreach/agent-reach/schemas"
)

// chainLength is how many agents a plan names: the best, and those to turn to after it.
const chainLength = 3

// wish is what a task wants of an agent.
type wish struct {
	taskID     string
	capability string
	want       score.Want      // the hard filters
	share      score.Versions  // of a split by version: one more filter, while an agent is there that passes it; nil: none
	rank       score.Request   // how to order those that pass
	hint       time.Duration   // the dictionary's, of how long it takes; 0: none
	payload    schemas.Payload // nil where it is not at hand: then it is looked at when the task is bound
	fitting    *fitting
	exactly    bool // no agent beyond its slots
	everybody  bool // look at each agent, and remember why it was left out
}

// plan is where a task goes: chain the agents to try, in order; agent the one that takes it now, empty if all are full.
type plan struct {
	chain  []string
	agent  string
	online int // agents that could run it, full or not, of those that were looked at; those too that a breaker keeps away for now
	slots  int // theirs together
	taken  int
	room   int // tasks that they would take now, beyond their slots as well
	best   []score.Ranked
	left   []exclusion

	missed    bool   // nobody of the task's share of a split is there
	preferred string // the agent that the caller would rather have; why it is none of the candidates is in left
}

// exclusion is an agent that was left out, and why.
type exclusion struct {
	AgentID string    `json:"agent_id"`
	Why     score.Why `json:"why"`
}

// maxExclusions bounds what a plan remembers of those it left out.
const maxExclusions = 16

const (
	sampleAbove = 64                    // up to so many agents of a capability are all looked at
	sampleSize  = 32                    // of more, so many; the best of 32 is hardly worse than the best of all
	fullFor     = 10 * time.Millisecond // how long a capability counts as full after all its agents were found so
)

// makePlan chooses among the agents that can run a task now. One that fell to a share of a split goes to an agent of the share; where
// none can run it, to the others: a split is how a version is tried, never why a task fails.
func (d *Dispatcher) makePlan(w wish) plan {
	if w.share != nil {
		if p := d.planAll(w.inShare()); len(p.chain) > 0 {
			return p
		}
	}
	p := d.planAll(w)
	p.missed = w.share != nil && len(p.chain) > 0
	return p
}

// inShare is the wish with its share as a filter like others.
func (w wish) inShare() wish {
	w.want.Versions, w.share = append(slices.Clip(w.want.Versions), w.share), nil
	return w
}

// planAll chooses among all agents that pass the filters. Where very many could, it looks at a sample that the task's id draws,
// and at all of them only if the sample has no room.
func (d *Dispatcher) planAll(w wish) plan {
	v := d.view
	agents := v.roster.byCapability[w.capability]
	if w.everybody || len(agents) <= sampleAbove || w.rank.Strategy == score.Sticky || w.rank.Strategy == score.RoundRobin {
		return d.planAmong(w, agents)
	}
	if p := d.planAmong(w, d.drawn(w, agents)); p.agent != "" || p.online > 0 && d.clock().Sub(v.fullAt[w.capability]) < fullFor {
		return p
	}
	p := d.planAmong(w, agents)
	if p.agent == "" {
		v.fullAt[w.capability] = d.clock()
	}
	return p
}

// drawn is a sample of the agents of a capability, with the one that is preferred, if it is one of them.
func (d *Dispatcher) drawn(w wish, agents []*agent) []*agent {
	drawn := sample(agents, w.taskID)
	preferred := d.view.roster.agents[w.rank.Prefer]
	if preferred != nil && slices.Contains(agents, preferred) && !slices.Contains(drawn, preferred) {
		drawn[0] = preferred
	}
	return drawn
}

// sample draws sampleSize different agents: it starts at a random place and goes on by a step that has no divisor in common with
// their number.
func sample(agents []*agent, key string) []*agent {
	n := uint64(len(agents))
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	start, step := h.Sum64()%n, h.Sum64()/n%(n-1)+1
	for gcd(step, n) != 1 {
		step++
	}
	drawn := make([]*agent, sampleSize)
	for i := range drawn {
		drawn[i] = agents[start]
		start = (start + step) % n
	}
	return drawn
}

func gcd(a, b uint64) uint64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// planAmong filters and ranks agents. Those heard since this dispatcher started go before those it only presumes alive.
func (d *Dispatcher) planAmong(w wish, agents []*agent) plan {
	heard, presumed, left := d.candidates(w, agents)
	if len(heard) == 0 {
		heard = presumed
	}
	p := plan{online: len(heard), left: left}
	for _, x := range left {
		if x.Why == score.WhyBreaker {
			p.online++
		}
	}
	for i := range heard {
		p.slots += heard[i].Slots
		p.taken += min(heard[i].InFlight, heard[i].Slots)
		p.room += max(0, heard[i].Slots+heard[i].Excess-heard[i].InFlight)
	}
	choice := score.Choose(chainLength, heard, w.rank)
	for _, r := range choice.Chain {
		p.chain = append(p.chain, r.AgentID)
		p.best = append(p.best, r.Apart())
	}
	if choice.Free != nil {
		p.agent = choice.Free.AgentID
	}
	if p.preferred = w.rank.Prefer; p.preferred != "" {
		p.left = d.withPreferred(w, heard, p.left)
	}
	return p
}

// withPreferred adds the preferred agent to those left out, if it is neither among them nor among the candidates.
func (d *Dispatcher) withPreferred(w wish, candidates []score.Candidate, left []exclusion) []exclusion {
	name := w.rank.Prefer
	if slices.ContainsFunc(candidates, func(c score.Candidate) bool { return c.AgentID == name }) ||
		slices.ContainsFunc(left, func(x exclusion) bool { return x.AgentID == name }) {
		return left
	}
	return append(left, exclusion{name, d.whyNot(w, name)})
}

// whyNot is why an agent is no candidate.
func (d *Dispatcher) whyNot(w wish, name string) score.Why {
	a := d.view.roster.agents[name]
	switch {
	case a == nil:
		return score.WhyUnknown
	case a.record.Registration.Offer(w.capability) == nil:
		return score.WhyCapability
	}
	c := d.candidate(a, w, d.judgement())
	if why, may := score.Filter(&c, &w.want); !may {
		return why
	}
	if !a.post(w.capability).accepts(w.payload) {
		return score.WhySchema
	}
	return score.WhyPresumed
}

// candidates are the agents that pass the hard filters, in the view's own memory: they are good until the next call.
func (d *Dispatcher) candidates(w wish, agents []*agent) (heard, presumed []score.Candidate, left []exclusion) {
	j := d.judgement()
	heard = slices.Grow(d.view.candidates[:0], len(agents)+1)
	for _, a := range agents {
		heard = heard[:len(heard)+1]
		c := &heard[len(heard)-1]
		d.picture(c, a, &w, j)
		why, may := score.Filter(c, &w.want)
		if may && !a.post(w.capability).accepts(w.payload) {
			why, may = score.WhySchema, false
		}
		switch {
		case may && !a.heard.IsZero():
			continue
		case may:
			presumed = append(presumed, *c)
		case w.everybody || len(left) < maxExclusions:
			left = append(left, exclusion{c.AgentID, why})
		}
		heard = heard[:len(heard)-1]
	}
	d.view.candidates = heard[:0]
	return heard, presumed, left
}

// candidate is an agent as a task sees it, own unfolded writes included.
func (d *Dispatcher) candidate(a *agent, w wish, j judgement) score.Candidate {
	var c score.Candidate
	d.picture(&c, a, &w, j)
	return c
}

func (d *Dispatcher) picture(c *score.Candidate, a *agent, w *wish, j judgement) {
	*c = score.Candidate{AgentID: a.id(), Priority: a.record.Registration.Priority}
	c.State, c.Version, c.Groups, c.Streams = a.state(j), a.version, a.record.Registration.Groups, a.streams
	c.Fetches, c.Average, c.Heard, c.Weight = a.fetches, a.beat.LoadAvg, a.heard, a.costWeight
	p := a.post(w.capability)
	if p == nil {
		return
	}
	c.Offers = a.offers(w.capability)
	c.Broken = !d.view.breakers.Allows(breakerOf(a.id(), w.capability), j.now)
	c.Slots, c.InFlight = d.view.room(a, p)
	c.Fit = w.fitting.of(p.narrow)
	c.PerCall = p.offer.CostPerCall
	c.Median, c.Hint = schemas.Duration(p.offer.ExpectedLatencyMS), cmp.Or(schemas.Duration(p.offer.TimeoutHintMS), w.hint)
	series := d.view.series(a, p)
	c.Successes, c.Results = series.Success(j.now)
	mean, known := series.Mean()
	if known {
		c.Median = mean
	}
	if !w.exactly {
		c.Excess = excess(mean, known, c.Slots, d.cfg.ExcessWait, d.cfg.MaxExcess)
	}
}

// wishOf is what a message asks for, as it was decided at its submit. The caller holds the lock.
func (d *Dispatcher) wishOf(m *schemas.ReachMessage) wish {
	w := wish{
		taskID: m.TaskID, capability: m.Capability, payload: m.Payload, fitting: d.fittingOf(m),
		want: score.Want{Large: d.isLarge(m)},
		rank: score.Request{
			Strategy: d.cfg.Strategy, Weights: d.cfg.Weights, Key: m.TaskID, Sticky: m.MsgID, Prefer: m.PreferAgent,
			Stream: m.ResponseMode == schemas.ModeStream,
			Turn:   d.turn.Add(1), Now: d.clock(), Interval: d.cfg.HeartbeatInterval, TTL: d.cfg.HeartbeatTTL,
		},
	}
	if entry, known := d.dictionary.Load().Entry(m.Capability); known {
		w.hint = schemas.Duration(entry.TimeoutHintMS)
	}
	if w.want.Large {
		w.payload, w.fitting = nil, nil // what is so large was looked at before
	}
	if m.WaitForAgent {
		w.want.Agent = m.PreferAgent
	}
	w.want.Stream = m.RequireMode && m.ResponseMode == schemas.ModeStream
	if m.Assignment != nil {
		d.remember(&w, m.Assignment)
	}
	w.want.Unfit = idsOf(d.view.unfit(m.TaskID))
	return w
}

// remember adds what was decided at submit.
func (d *Dispatcher) remember(w *wish, a *schemas.Assignment) {
	w.want.Tried = slices.Clone(a.Tried)
	if a.Strategy != "" {
		w.rank.Strategy = score.Strategy(a.Strategy)
	}
	if a.Route != "" {
		if weights := d.routes.Load().Weights(a.Route); weights != nil {
			w.rank.Weights = *weights
		}
	}
	if a.Sticky != "" {
		w.rank.Sticky = a.Sticky
	}
	if versions, err := route.ParseVersions(a.Versions); err == nil && !versions.All() {
		w.want.Versions = []score.Versions{versions}
	}
	if share, err := route.ParseVersions(a.Share); err == nil && !share.All() {
		w.share = share
	}
}

// factor is how much longer than its hint an execution may take.
func factor(qos schemas.QualityOfService) float64 {
	switch qos {
	case schemas.QoSRealtime:
		return 1
	case schemas.QoSComplete:
		return 3
	}
	return 1.5
}

// defaultHint is how long a task takes where nobody says.
const defaultHint = 20 * time.Second

// hintOf is how long an execution is expected to take: what the agent says, or else the dictionary, corrected by what the agent's last
// tasks have shown. A task that takes longer is marked slow.
func hintOf(offer *schemas.Offer, entry schemas.Capability, seen *stats.Series) time.Duration {
	hint := defaultHint
	if entry.TimeoutHintMS > 0 {
		hint = schemas.Duration(entry.TimeoutHintMS)
	}
	if offer != nil && offer.TimeoutHintMS > 0 {
		hint = schemas.Duration(offer.TimeoutHintMS)
	}
	return seen.Timeout(hint)
}

// runLimit bounds one execution: what the caller asked for, else the hint times the factor of the quality of service.
func runLimit(m *schemas.ReachMessage, hint time.Duration) time.Duration {
	if m.RunTimeoutMS > 0 {
		return schemas.Duration(m.RunTimeoutMS)
	}
	return time.Duration(float64(hint) * factor(m.QualityOfService))
}

// leastMean is the mean of tasks that are over at once: their times are only known to the millisecond.
const leastMean = time.Millisecond

// excess is how many tasks beyond its slots an agent may get: as many as would wait less than wait, at its mean time per task.
func excess(mean time.Duration, known bool, slots int, wait time.Duration, limit int) int {
	if !known {
		return 0
	}
	mean = max(mean, leastMean)
	return min(limit, int(float64(wait)/float64(mean)*float64(slots)))
}
