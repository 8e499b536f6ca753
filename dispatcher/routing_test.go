package dispatcher_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/dispatcher/route"
	"github.com/agentreach/agent-reach/schemas"
)

// routed gives a house routes.
func (h *house) routed(yaml string) {
	h.t.Helper()
	table, err := route.Parse([]byte(yaml))
	check(h.t, err)
	for _, d := range h.dispatchers {
		check(h.t, d.CheckRoutes(table))
		d.SetRoutes(table)
	}
}

func TestAnIntentFindsItsCapabilityHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	newScripted(h, "laptop-1", offer{"text_stats", 100}, offer{"web_search", 100})
	h.routed("routes:\n  - name: find-things\n    match: {intent: look it up, required_tags: [web]}\n    target: {capability: web_search}\n")
	tests := []struct {
		intent string
		tags   []string
		want   string
	}{
		{"text_stats", nil, "text_stats"},
		{"Text-Stats", nil, "text_stats"},
		{"textStats", nil, "text_stats"},
		{"ｔｅｘｔ＿ｓｔａｔｓ", nil, "text_stats"},
		{"count_words", nil, "text_stats"},
		{"Look it UP", []string{"web", "more"}, "web_search"},
	}
	for _, tt := range tests {
		m := schemas.ReachMessage{Intent: tt.intent, Tags: tt.tags, Payload: schemas.Payload(`{"text":"x","query":"x"}`)}
		if got := h.submit(m).Capability; got != tt.want {
			t.Errorf("intent %q: got %s, want %s", tt.intent, got, tt.want)
		}
	}
	m := schemas.ReachMessage{Intent: "look it up", Payload: schemas.Payload(`{}`)}
	_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
	wantCode(t, err, schemas.NotFound, "")
}

func TestARouteTurnsToItsFallbackWhenNobodyIsLeft(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.routed(`
routes:
  - name: review
    match: {intent: review my change}
    target: {capability: code_review}
    fallback: {capability: code_review_lite}
`)
	lite := newScripted(h, "lite", offer{"code_review_lite", 2})
	m := schemas.ReachMessage{Intent: "review my change", Payload: schemas.Payload(`{"diff":"+x"}`)}
	task := h.submit(m)
	if task.Capability != "code_review_lite" || task.AgentID != "lite" {
		t.Fatalf("with nobody at the target it went to %s on %s", task.Capability, task.AgentID)
	}
	r := lite.result(lite.next(), schemas.StateCompleted)
	r.Result = schemas.Payload(`{"findings":[]}`)
	lite.finish(r)
	h.wait(task.TaskID)

	full := newScripted(h, "full", offer{"code_review", 1})
	m.QualityOfService = schemas.QoSRealtime
	task = h.submit(m)
	if task.Capability != "code_review" {
		t.Fatalf("got %s, want the target, which is there now", task.Capability)
	}
	full.fail(full.next(), schemas.RanNo, schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "refused"))
	a := lite.next()
	if a.message.TaskID != task.TaskID || a.message.Capability != "code_review_lite" || string(a.message.Payload) != `{"diff":"+x"}` {
		t.Errorf("the fallback got %+v", a.message)
	}
	r = lite.result(a, schemas.StateCompleted)
	r.Result = schemas.Payload(`{"findings":[]}`)
	lite.finish(r)
	if done := h.wait(task.TaskID); done.State != schemas.StateCompleted || done.Capability != "code_review_lite" || done.Attempt != 2 {
		t.Errorf("got %+v", done)
	}
}

func TestACanaryGetsItsShareAndASessionStays(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.ResendAfter = time.Hour // these agents say nothing at all
	h := newHouse(t, cfg)
	newScriptedVersion(h, "old", "1.4.0", offer{"echo", 10_000})
	newScriptedVersion(h, "canary", "2.0.1", offer{"echo", 10_000})
	h.routed(`
routes:
  - name: rollout
    match: {intent: echo}
    target: {capability: echo, split: [{version: "2.x", percent: 10}]}
`)
	const n = 500
	count := map[string]int{}
	for i := range n {
		m := echo(`1`)
		m.Metadata = fmt.Appendf(nil, `{"session_id":"s-%d"}`, i) // the same each time, so that the share is
		count[h.submit(m).AgentID]++
	}
	if share := 100 * float64(count["canary"]) / n; math.Abs(share-10) > 2 {
		t.Errorf("the canary got %.1f %% of %d", share, n)
	}
	agents := map[string]bool{}
	for range 20 {
		m := echo(`1`)
		m.Metadata = []byte(`{"session_id":"s-1"}`)
		agents[h.submit(m).AgentID] = true
	}
	if len(agents) != 1 {
		t.Errorf("one session was spread over %v", agents)
	}
}

// shareOf is what the last decision of a task says of its share.
func (h *house) shareOf(taskID string) (share string, missed bool) {
	h.t.Helper()
	trace, err := h.any().Trace(h.t.Context(), schemas.DefaultTenant, taskID)
	check(h.t, err)
	var hop struct {
		Share  string `json:"share"`
		Missed bool   `json:"share_missed"`
	}
	for _, step := range trace.Hops {
		if step.Hop == schemas.HopRouted {
			check(h.t, schemas.Decode(step.Detail, &hop))
		}
	}
	return hop.Share, hop.Missed
}

func TestASplitMakesNoTaskFail(t *testing.T) {
	t.Parallel()
	const all = `
routes:
  - name: rollout
    match: {intent: echo}
    target: {capability: echo, split: [{version: "2.x", percent: 100}]}
`
	h := newHouse(t)
	h.routed(all)
	old := newScriptedVersion(h, "old", "1.4.0", offer{"echo", 2})
	old.keepBeating()
	m := echo(`1`)
	task := h.submit(m)
	if share, missed := h.shareOf(task.TaskID); task.AgentID != "old" || share != "2.x" || !missed {
		t.Errorf("while nobody has version 2: went to %q, share %q, missed %v", task.AgentID, share, missed)
	}
	e, err := h.any().Explain(t.Context(), schemas.DefaultTenant, &m)
	check(t, err)
	if e.Winner != "old" || e.Share != "2.x" || !e.ShareMissed {
		t.Errorf("while nobody has version 2, explained as %+v", e)
	}
	old.complete(old.next())

	canary := newScriptedVersion(h, "canary", "2.0.0", offer{"echo", 1})
	canary.keepBeating()
	task = h.submit(m)
	if share, missed := h.shareOf(task.TaskID); task.AgentID != "canary" || share != "2.x" || missed {
		t.Errorf("went to %q, share %q, missed %v", task.AgentID, share, missed)
	}
	waits := h.submit(m)
	if waits.Phase != schemas.PhaseQueued {
		t.Fatalf("while the canary is full, the next is %s: the share stays as it was", waits.Phase)
	}

	// A canary that cannot be reached costs nobody a task, and one that goes leaves nothing waiting.
	canary.fail(canary.next(), schemas.RanNo, schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "refused"))
	if a := old.next(); a.message.TaskID != task.TaskID {
		t.Errorf("the old agent got %s, want %s", a.message.TaskID, task.TaskID)
	} else {
		old.complete(a)
	}
	if a := canary.next(); a.message.TaskID != waits.TaskID {
		t.Fatalf("the canary got %s, want %s", a.message.TaskID, waits.TaskID)
	}
	last := h.submit(m)
	canary.vanish()
	canary.beat(schemas.AgentOffline, nil)
	for range 2 {
		old.complete(old.next())
	}
	for _, id := range []string{waits.TaskID, last.TaskID} {
		if done := h.wait(id); done.State != schemas.StateCompleted {
			t.Errorf("%s ended as %s: %v", id, done.State, done.Error)
		}
	}

	m.Version = "2.x"
	_, err = h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
	wantCode(t, err, schemas.Unavailable, schemas.ReasonNoAgent)
}

func TestAPreferredAgentIsToldOf(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	newScripted(h, "idle", offer{"echo", 9})
	newScripted(h, "drained", offer{"echo", 2})
	newScripted(h, "painter", offer{"summarize", 1})
	_, err := h.any().Drain(t.Context(), "drained")
	check(t, err)
	for _, tt := range []struct{ preferred, why string }{
		{"idle", ""},
		{"drained", "draining"},
		{"painter", "capability"},
		{"nobody", "unknown"},
	} {
		m := echo(`1`)
		m.PreferAgent = tt.preferred
		e, err := h.any().Explain(t.Context(), schemas.DefaultTenant, &m)
		check(t, err)
		trace, err := h.any().Trace(t.Context(), schemas.DefaultTenant, h.submit(m).TaskID)
		check(t, err)
		var hop struct {
			Preferred string            `json:"preferred"`
			LeftOut   []schemas.LeftOut `json:"left_out"`
		}
		check(t, schemas.Decode(trace.Hops[1].Detail, &hop))
		if e.Preferred != tt.preferred || hop.Preferred != tt.preferred || e.Winner != "idle" {
			t.Errorf("%s: explained %q, routed %q, winner %s", tt.preferred, e.Preferred, hop.Preferred, e.Winner)
		}
		for _, left := range [][]schemas.LeftOut{e.LeftOut, hop.LeftOut} {
			at := slices.IndexFunc(left, func(x schemas.LeftOut) bool { return x.AgentID == tt.preferred })
			if (at < 0) != (tt.why == "") || at >= 0 && left[at].Why != tt.why {
				t.Errorf("%s: left out %v, want %q", tt.preferred, left, tt.why)
			}
		}
	}
}

func TestADecisionIsExplained(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	newScripted(h, "idle", offer{"echo", 2})
	newScripted(h, "busy", offer{"echo", 2})
	newScripted(h, "drained", offer{"echo", 2})
	_, err := h.any().Drain(t.Context(), "drained")
	check(t, err)
	m := echo(`1`)
	m.PreferAgent = "busy"
	task := h.submit(m)
	plain := echo(`1`)
	before, err := h.any().conn.Ledger().State(t.Context())
	check(t, err)
	e, err := h.any().Explain(t.Context(), schemas.DefaultTenant, &plain)
	check(t, err)
	after, err := h.any().conn.Ledger().State(t.Context())
	check(t, err)
	if before.Last != after.Last {
		t.Error("an explanation wrote to the ledger")
	}
	var order []string
	for _, c := range e.Candidates {
		order = append(order, c.AgentID)
		if c.Score <= 0 || c.Score > 1 || len(c.Factors) == 0 {
			t.Errorf("candidate %+v", c)
		}
	}
	if diff := cmp.Diff([]string{"idle", "busy"}, order); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]schemas.LeftOut{{AgentID: "drained", Why: "draining"}}, e.LeftOut); diff != "" {
		t.Error(diff)
	}
	if e.Winner != "idle" || e.Rule != "capability" || e.Strategy != "score" {
		t.Errorf("got %+v", e)
	}
	trace, err := h.any().Trace(t.Context(), schemas.DefaultTenant, task.TaskID)
	check(t, err)
	var detail struct {
		Rule   string   `json:"rule"`
		Winner string   `json:"winner"`
		Chain  []string `json:"chain"`

		Factors map[string][]float64 `json:"factors"`
	}
	check(t, schemas.Decode(trace.Hops[1].Detail, &detail))
	factors := map[string][]float64{"schema_match": {1}, "history_success": {.8}, "current_load": {1}, "version": {1}}
	if diff := cmp.Diff(factors, detail.Factors); diff != "" {
		t.Error(diff)
	}
	if detail.Winner != "busy" || len(detail.Chain) != 2 {
		t.Errorf("the trace says %+v", detail)
	}
}
