package dispatcher

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/dispatcher/stats"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

// A task that waits is ranked by what is kept of its payload, as it is by the payload itself.
func TestATaskThatWaitsIsRankedByTheShapeOfItsPayload(t *testing.T) {
	t.Parallel()
	d := crowded(t, 0)
	for n, schema := range []string{``, `{"properties":{"tone":{"type":"string"}}}`, `{"properties":{"tone":{},"rhyme":{}}}`} {
		r := schemas.Registration{
			AgentID: fmt.Sprint("agent-", n), InstanceID: "1", Version: "1.0.0",
			Capabilities: []schemas.Offer{{ID: "summarize", MaxConcurrency: 4, InputSchema: []byte(schema)}},
		}
		own, err := narrowed(&r)
		if err != nil {
			t.Fatal(err)
		}
		d.view.roster.put(broker.AgentRecord{Registration: r, State: schemas.AgentOnline}, uint64(n+1), own, d.clock())
	}
	large := make(map[string]int)
	for n := range maxShapeMembers + 1 {
		large[fmt.Sprint("member-", n)] = n
	}
	for _, tt := range []struct {
		name, payload, metadata string
		kept                    bool
	}{
		{"members that only some know", `{"text":"x","tone":"dry","rhyme":"no"}`, ``, true},
		{"a format", `{"text":"x"}`, `{"output_format":"text/markdown"}`, true},
		{"no members", `{}`, ``, true},
		{"no object", `[1]`, ``, true},
		{"too many members", string(schemas.MustEncode(large)), ``, false},
	} {
		m := &schemas.ReachMessage{
			TaskID: schemas.NewTaskID(), Capability: "summarize", Payload: schemas.Payload(tt.payload), Assignment: &schemas.Assignment{},
		}
		if tt.metadata != "" {
			m.Metadata = []byte(tt.metadata)
		}
		want := d.makePlan(d.wishOf(m)).factors()["schema_match"]
		d.keepShape(m)
		slim(m)
		if got := d.makePlan(d.wishOf(m)).factors()["schema_match"]; (m.Assignment.Shape != nil) != tt.kept || tt.kept && !slices.Equal(want, got) {
			t.Errorf("%s: it waits as %v, was %v; shape %v", tt.name, got, want, m.Assignment.Shape)
		}
	}
}

// crowded is a dispatcher that knows so many agents, all with a past and half of them at work, and nobody else.
func crowded(b testing.TB, agents int) *Dispatcher {
	b.Helper()
	cfg := Config{}.withDefaults(1 << 20)
	d := &Dispatcher{cfg: cfg, view: newView(cfg)}
	words, err := dictionary.New(dictionary.Starter())
	if err != nil {
		b.Fatal(err)
	}
	d.dictionary.Store(words)
	now := d.clock()
	d.view.roster.complete = true
	for n := range agents {
		r := schemas.Registration{
			AgentID: fmt.Sprintf("agent-%04d", n), InstanceID: "1", Version: fmt.Sprintf("1.%d.0", n%3), Transport: schemas.Transport{Type: "http"},
			Capabilities: []schemas.Offer{{ID: "echo", MaxConcurrency: 4}, {ID: "summarize"}},
		}
		d.view.roster.put(broker.AgentRecord{Registration: r, State: schemas.AgentOnline}, uint64(n+1), nil, now)
		d.view.speeds.Ended(r.AgentID, "echo", stats.Result{At: now, OK: n%7 > 0, Took: time.Duration(n%50) * time.Millisecond})
		if n%2 == 0 {
			d.view.tasks.Apply(index.Event{
				Sequence: uint64(n + 1), TaskID: schemas.NewTaskID(), Phase: schemas.PhaseAssigned, Capability: "echo", AgentID: r.AgentID, At: now,
				Message: &schemas.ReachMessage{Tenant: schemas.DefaultTenant},
			})
		}
	}
	return d
}

// BenchmarkPlan is all that a submit does to choose, and to be able to say why: among 1,000 agents, each of them looked at, and as
// it is done, by a sample.
func BenchmarkPlan(b *testing.B) {
	d := crowded(b, 1000)
	m := &schemas.ReachMessage{TaskID: schemas.NewTaskID(), Capability: "echo", Payload: schemas.Payload(`{"text":"hello"}`)}
	agents := d.view.roster.byCapability["echo"]
	for _, way := range []struct {
		name string
		plan func(wish) plan
	}{
		{"all", func(w wish) plan { return d.planAmong(w, agents) }},
		{"sample", d.makePlan},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				hop := way.plan(d.wishOf(m)).told(routed{Rule: "capability"})
				if d.hop(nil, schemas.HopRouted, hop); hop.Winner == "" {
					b.Fatal("nobody was found")
				}
			}
		})
	}
}
