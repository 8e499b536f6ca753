package score_test

import (
	"slices"
	"testing"

	"github.com/Masterminds/semver/v3"
	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

func TestFilterSaysWhyAnAgentMayNotHaveATask(t *testing.T) {
	t.Parallel()
	state := func(s schemas.AgentState) func(*score.Candidate) { return func(c *score.Candidate) { c.State = s } }
	in := func(groups ...string) func(*score.Candidate) { return func(c *score.Candidate) { c.Groups = groups } }
	unknownVersion := func(c *score.Candidate) { c.Version = nil }
	none := func(*score.Candidate) {}
	ranges := func(texts ...string) []score.Versions {
		var ranges []score.Versions
		for _, text := range texts {
			c, err := semver.NewConstraint(text)
			if err != nil {
				t.Fatal(err)
			}
			ranges = append(ranges, c)
		}
		return ranges
	}
	tests := []struct {
		name   string
		change func(*score.Candidate)
		want   score.Want
		why    score.Why
	}{
		{"nothing is in the way", none, score.Want{}, ""},
		{"it has left the capability out", func(c *score.Candidate) { c.Offers = false }, score.Want{}, score.WhyCapability},
		{"it is pending", state(schemas.AgentPending), score.Want{}, score.WhyPending},
		{"it is offline", state(schemas.AgentOffline), score.Want{}, score.WhyOffline},
		{"its state is unheard of", state("asleep"), score.Want{}, score.WhyOffline},
		{"it is draining", state(schemas.AgentDraining), score.Want{}, score.WhyDraining},
		{"it is degraded", state(schemas.AgentDegraded), score.Want{}, score.WhyDegraded},
		{"another is asked for", none, score.Want{Agent: "other"}, score.WhyAgent},
		{"this one is asked for", none, score.Want{Agent: "agent"}, ""},
		{"it was tried", none, score.Want{Tried: []string{"other", "agent"}}, score.WhyTried},
		{"its schema is known not to accept the payload", none, score.Want{Unfit: []string{"other", "agent"}}, score.WhySchema},
		{"others were tried", none, score.Want{Tried: []string{"other"}}, ""},
		{"the tenant may reach no group", none, score.Want{Groups: []string{}}, score.WhyGroup},
		{"it is in none of the tenant's groups", in("lab"), score.Want{Groups: []string{"office"}}, score.WhyGroup},
		{"it is in no group, the tenant is bound to one", none, score.Want{Groups: []string{"office"}}, score.WhyGroup},
		{"it is in one of the tenant's groups", in("lab", "office"), score.Want{Groups: []string{"office"}}, ""},
		{"its version is in range", none, score.Want{Versions: ranges(">=1.0.0, <2")}, ""},
		{"its version is too old", none, score.Want{Versions: ranges("1.x", ">=1.2")}, score.WhyVersion},
		{"its version is unknown", unknownVersion, score.Want{Versions: ranges("*")}, score.WhyVersion},
		{"its version is unknown, and nobody asks", unknownVersion, score.Want{}, ""},
		{"its breaker is open", func(c *score.Candidate) { c.Broken = true }, score.Want{}, score.WhyBreaker},
		{"it must stream and cannot", none, score.Want{Stream: true}, score.WhyMode},
		{"it must stream and can", func(c *score.Candidate) { c.Streams = true }, score.Want{Stream: true}, ""},
		{"the payload is a large one, which it does not fetch", none, score.Want{Large: true}, score.WhyLarge},
		{"the payload is a large one, which it fetches", func(c *score.Candidate) { c.Fetches = true }, score.Want{Large: true}, ""},
		{"its schema refuses the payload", none, score.Want{Accepts: func(*score.Candidate) bool { return false }}, score.WhySchema},
		{"its schema accepts the payload", none, score.Want{Accepts: func(*score.Candidate) bool { return true }}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := with("agent", tt.change)
			why, may := score.Filter(&c, &tt.want)
			if why != tt.why || may != (tt.why == "") {
				t.Errorf("got %q (%v), want %q", why, may, tt.why)
			}
		})
	}
}

// obstacle is one filter's reason, and what alone makes it apply to an agent that passes all the others of strict.
type obstacle struct {
	why    score.Why
	change func(*score.Candidate, *score.Want)
}

// obstacles are those of every filter, in the order in which they are looked at.
var obstacles = []obstacle{
	{score.WhyPending, func(c *score.Candidate, _ *score.Want) { c.State = schemas.AgentPending }},
	{score.WhyOffline, func(c *score.Candidate, _ *score.Want) { c.State = schemas.AgentOffline }},
	{score.WhyDraining, func(c *score.Candidate, _ *score.Want) { c.State = schemas.AgentDraining }},
	{score.WhyDegraded, func(c *score.Candidate, _ *score.Want) { c.State = schemas.AgentDegraded }},
	{score.WhyCapability, func(c *score.Candidate, _ *score.Want) { c.Offers = false }},
	{score.WhyAgent, func(_ *score.Candidate, w *score.Want) { w.Agent = "other" }},
	{score.WhyTried, func(_ *score.Candidate, w *score.Want) { w.Tried = append(w.Tried, "agent") }},
	{score.WhyGroup, func(c *score.Candidate, _ *score.Want) { c.Groups = []string{"lab"} }},
	{score.WhyVersion, func(c *score.Candidate, _ *score.Want) { c.Version = semver.MustParse("2.0.0") }},
	{score.WhyBreaker, func(c *score.Candidate, _ *score.Want) { c.Broken = true }},
	{score.WhyMode, func(c *score.Candidate, _ *score.Want) { c.Streams = false }},
	{score.WhyLarge, func(c *score.Candidate, _ *score.Want) { c.Fetches = false }},
	{score.WhySchema, func(_ *score.Candidate, w *score.Want) { w.Accepts = func(*score.Candidate) bool { return false } }},
}

// strict is a want that asks everything of an agent, and one that has it all.
func strict(t *rapid.T) (score.Candidate, score.Want) {
	t.Helper()
	below, err := semver.NewConstraint("<2")
	if err != nil {
		t.Fatal(err)
	}
	agent := with("agent", func(c *score.Candidate) { c.Groups, c.Streams, c.Fetches = []string{"lab", "office"}, true, true })
	return agent, score.Want{
		Agent: "agent", Tried: []string{"third"}, Groups: []string{"office"}, Versions: []score.Versions{below}, Stream: true, Large: true,
		Accepts: func(*score.Candidate) bool { return true },
	}
}

// However good an agent is otherwise, each filter alone leaves it out; of several, the first is told. Without any it may have the task.
func TestEachFilterAloneLeavesAnAgentOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		agent, want := strict(t)
		better := candidateGen().Draw(t, "an agent of any merit")
		agent.Load, agent.History, agent.Price = better.Load, better.History, better.Price
		if why, may := score.Filter(&agent, &want); !may {
			t.Fatalf("an agent that has all that is wanted is left out: %s", why)
		}
		applies := rapid.SliceOfNDistinct(rapid.IntRange(0, len(obstacles)-1), 1, 3, rapid.ID).Draw(t, "filters that apply")
		slices.Sort(applies)
		for _, n := range slices.Backward(applies) { // of two states, the one that is named first is the agent's
			obstacles[n].change(&agent, &want)
		}
		if why, may := score.Filter(&agent, &want); may || why != obstacles[applies[0]].why {
			t.Fatalf("got %q (%v), want %q", why, may, obstacles[applies[0]].why)
		}
	})
}

func TestThePayloadIsLookedAtLast(t *testing.T) {
	t.Parallel()
	c := with("agent", func(c *score.Candidate) { c.State = schemas.AgentDraining })
	score.Filter(&c, &score.Want{Accepts: func(*score.Candidate) bool {
		t.Error("the payload was checked for an agent that is draining")
		return true
	}})
}
