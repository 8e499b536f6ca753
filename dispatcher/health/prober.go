// Package health decides which agent is probed next, and what the outcomes say of it. A probe that fails is repeated soon; several
// failures in a row make an agent degraded, and it gets no tasks; one success brings it back.
//
// It is pure: a Prober takes now, and its random numbers come from a source that it is given. Its owner holds a lock, sends the
// probes, and tells it of the outcomes.
package health

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Config says when agents are probed. The zero value is useful.
type Config struct {
	Every    time.Duration // between two probes of random agents, and of one that is degraded: 30 s
	Within   time.Duration // each agent is probed at least once in so long: 10 min
	Again    time.Duration // how soon a probe that failed is repeated: 5 s
	Failures int           // so many in a row, and the agent is degraded: 3
}

func (c Config) withDefaults() Config {
	return Config{
		Every: cmp.Or(c.Every, 30*time.Second), Within: cmp.Or(c.Within, 10*time.Minute), Again: cmp.Or(c.Again, 5*time.Second),
		Failures: cmp.Or(c.Failures, 3),
	}
}

// Prober knows when each agent is to be probed.
type Prober struct {
	cfg    Config
	random *rand.Rand
	agents []*agent  // by agent_id
	draw   time.Time // when a random one is next; zero before the first look
}

// agent is what the probes of one agent have shown.
type agent struct {
	id       string
	due      time.Time // when it is to be probed at the latest
	asked    time.Time // when a probe was sent whose outcome is not known; zero if none is on its way
	failures int       // in a row
}

// New knows no agents. All chance comes from random, which nobody else may use meanwhile.
func New(cfg Config, random *rand.Rand) *Prober {
	return &Prober{cfg: cfg.withDefaults(), random: random}
}

// Join adds an agent that is online. Its first probe falls at random into the time within which each is probed, so that agents
// that come together are not probed together. One that is there already stays as it is.
func (p *Prober) Join(agentID string, now time.Time) {
	place, found := p.find(agentID)
	if found {
		return
	}
	due := now.Add(time.Duration(p.random.Float64() * float64(p.cfg.Within)))
	p.agents = slices.Insert(p.agents, place, &agent{id: agentID, due: due})
}

// Leave drops an agent, and what is known of it.
func (p *Prober) Leave(agentID string) {
	if place, found := p.find(agentID); found {
		p.agents = slices.Delete(p.agents, place, place+1)
	}
}

// Next is an agent to probe now. Whoever asks sends the probe, and tells Passed or Failed; until then, but at most for
// Config.Every, the agent is not named again. One call names one agent: how often the owner calls bounds how many probes are sent
// at a time.
func (p *Prober) Next(now time.Time) (agentID string, found bool) {
	next := p.overdue(now)
	if next == nil {
		next = p.drawn(now)
	}
	if next == nil {
		return "", false
	}
	next.asked = now
	return next.id, true
}

// overdue is the one whose time came first; nil if no time has come.
func (p *Prober) overdue(now time.Time) *agent {
	var first *agent
	for _, a := range p.agents {
		if !a.due.After(now) && !p.underWay(a, now) && (first == nil || a.due.Before(first.due)) {
			first = a
		}
	}
	return first
}

// drawn is a random one of those that are well; nil if it is not time for one, or none is.
func (p *Prober) drawn(now time.Time) *agent {
	if p.draw.IsZero() {
		p.draw = now.Add(p.cfg.Every)
	}
	if now.Before(p.draw) {
		return nil
	}
	p.draw = now.Add(p.cfg.Every)
	var well []*agent
	for _, a := range p.agents {
		if a.failures == 0 && !p.underWay(a, now) {
			well = append(well, a)
		}
	}
	if len(well) == 0 {
		return nil
	}
	return well[p.random.IntN(len(well))]
}

func (p *Prober) underWay(a *agent, now time.Time) bool {
	return !a.asked.IsZero() && now.Sub(a.asked) < p.cfg.Every
}

// Passed notes that an agent has answered as it should, and reports whether that brings it back from being degraded. The success
// of a real task may be told as well.
func (p *Prober) Passed(agentID string, now time.Time) (recovered bool) {
	place, found := p.find(agentID)
	if !found {
		return false
	}
	a := p.agents[place]
	recovered = p.degraded(a)
	*a = agent{id: a.id, due: now.Add(p.cfg.Within)}
	return recovered
}

// Failed notes that a probe has failed, and reports whether the agent is degraded from now on.
func (p *Prober) Failed(agentID string, now time.Time) (degraded bool) {
	place, found := p.find(agentID)
	if !found {
		return false
	}
	a := p.agents[place]
	before := p.degraded(a)
	a.failures++
	a.asked, a.due = time.Time{}, now.Add(p.cfg.Again)
	if p.degraded(a) {
		a.due = now.Add(p.cfg.Every)
	}
	return p.degraded(a) && !before
}

// Degraded reports whether an agent is to get no tasks.
func (p *Prober) Degraded(agentID string) bool {
	place, found := p.find(agentID)
	return found && p.degraded(p.agents[place])
}

func (p *Prober) degraded(a *agent) bool { return a.failures >= p.cfg.Failures }

func (p *Prober) find(agentID string) (place int, found bool) {
	return slices.BinarySearchFunc(p.agents, agentID, func(a *agent, id string) int { return strings.Compare(a.id, id) })
}
