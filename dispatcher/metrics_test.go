package dispatcher_test

import (
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

// scrape is what Prometheus would read of a dispatcher.
func (h *house) scrape() string {
	h.t.Helper()
	w := httptest.NewRecorder()
	h.any().Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestMetricsTellWhatHappenedAndWhichVersionDidIt(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.ExcessWait = 1 // nobody gets more than it has slots
	h := newHouse(t, cfg)
	old := newScriptedVersion(h, "old", "1.4.0", offer{"echo", 1})
	newer := newScriptedVersion(h, "newer", "2.0.1", offer{"echo", 1})
	h.routed("routes:\n  - name: rollout\n    match: {intent: echo}\n    target: {capability: echo}\n")
	for _, w := range []*scripted{old, newer} {
		m := echo(`1`)
		m.PreferAgent = w.agentID
		task := h.submit(m)
		w.complete(w.next())
		h.wait(task.TaskID)
	}
	h.submit(echo(`1`))
	h.submit(echo(`2`))
	h.submit(echo(`3`)) // waits
	refused := echo(`4`)
	refused.FailFast = true
	_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &refused)
	wantCode(t, err, schemas.ResourceExhausted, schemas.ReasonBusy)
	text := h.scrape()
	for _, line := range []string{
		`reach_tasks_submitted_total\{capability="echo"\} 5`,
		`reach_tasks_finished_total\{capability="echo",outcome="completed",version="1.4.0"\} 1`,
		`reach_tasks_finished_total\{capability="echo",outcome="completed",version="2.0.1"\} 1`,
		`reach_submits_refused_total\{code="RESOURCE_EXHAUSTED"\} 1`,
		`reach_route_hits_total\{route="rollout"\} 5`,
		`reach_tasks_in_flight\{capability="echo"\} 2`,
		`reach_queue_depth\{capability="echo"\} 1`,
		`reach_queue_oldest_seconds\{capability="echo"\} [0-9.e-]+`,
		`reach_agent_up\{agent="old"\} 1`,
		`reach_agent_success_ratio\{agent="newer",capability="echo",version="2.0.1"\} 1`,
		`reach_dispatchers 1`,
	} {
		if !regexp.MustCompile("(?m)^" + line + "$").MatchString(text) {
			t.Errorf("%s is missing", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}
