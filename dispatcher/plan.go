package dispatcher

import (
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

// chainLength is how many agents a plan names: the best, and those to turn to after it.
const chainLength = 3

// wish is what a task wants of an agent.
type wish struct {
	taskID     string
	capability string
	prefer     string
	pinned     bool                // prefer and nobody else
	versions   *semver.Constraints // nil: any
	avoid      []string            // tried before
	payload    schemas.Payload     // nil where it is not at hand: then it is looked at when the task is bound
}

// plan is where a task goes: Chain the agents to try, in order; Agent the one that takes it now, empty if all are full.
type plan struct {
	chain  []string
	agent  string
	online int // agents that could run it, full or not
	slots  int // theirs together
	taken  int
}

// makePlan chooses among the agents that can run a task now. Those heard since this dispatcher started go before those it only
// presumes alive; the preferred one before all.
func (v *view) makePlan(w wish, j judgement, excess func(agentID string, slots int) int) plan {
	candidates, presumed := v.candidates(w, j)
	if len(candidates) == 0 {
		candidates = presumed
	}
	var p plan
	for _, c := range score.Rank(candidates, score.Request{Strategy: score.LeastConcurrency, Key: w.taskID, Prefer: w.prefer}) {
		p.online++
		p.slots += c.Slots
		p.taken += min(c.InFlight, c.Slots)
		if len(p.chain) < chainLength {
			p.chain = append(p.chain, c.AgentID)
		}
		if p.agent == "" && c.InFlight < c.Slots+excess(c.AgentID, c.Slots) {
			p.agent = c.AgentID
		}
	}
	return p
}

func (v *view) candidates(w wish, j judgement) (heard, presumed []score.Candidate) {
	for _, a := range v.roster.byCapability[w.capability] {
		if !w.fits(a) || !a.serves(w.capability, j) {
			continue
		}
		c := v.candidate(a, w.capability)
		if a.heard.IsZero() {
			presumed = append(presumed, c)
		} else {
			heard = append(heard, c)
		}
	}
	return heard, presumed
}

// candidate counts what the agent has in flight, own unfolded writes included. Where all capabilities together are bounded more
// tightly than this one, the tighter bound stands.
func (v *view) candidate(a *agent, capability string) score.Candidate {
	r := &a.record.Registration
	load := v.tasks.Load(a.id())
	of := load.Of(capability) + v.slots.byAgent[slot{a.id(), capability}]
	all := load.Total() + v.slots.total[a.id()]
	slots, total := r.Slots(capability), r.TotalSlots()
	if total-all < slots-of {
		return score.Candidate{AgentID: a.id(), Load: score.Load{Slots: total, InFlight: all}}
	}
	return score.Candidate{AgentID: a.id(), Load: score.Load{Slots: slots, InFlight: of}}
}

func (w wish) fits(a *agent) bool {
	if w.pinned && w.prefer != "" && a.id() != w.prefer {
		return false
	}
	for _, id := range w.avoid {
		if id == a.id() {
			return false
		}
	}
	if !a.accepts(w.capability, w.payload) {
		return false
	}
	if w.versions == nil {
		return true
	}
	version, err := semver.NewVersion(a.record.Registration.Version)
	return err == nil && w.versions.Check(version)
}

// versionRange is the range that a message asks for; nil if any version will do.
func versionRange(m *schemas.ReachMessage) (*semver.Constraints, error) {
	text := m.Version
	if text == "" && m.MinVersion != "" {
		text = ">=" + m.MinVersion
	}
	if text == "" {
		return nil, nil
	}
	constraints, err := semver.NewConstraint(text)
	if err != nil {
		return nil, schemas.NewError(schemas.InvalidArgument, "BAD_VERSION", "the version range is not valid: write it like >=1.2.0, <2").
			With("field", "/version")
	}
	return constraints, nil
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

// attempts is how often a task may reach an agent.
func attempts(qos schemas.QualityOfService) int {
	switch qos {
	case schemas.QoSRealtime:
		return 2
	case schemas.QoSComplete:
		return 5
	}
	return 3
}

// defaultHint is how long a task takes where nobody says.
const defaultHint = 20 * time.Second

// runLimit bounds one execution: what the caller asked for, else the agent's hint or the dictionary's times the factor of the
// quality of service.
func runLimit(m *schemas.ReachMessage, offer *schemas.Offer, entry schemas.Capability) time.Duration {
	if m.RunTimeoutMS > 0 {
		return schemas.Duration(m.RunTimeoutMS)
	}
	hint := defaultHint
	if entry.TimeoutHintMS > 0 {
		hint = schemas.Duration(entry.TimeoutHintMS)
	}
	if offer != nil && offer.TimeoutHintMS > 0 {
		hint = schemas.Duration(offer.TimeoutHintMS)
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
