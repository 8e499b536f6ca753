package score_test

import (
	"testing"

	"github.com/Masterminds/semver/v3"

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

func TestThePayloadIsLookedAtLast(t *testing.T) {
	t.Parallel()
	c := with("agent", func(c *score.Candidate) { c.State = schemas.AgentDraining })
	score.Filter(&c, &score.Want{Accepts: func(*score.Candidate) bool {
		t.Error("the payload was checked for an agent that is draining")
		return true
	}})
}
