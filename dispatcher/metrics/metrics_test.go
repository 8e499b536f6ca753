package metrics_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/dispatcher/metrics"
	"github.com/agentreach/agent-reach/schemas"
)

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(zerolog.Nop()).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("a scrape got %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// series are the lines of a scrape that are ours.
func series(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "reach_") {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

func want(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%s is missing among %d series", line, len(series(text)))
		}
	}
}

func nobody() metrics.House { return metrics.House{} }

func ended(state schemas.State, reason string) *schemas.Task {
	start := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	t := &schemas.Task{
		TaskID: schemas.NewTaskID(), Capability: "echo", State: state, SubmittedAt: schemas.At(start),
		FinishedAt: schemas.At(start.Add(200 * time.Millisecond)), Chunks: 3,
	}
	if reason != "" {
		t.Error = schemas.NewError(schemas.Aborted, reason, "")
	}
	return t
}

func TestWhatIsCounted(t *testing.T) {
	t.Parallel()
	m := metrics.New(nobody)
	m.Submitted("echo", 2*time.Millisecond)
	m.Refused(schemas.ResourceExhausted)
	m.RouteHit("quick reviews")
	m.ShareMissed("quick reviews")
	m.Waited("echo", 3*time.Second)
	m.Ended(ended(schemas.StateCompleted, ""), "1.0.0")
	m.Ended(ended(schemas.StateCompleted, ""), "2.0.0")
	m.Ended(ended(schemas.StateFailed, schemas.ReasonExpired), "")
	m.Ended(ended(schemas.StateFailed, schemas.ReasonMayHaveExecuted), "2.0.0")
	m.Ended(ended(schemas.StateCanceled, ""), "")
	m.Retried(schemas.Unavailable)
	m.Moved("failover")
	m.ProbeFailed()
	m.Stalled(3)
	m.Degraded()
	m.Bound(true)
	m.Bound(false)
	want(
		t, scrape(t, m),
		`reach_tasks_submitted_total{capability="echo"} 1`,
		`reach_dispatch_duration_seconds_bucket{le="0.0025"} 1`,
		`reach_submits_refused_total{code="RESOURCE_EXHAUSTED"} 1`,
		`reach_route_hits_total{route="quick reviews"} 1`,
		`reach_route_share_missed_total{route="quick reviews"} 1`,
		`reach_queue_wait_seconds_bucket{capability="echo",le="5"} 1`,
		`reach_tasks_finished_total{capability="echo",outcome="completed",version="1.0.0"} 1`,
		`reach_tasks_finished_total{capability="echo",outcome="completed",version="2.0.0"} 1`,
		`reach_tasks_finished_total{capability="echo",outcome="expired",version="none"} 1`,
		`reach_tasks_finished_total{capability="echo",outcome="unknown",version="2.0.0"} 1`,
		`reach_tasks_finished_total{capability="echo",outcome="canceled",version="none"} 1`,
		`reach_task_duration_seconds_bucket{capability="echo",version="2.0.0",le="0.25"} 2`,
		`reach_task_duration_seconds_bucket{capability="echo",version="2.0.0",le="0.1"} 0`,
		`reach_retries_total{class="UNAVAILABLE"} 1`,
		`reach_failovers_total{cause="failover"} 1`,
		`reach_probe_failures_total 1`,
		`reach_stream_chunks_total 15`,
		`reach_stream_window_stalls_total 3`,
		`reach_stream_degraded_total 1`,
		`reach_binds_total{outcome="bound"} 1`,
		`reach_binds_total{outcome="refused"} 1`,
	)
}

func TestWhatIsLookedAt(t *testing.T) {
	t.Parallel()
	m := metrics.New(func() metrics.House {
		return metrics.House{
			OpenTasks: 7, OpenBreakers: 1, Messages: 40, Dispatchers: 2,
			States:       map[schemas.AgentState]int{schemas.AgentOnline: 1, schemas.AgentDraining: 1},
			Capabilities: []metrics.Capability{{ID: "echo", Queued: 3, InFlight: 4, Oldest: 1500 * time.Millisecond}},
			Agents: []metrics.Agent{
				{ID: "laptop-1", Up: true, InFlight: 4, Series: []metrics.Series{
					{Capability: "echo", Version: "1.0.0", Success: .75, P50: 20 * time.Millisecond, P95: time.Second},
				}},
				{ID: "phone"},
			},
		}
	})
	want(
		t, scrape(t, m),
		`reach_queue_depth{capability="echo"} 3`, `reach_queue_oldest_seconds{capability="echo"} 1.5`,
		`reach_tasks_in_flight{capability="echo"} 4`, `reach_tasks_open 7`, `reach_breakers_open 1`, `reach_ledger_messages 40`,
		`reach_dispatchers 2`, `reach_agents{state="draining"} 1`, `reach_agent_up{agent="laptop-1"} 1`, `reach_agent_up{agent="phone"} 0`,
		`reach_agent_tasks_in_flight{agent="laptop-1"} 4`,
		`reach_agent_success_ratio{agent="laptop-1",capability="echo",version="1.0.0"} 0.75`,
		`reach_agent_latency_seconds{agent="laptop-1",capability="echo",quantile="0.95",version="1.0.0"} 1`,
	)
}

func TestMetricsStaySmallWhateverHappens(t *testing.T) {
	t.Parallel()
	m := metrics.New(func() metrics.House {
		h := metrics.House{States: map[schemas.AgentState]int{schemas.AgentOnline: 2000}}
		for n := range 2000 {
			h.Capabilities = append(h.Capabilities, metrics.Capability{ID: fmt.Sprint("capability_", n), Queued: 1})
			a := metrics.Agent{ID: fmt.Sprint("agent-", n), Up: true}
			for c := range 20 {
				a.Series = append(a.Series, metrics.Series{Capability: fmt.Sprint("capability_", c), Version: "1.0.0", P95: time.Second})
			}
			h.Agents = append(h.Agents, a)
		}
		return h
	})
	const many = 20_000
	for n := range many {
		name := fmt.Sprint("name_", n)
		task := ended(schemas.StateCompleted, "")
		task.Capability = name
		m.Submitted(name, 0)
		m.Waited(name, 0)
		m.Ended(task, fmt.Sprintf("%d.0.0", n))
		m.Ended(ended(schemas.StateCompleted, ""), fmt.Sprintf("%d.0.0", n))
		m.RouteHit(name)
		m.Refused(schemas.Code(name))
		m.Retried(schemas.Code(name))
		m.Moved(name)
	}
	start := time.Now()
	text := scrape(t, m)
	took := time.Since(start)
	all := series(text)
	t.Logf("%d series, %d bytes, %v", len(all), len(text), took)
	if bound := 20_000; len(all) > bound {
		t.Errorf("there are %d series, more than %d", len(all), bound)
	}
	if len(text) > 2<<20 {
		t.Errorf("a scrape has %d bytes", len(text))
	}
	want(
		t, text,
		fmt.Sprintf(`reach_tasks_submitted_total{capability="other"} %d`, many-metrics.MaxCapabilities+1), // echo has a place
		fmt.Sprintf(`reach_queue_depth{capability="other"} %d`, 2000-metrics.MaxCapabilities),
	)
}

func TestMetricsFollowTheConventions(t *testing.T) {
	t.Parallel()
	m := metrics.New(nobody)
	m.Ended(ended(schemas.StateCompleted, ""), "1.0.0")
	problems, err := promlint.New(strings.NewReader(scrape(t, m))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "reach_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}
