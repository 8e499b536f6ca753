package dispatcher

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/metrics"
	"github.com/agentreach/agent-reach/dispatcher/stats"
	"github.com/agentreach/agent-reach/schemas"
)

// Metrics answers Prometheus: what this dispatcher has done, and how the house stands.
func (d *Dispatcher) Metrics() http.Handler { return d.metrics.Handler(d.log) }

// countEnd counts the end of a task that this dispatcher has just written.
func (d *Dispatcher) countEnd(c change) {
	if c.record == nil || c.record.Amended {
		return
	}
	version := ""
	d.view.mu.Lock()
	if a := d.view.roster.agents[c.record.AgentID]; a != nil {
		version = a.record.Registration.Version
	}
	d.view.mu.Unlock()
	d.metrics.Ended(&c.record.Task, version)
}

// goneFor is how long an agent of which nothing is heard still has series of its own.
const goneFor = 10 * time.Minute

// scene is the house at this moment, for the metrics.
func (d *Dispatcher) scene() metrics.House {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	v, j := d.view, d.judgement()
	h := metrics.House{
		States: make(map[schemas.AgentState]int), OpenTasks: v.tasks.Len(), OpenBreakers: v.breakers.Open(j.now),
		Messages: v.messages, Dispatchers: len(v.peers),
	}
	running := make(map[string]int)
	for _, id := range slices.Sorted(maps.Keys(v.roster.agents)) {
		a := v.roster.agents[id]
		state := a.state(j)
		h.States[state]++
		for _, offer := range a.record.Registration.Capabilities {
			running[offer.ID] += v.tasks.Load(id).Of(offer.ID)
		}
		if len(h.Agents) < metrics.MaxAgents && (state != schemas.AgentOffline || j.now.Sub(a.heard) < goneFor) {
			h.Agents = append(h.Agents, d.portrait(a, j))
		}
	}
	h.Capabilities = d.queues(running)
	return h
}

// portrait is an agent for the metrics; the caller holds the lock.
func (d *Dispatcher) portrait(a *agent, j judgement) metrics.Agent {
	p := metrics.Agent{ID: a.id(), Up: a.state(j) == schemas.AgentOnline, InFlight: d.view.tasks.Load(a.id()).Total()}
	for _, offer := range a.record.Registration.Capabilities {
		series := d.view.speeds.Of(a.id(), offer.ID)
		if ok, n := series.Success(j.now); n > 0 {
			p.Series = append(p.Series, seriesOf(offer.ID, series, ok, n))
		}
	}
	return p
}

func seriesOf(capability string, s *stats.Series, ok, n int) metrics.Series {
	return metrics.Series{
		Capability: capability, Version: s.Version(), Success: float64(ok) / float64(n), P50: s.Quantile(.5), P95: s.Quantile(.95),
	}
}

// queues are what waits and runs, by capability; the caller holds the lock.
func (d *Dispatcher) queues(running map[string]int) []metrics.Capability {
	for id := range d.view.tasks.WaitingCapabilities() {
		running[id] += 0
	}
	all := make([]metrics.Capability, 0, len(running))
	for id, inFlight := range running {
		c := metrics.Capability{ID: id, Queued: d.view.tasks.QueueLen(id), InFlight: inFlight}
		if since := d.view.tasks.Oldest(id); !since.IsZero() {
			c.Oldest = max(0, d.now().Sub(since))
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b metrics.Capability) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
