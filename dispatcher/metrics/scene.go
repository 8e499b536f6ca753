package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentreach/agent-reach/schemas"
)

// House is what a dispatcher sees at one moment.
type House struct {
	Capabilities []Capability
	Agents       []Agent                    // those with series of their own, at most MaxAgents
	States       map[schemas.AgentState]int // of all agents
	OpenTasks    int
	OpenBreakers int
	Messages     uint64 // in the ledger
	Dispatchers  int
}

// Capability is what waits and runs of one capability.
type Capability struct {
	ID       string
	Queued   int
	InFlight int
	Oldest   time.Duration // how long the first that waits has waited; 0 if none does
}

// Agent is one agent, and how it did lately.
type Agent struct {
	ID       string
	Up       bool // tasks may go to it
	InFlight int
	Series   []Series
}

// Series is how an agent did lately with a capability.
type Series struct {
	Capability, Version string
	Success             float64       // the share of its results, 0 to 1
	P50, P95            time.Duration // 0 where nothing is known
}

// scene collects what is looked at.
type scene struct{ house func() House }

var (
	inFlight  = described("reach_tasks_in_flight", "Tasks that an agent has.", "capability")
	depth     = described("reach_queue_depth", "Tasks that wait for an agent.", "capability")
	oldest    = described("reach_queue_oldest_seconds", "How long the first that waits has waited.", "capability")
	up        = described("reach_agent_up", "1 if tasks may go to the agent, else 0.", "agent")
	agentHas  = described("reach_agent_tasks_in_flight", "Tasks that the agent has.", "agent")
	success   = described("reach_agent_success_ratio", "Share of the agent's last results that were good.", "agent", "capability", "version")
	latency   = described("reach_agent_latency_seconds", "Time of the agent's last tasks.", "agent", "capability", "version", "quantile")
	agents    = described("reach_agents", "Registered agents, by state.", "state")
	openTasks = described("reach_tasks_open", "Tasks that have not ended.")
	breakers  = described("reach_breakers_open", "Circuit breakers that let nothing through.")
	messages  = described("reach_ledger_messages", "Messages in the ledger.")
	peers     = described("reach_dispatchers", "Dispatchers that are there.")
)

func described(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe names all that Collect may send.
func (s scene) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		inFlight, depth, oldest, up, agentHas, success, latency, agents, openTasks, breakers, messages, peers,
	} {
		out <- d
	}
}

// Collect looks.
func (s scene) Collect(out chan<- prometheus.Metric) {
	h := s.house()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(openTasks, float64(h.OpenTasks))
	gauge(breakers, float64(h.OpenBreakers))
	gauge(messages, float64(h.Messages))
	gauge(peers, float64(h.Dispatchers))
	for state, n := range h.States {
		gauge(agents, float64(n), string(state))
	}
	for _, c := range foldCapabilities(h.Capabilities) {
		gauge(inFlight, float64(c.InFlight), c.ID)
		gauge(depth, float64(c.Queued), c.ID)
		gauge(oldest, c.Oldest.Seconds(), c.ID)
	}
	room := MaxSeries
	for _, a := range h.Agents[:min(len(h.Agents), MaxAgents)] {
		gauge(up, oneIf(a.Up), a.ID)
		gauge(agentHas, float64(a.InFlight), a.ID)
		series := a.Series[:min(len(a.Series), room)]
		room -= len(series)
		for _, series := range series {
			gauge(success, series.Success, a.ID, series.Capability, series.Version)
			if series.P95 > 0 {
				gauge(latency, series.P50.Seconds(), a.ID, series.Capability, series.Version, quantile(.5))
				gauge(latency, series.P95.Seconds(), a.ID, series.Capability, series.Version, quantile(.95))
			}
		}
	}
}

func quantile(q float64) string { return strconv.FormatFloat(q, 'g', -1, 64) }

// foldCapabilities puts what is beyond the bound together.
func foldCapabilities(all []Capability) []Capability {
	if len(all) <= MaxCapabilities {
		return all
	}
	rest := Capability{ID: Other}
	for _, c := range all[MaxCapabilities:] {
		rest.Queued += c.Queued
		rest.InFlight += c.InFlight
		rest.Oldest = max(rest.Oldest, c.Oldest)
	}
	return append(all[:MaxCapabilities:MaxCapabilities], rest)
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
