// Package metrics counts what a dispatcher does, for Prometheus. It alone imports the client library.
//
// Every dispatcher counts what it did itself: the sum over all dispatchers is what the house did, since each step of a task is written
// by one of them. What is looked at when somebody asks, such as the length of a queue, every dispatcher says of the whole house.
//
// The number of series is bounded, whatever happens: a label takes a bounded number of values, and all others are "other". Agents have
// series only in what is looked at, so that those who have gone are gone. No label names a task, a caller or a text of an error.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/schemas"
)

// Bounds of labels.
const (
	MaxCapabilities = 200
	MaxVersions     = 200 // pairs of a capability and a version of its agents
	MaxRoutes       = 200
	MaxCodes        = 32
	MaxAgents       = 500  // with series of their own
	MaxSeries       = 2000 // of agents and their capabilities
)

// Other stands for every value beyond a bound.
const Other = "other"

// none is the value of a label that does not apply.
const none = "none"

// Bounds of one scrape.
const (
	scrapesAtOnce = 4
	scrapeFor     = 10 * time.Second
)

// Metrics are those of one dispatcher. All methods are safe for any number of goroutines.
type Metrics struct {
	registry *prometheus.Registry

	submitted *prometheus.CounterVec
	refused   *prometheus.CounterVec
	routes    *prometheus.CounterVec
	missed    *prometheus.CounterVec
	dispatch  prometheus.Histogram
	waits     *prometheus.HistogramVec
	finished  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	retries   *prometheus.CounterVec
	moves     *prometheus.CounterVec
	probes    prometheus.Counter
	chunks    prometheus.Counter
	stalls    prometheus.Counter
	degraded  prometheus.Counter
	binds     *prometheus.CounterVec

	capabilities, versions, hit, codes *bounded
}

// Times of tasks: from what one machine does at once to what a model thinks about.
var (
	taskSeconds     = []float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 15, 60, 300, 1800}
	dispatchSeconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}
)

// New counts from nothing. house is asked for what is looked at, at each scrape.
func New(house func() House) *Metrics {
	m := &Metrics{
		registry:  prometheus.NewRegistry(),
		submitted: counters("reach_tasks_submitted_total", "Tasks accepted.", "capability"),
		refused:   counters("reach_submits_refused_total", "Submits refused, by the code of the error.", "code"),
		routes:    counters("reach_route_hits_total", "Submits that a route matched.", "route"),
		missed: counters("reach_route_share_missed_total",
			"Submits that fell to a share of a route's split of which no agent was there, and went to the others.", "route"),
		dispatch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "reach_dispatch_duration_seconds", Help: "From a submit to its durable task.", Buckets: dispatchSeconds,
		}),
		waits:    histograms("reach_queue_wait_seconds", "What a task that waited for an agent has waited.", "capability"),
		finished: counters("reach_tasks_finished_total", "Tasks ended, by the version of their agent.", "capability", "version", "outcome"),
		durations: histograms("reach_task_duration_seconds",
			"From the submit of a task, or its scheduled start, to its end, by the version of its agent.", "capability", "version"),
		retries: counters("reach_retries_total", "Attempts that are repeated after a back-off, by the code of the failure.", "class"),
		moves:   counters("reach_failovers_total", "Tasks that went to another agent, and why.", "cause"),
		probes:  counter("reach_probe_failures_total", "Probes that an agent did not pass."),
		chunks:  counter("reach_stream_chunks_total", "Chunks that agents made of the tasks that have ended."),
		stalls: counter("reach_stream_window_stalls_total",
			"Chunks that waited because the window of the fastest reader was full, in attempts that have ended."),
		degraded: counter("reach_stream_degraded_total",
			"Streams whose reader got the whole result in place of chunks: it was slow, or its agent does not stream."),
		binds: counters("reach_binds_total", "Waiting tasks that were to be given to an agent, by who was first.", "outcome"),

		capabilities: newBounded(MaxCapabilities), versions: newBounded(MaxVersions), hit: newBounded(MaxRoutes), codes: newBounded(MaxCodes),
	}
	m.registry.MustRegister(
		m.submitted, m.refused, m.routes, m.missed, m.dispatch, m.waits, m.finished, m.durations, m.retries, m.moves, m.probes, m.chunks, m.stalls, m.degraded,
		m.binds, scene{house}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histograms(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: taskSeconds}, labels)
}

// Handler answers a scrape, in the text format or as OpenMetrics.
func (m *Metrics) Handler(log zerolog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeFor, EnableOpenMetrics: true, ErrorLog: scrapeLog{log},
	})
}

// scrapeLog takes what goes wrong with a scrape.
type scrapeLog struct{ log zerolog.Logger }

func (l scrapeLog) Println(values ...any) {
	l.log.Warn().Int("problems", len(values)).Msg("a scrape has failed")
}

// Submitted counts a task that was accepted, took after it was handed in.
func (m *Metrics) Submitted(capability string, took time.Duration) {
	m.submitted.WithLabelValues(m.capabilities.of(capability)).Inc()
	m.dispatch.Observe(took.Seconds())
}

// Refused counts a submit that was not taken.
func (m *Metrics) Refused(code schemas.Code) {
	m.refused.WithLabelValues(m.codes.of(string(code))).Inc()
}

// RouteHit counts a submit that a route matched.
func (m *Metrics) RouteHit(route string) { m.routes.WithLabelValues(m.hit.of(route)).Inc() }

// ShareMissed counts a submit that went to others than those of its share.
func (m *Metrics) ShareMissed(route string) { m.missed.WithLabelValues(m.hit.of(route)).Inc() }

// Waited notes how long a task waited for an agent.
func (m *Metrics) Waited(capability string, waited time.Duration) {
	m.waits.WithLabelValues(m.capabilities.of(capability)).Observe(waited.Seconds())
}

// Ended counts the end of a task. version is that of the agent that had it last; empty if it had none.
func (m *Metrics) Ended(t *schemas.Task, version string) {
	capability, version := m.pair(t.Capability, version)
	m.finished.WithLabelValues(capability, version, outcome(t)).Inc()
	from := t.SubmittedAt.Time
	if t.NotBefore.After(from) {
		from = t.NotBefore.Time
	}
	m.durations.WithLabelValues(capability, version).Observe(max(0, t.FinishedAt.Sub(from)).Seconds())
	m.chunks.Add(float64(max(0, t.Chunks)))
}

// pair is a capability and a version, both other once there are too many pairs.
func (m *Metrics) pair(capability, version string) (string, string) {
	capability = m.capabilities.of(capability)
	if version == "" {
		version = none
	}
	if m.versions.of(capability+" "+version) == Other {
		return Other, Other
	}
	return capability, version
}

// outcome is the state in which a task ended, and of those that failed apart: who expired, and who may have been executed.
func outcome(t *schemas.Task) string {
	if t.State == schemas.StateFailed && t.Error != nil {
		switch t.Error.Reason {
		case schemas.ReasonExpired:
			return "expired"
		case schemas.ReasonMayHaveExecuted:
			return "unknown"
		}
	}
	return string(t.State)
}

// Retried counts an attempt that is repeated after a back-off.
func (m *Metrics) Retried(code schemas.Code) {
	m.retries.WithLabelValues(m.codes.of(string(code))).Inc()
}

// Moved counts a task that went to another agent, or back to the queue.
func (m *Metrics) Moved(cause string) { m.moves.WithLabelValues(m.codes.of(cause)).Inc() }

// Stalled counts how often an attempt's agent was not read, because nobody took its chunks.
func (m *Metrics) Stalled(chunks int64) { m.stalls.Add(float64(max(0, chunks))) }

// ProbeFailed counts a probe that an agent did not pass.
func (m *Metrics) ProbeFailed() { m.probes.Inc() }

// Degraded counts a stream whose reader gets the whole result in place of chunks.
func (m *Metrics) Degraded() { m.degraded.Inc() }

// Bound counts a waiting task that was given to an agent, or that another dispatcher was first with.
func (m *Metrics) Bound(first bool) {
	outcome := "bound"
	if !first {
		outcome = "refused"
	}
	m.binds.WithLabelValues(outcome).Inc()
}
