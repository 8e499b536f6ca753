package dispatcher

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/route"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

// enrolled is a dispatcher that knows these agents, each of them just heard, and nobody else.
func enrolled(t *testing.T, registrations ...schemas.Registration) *Dispatcher {
	t.Helper()
	d := crowded(t, 0)
	for n, r := range registrations {
		r.InstanceID = "1"
		d.view.roster.put(broker.AgentRecord{Registration: r, State: schemas.AgentOnline}, uint64(n+1), nil, d.clock())
	}
	return d
}

func TestARouteDecidesHowItsTasksRun(t *testing.T) {
	t.Parallel()
	agent := func(id, version string, cost float64, latency int64) schemas.Registration {
		return schemas.Registration{AgentID: id, Version: version, Capabilities: []schemas.Offer{
			{ID: "echo", MaxConcurrency: 4, CostPerCall: &cost, ExpectedLatencyMS: latency}, {ID: "text_stats"},
		}}
	}
	d := enrolled(t, agent("cheap", "1.0.0", 0, 9000), agent("newest", "2.0.0", 9, 9000), agent("quick", "1.0.0", 9, 10))
	table, err := route.Parse([]byte(`
routes:
  - {name: saving, match: {intent: save money}, target: {capability: echo}, weights: {cost: 1}}
  - {name: hurried, match: {intent: be quick}, target: {capability: echo}, weights: {latency: 1}}
  - {name: proven, match: {intent: be sure}, target: {capability: echo, version: "<2"}, weights: {version: 1, latency: 1}}
  - {name: latest, match: {intent: be modern}, target: {capability: echo, min_version: 1.5.0}, weights: {cost: 1}}
  - {name: turned, match: {intent: take turns}, target: {capability: echo, strategy: least_concurrency}}
  - name: limited
    match: {intent: be brief}
    target: {capability: echo}
    timeouts: {timeout_ms: 5000, run_timeout_ms: 30000}
`))
	check(t, err)
	d.SetRoutes(table)
	type decision struct {
		Agent, Strategy   string
		Patience, RunFor  time.Duration
		Versions, ByRoute string
	}
	for _, tt := range []struct {
		name string
		m    schemas.ReachMessage
		want decision
	}{
		{"its weights", schemas.ReachMessage{Intent: "save money"}, decision{Agent: "cheap", ByRoute: "saving"}},
		{"other weights", schemas.ReachMessage{Intent: "be quick"}, decision{Agent: "quick", ByRoute: "hurried"}},
		{"its versions", schemas.ReachMessage{Intent: "be sure"}, decision{Agent: "quick", ByRoute: "proven", Versions: "<2"}},
		{"its lowest version", schemas.ReachMessage{Intent: "be modern"}, decision{Agent: "newest", ByRoute: "latest", Versions: ">=1.5.0"}},
		{"its strategy", schemas.ReachMessage{Intent: "take turns", PreferAgent: "quick"}, decision{Agent: "quick", ByRoute: "turned", Strategy: "least_concurrency"}},
		{
			"its timeouts",
			schemas.ReachMessage{Intent: "be brief", PreferAgent: "quick"},
			decision{Agent: "quick", ByRoute: "limited", Patience: 5 * time.Second, RunFor: 30 * time.Second},
		},
		{
			"but not those that the message names",
			schemas.ReachMessage{Intent: "be brief", PreferAgent: "quick", TimeoutMS: 70, RunTimeoutMS: 800},
			decision{Agent: "quick", ByRoute: "limited", Patience: 5 * time.Second, RunFor: 800 * time.Millisecond},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := tt.m
			m.TaskID, m.MsgID, m.Payload = schemas.NewTaskID(), "key", schemas.Payload(`{}`)
			asked := m.TimeoutMS
			got := decision{Patience: d.Patience(t.Context(), schemas.DefaultTenant, &m)}
			_, err := d.resolve(t.Context(), &m, payloadOf(&m))
			check(t, err)
			got.Agent, got.ByRoute, got.Strategy, got.Versions = d.makePlan(d.wishOf(&m)).agent, m.Assignment.Route, m.Assignment.Strategy, m.Assignment.Versions
			got.RunFor = schemas.Duration(m.RunTimeoutMS)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if asked == 0 {
				asked = got.Patience.Milliseconds()
			}
			if m.TimeoutMS != asked {
				t.Errorf("the task has a timeout of %d ms, want %d", m.TimeoutMS, asked)
			}
		})
	}
}

func TestTheHousesOwnWeightsAndStrategyCountWhereNoRouteSays(t *testing.T) {
	t.Parallel()
	cost := func(c float64) []schemas.Offer {
		return []schemas.Offer{{ID: "echo", MaxConcurrency: 4, CostPerCall: &c}}
	}
	d := enrolled(t,
		schemas.Registration{AgentID: "dear", Version: "2.0.0", Capabilities: cost(9)},
		schemas.Registration{AgentID: "cheap", Version: "1.0.0", Capabilities: cost(0)},
	)
	m := &schemas.ReachMessage{TaskID: schemas.NewTaskID(), Capability: "echo", Payload: schemas.Payload(`{}`)}
	for _, tt := range []struct {
		name    string
		weights score.Weights
		want    string
	}{
		{"by the usual ones the newest", score.Weights{}, "dear"},
		{"by cost the cheapest", score.Weights{score.Cost: 1}, "cheap"},
	} {
		d.cfg.Weights = tt.weights
		if got := d.makePlan(d.wishOf(m)); got.agent != tt.want {
			t.Errorf("%s: got %s", tt.name, got.agent)
		}
	}
	d.cfg.Weights, d.cfg.Strategy = score.Weights{}, score.RoundRobin
	got := map[string]int{}
	for range 10 {
		got[d.makePlan(d.wishOf(m)).agent]++
	}
	if diff := cmp.Diff(map[string]int{"dear": 5, "cheap": 5}, got); diff != "" {
		t.Errorf("in turn (-want +got)\n%s", diff)
	}
}

func TestACapabilityThatAHeartbeatLeavesOutLeavesRoutingUntilItIsNamedAgain(t *testing.T) {
	t.Parallel()
	d := enrolled(t, schemas.Registration{
		AgentID: "laptop", Version: "1.0.0", Capabilities: []schemas.Offer{{ID: "echo"}, {ID: "text_stats"}},
	})
	for _, tt := range []struct {
		name             string
		named            []string
		echo, statistics score.Why
	}{
		{"both are named", []string{"echo", "text_stats"}, "", ""},
		{"one is left out", []string{"text_stats"}, score.WhyCapability, ""},
		{"the other is", []string{"echo"}, "", score.WhyCapability},
		{"none is named", []string{}, score.WhyDegraded, score.WhyDegraded},
		{"both are named again", []string{"text_stats", "echo"}, "", ""},
	} {
		beat := schemas.Heartbeat{AgentID: "laptop", InstanceID: "1", State: schemas.AgentOnline, Capabilities: tt.named}
		d.hearHeartbeat(context.Background(), &broker.Request{Agent: "laptop", Data: schemas.MustEncode(beat)})
		for capability, want := range map[string]score.Why{"echo": tt.echo, "text_stats": tt.statistics} {
			p := d.makePlan(d.wishOf(&schemas.ReachMessage{TaskID: schemas.NewTaskID(), Capability: capability, Payload: schemas.Payload(`{"text":""}`)}))
			var why score.Why
			if len(p.left) > 0 {
				why = p.left[0].Why
			}
			if why != want || (p.agent == "") != (want != "") {
				t.Errorf("%s: of %s it is left out for %q, want %q", tt.name, capability, why, want)
			}
		}
	}
}

func TestWhatAHeartbeatSaysIsKeptWithinBounds(t *testing.T) {
	t.Parallel()
	d := enrolled(t, schemas.Registration{AgentID: "laptop", Version: "1.0.0", Capabilities: []schemas.Offer{{ID: "echo"}, {ID: "text_stats"}}})
	say := func(beat schemas.Heartbeat) schemas.Heartbeat {
		beat.AgentID, beat.InstanceID, beat.State = "laptop", "1", schemas.AgentOnline
		d.hearHeartbeat(context.Background(), &broker.Request{Agent: "laptop", Data: schemas.MustEncode(beat)})
		return d.view.roster.agents["laptop"].beat
	}
	got := say(schemas.Heartbeat{
		Capabilities: []string{"echo", "echo", strings.Repeat("x", 100_000)}, Trouble: strings.Repeat("y", 100_000), LoadAvg: .5, Version: strings.Repeat("1", 100_000),
		Held: make([]uint64, 10_000), InFlightTasks: slices.Repeat([]string{"a"}, 10_000),
	})
	want := schemas.Heartbeat{
		InstanceID: "1", State: schemas.AgentOnline, LoadAvg: .5, Capabilities: []string{"echo"}, Trouble: strings.Repeat("y", schemas.MaxTroubleBytes),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(want, say(schemas.Heartbeat{Capabilities: slices.Repeat([]string{"text_stats"}, schemas.MaxOffers+1)})); diff != "" {
		t.Errorf("one that names more than can be registered is believed (-want +got)\n%s", diff)
	}
	d.hearHeartbeat(context.Background(), &broker.Request{Agent: "laptop", Data: []byte(`{"agent_id":"laptop","instance_id":"1","state":"online"}`)})
	if got := d.view.roster.agents["laptop"].beat.Capabilities; got != nil {
		t.Errorf("one that says nothing of capabilities is taken to leave out all but %v", got)
	}
}

func TestATaskMayRunTwiceOnlyIfDictionaryAndAgentSaySo(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	d := enrolled(t,
		schemas.Registration{AgentID: "silent", Version: "1.0.0", Capabilities: []schemas.Offer{{ID: "echo"}, {ID: "test_run"}}},
		schemas.Registration{AgentID: "willing", Version: "1.0.0", Capabilities: []schemas.Offer{{ID: "echo", Idempotent: &yes}, {ID: "test_run", Idempotent: &yes}}},
		schemas.Registration{AgentID: "unwilling", Version: "1.0.0", Capabilities: []schemas.Offer{{ID: "echo", Idempotent: &no}, {ID: "test_run", Idempotent: &no}}},
	)
	for _, tt := range []struct {
		capability, agent string
		want              bool
	}{
		{"echo", "silent", true},
		{"echo", "willing", true},
		{"echo", "unwilling", false},
		{"test_run", "silent", false},
		{"test_run", "willing", false},
		{"test_run", "unwilling", false},
	} {
		entry, known := d.dictionary.Load().Entry(tt.capability)
		if !known {
			t.Fatalf("%s is not in the dictionary", tt.capability)
		}
		if got := d.assignment(&schemas.ReachMessage{Capability: tt.capability}, entry, tt.agent).Idempotent; got != tt.want {
			t.Errorf("%s at one that is %s: %v", tt.capability, tt.agent, got)
		}
	}
}
