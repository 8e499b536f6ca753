package score_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/dispatcher/score"
)

// draws counts how often each agent comes first.
func draws(n int, candidates []score.Candidate, request func(n int) score.Request) map[string]int {
	counts := make(map[string]int)
	for i := range n {
		counts[score.Top(1, candidates, request(i))[0].AgentID]++
	}
	return counts
}

func TestEqualAgentsShareTheTasksFairly(t *testing.T) {
	t.Parallel()
	for _, strategy := range score.Strategies {
		counts := draws(10_000, alike(4), func(n int) score.Request {
			return score.Request{Strategy: strategy, Key: fmt.Sprint("task-", n), Turn: uint64(n)}
		})
		for agent, count := range counts {
			if count < 2300 || count > 2700 {
				t.Errorf("%s: %s got %d of 10,000", strategy, agent, count)
			}
		}
		if len(counts) != 4 {
			t.Errorf("%s: only %d agents got tasks", strategy, len(counts))
		}
	}
}

func TestLeastConcurrencyTakesTheSmallestShareOfTakenSlots(t *testing.T) {
	t.Parallel()
	busy := func(id string, inFlight, slots int) score.Candidate {
		return with(id, func(c *score.Candidate) { c.InFlight, c.Slots = inFlight, slots })
	}
	got := ids(score.Rank([]score.Candidate{
		busy("half", 2, 4), busy("full", 1, 1), busy("quarter", 2, 8), busy("over", 3, 2), busy("idle", 0, 1),
	}, score.Request{Strategy: score.LeastConcurrency}))
	if diff := cmp.Diff([]string{"idle", "quarter", "half", "full", "over"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRoundRobinGoesThroughTheAgentsInTurn(t *testing.T) {
	t.Parallel()
	candidates := []score.Candidate{idle("b"), idle("c"), idle("a")}
	for turn, want := range [][]string{{"a", "b", "c"}, {"b", "c", "a"}, {"c", "a", "b"}, {"a", "b", "c"}} {
		got := ids(score.Rank(candidates, score.Request{Strategy: score.RoundRobin, Turn: uint64(turn)}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("turn %d:\n%s", turn, diff)
		}
	}
	candidates[2].InFlight = 1
	free := make(map[string]int)
	for turn := range 100 {
		free[score.Choose(3, candidates, score.Request{Strategy: score.RoundRobin, Turn: uint64(turn)}).Free.AgentID]++
	}
	if diff := cmp.Diff(map[string]int{"b": 50, "c": 50}, free); diff != "" {
		t.Errorf("while a is full, its neighbour does not get its share as well:\n%s", diff)
	}
}

func TestWeightedRandomDrawsInProportionToTheScores(t *testing.T) {
	t.Parallel()
	candidates := []score.Candidate{worth("a", 10, 0), worth("b", 20, 0), worth("c", 70, 0)}
	weights := byPriority.Weights
	counts := draws(20_000, candidates, func(n int) score.Request {
		return score.Request{Strategy: score.WeightedRandom, Weights: weights, Turn: uint64(n)}
	})
	for agent, want := range map[string]float64{"a": .1, "b": .2, "c": .7} {
		if got := float64(counts[agent]) / 20_000; math.Abs(got-want) > .015 {
			t.Errorf("%s came first in %.3f of the draws, want %.3f", agent, got, want)
		}
	}
	second := make(map[string]int)
	for n := range 20_000 {
		ranked := score.Top(2, candidates, score.Request{Strategy: score.WeightedRandom, Weights: weights, Turn: uint64(n)})
		if ranked[0].AgentID == "c" {
			second[ranked[1].AgentID]++
		}
	}
	if got := float64(second["b"]) / float64(second["a"]+second["b"]); math.Abs(got-2./3) > .02 {
		t.Errorf("b is second to c in %.3f of the draws, want %.3f", got, 2./3)
	}
}

func TestStickyKeepsAKeyAtItsAgentWhoeverComesOrGoes(t *testing.T) {
	t.Parallel()
	home := func(candidates []score.Candidate, key, task string) string {
		return score.Top(1, candidates, score.Request{Strategy: score.Sticky, Sticky: key, Key: task})[0].AgentID
	}
	all := alike(10)
	moved := 0
	for n := range 2000 {
		key := fmt.Sprint("session-", n)
		before := home(all, key, "first")
		if again := home(all, key, "second"); again != before {
			t.Fatalf("%s went to %s, then to %s", key, before, again)
		}
		after := home(all[:9], key, "third")
		if after != before {
			moved++
			if before != all[9].AgentID {
				t.Fatalf("%s moved from %s, which is still there, to %s", key, before, after)
			}
		}
	}
	if moved < 120 || moved > 280 {
		t.Errorf("%d of 2,000 keys were at the tenth agent", moved)
	}
}

func TestStrategiesAreReadByName(t *testing.T) {
	t.Parallel()
	for _, strategy := range score.Strategies {
		if got, err := score.ParseStrategy(string(strategy)); err != nil || got != strategy {
			t.Errorf("%s: got %s, %v", strategy, got, err)
		}
	}
	if got, err := score.ParseStrategy(""); err != nil || got != score.ByScore {
		t.Errorf("nothing: got %s, %v", got, err)
	}
	_, err := score.ParseStrategy("fastest")
	if err == nil || !strings.Contains(err.Error(), "there are score, least_concurrency, round_robin, weighted_random, sticky") {
		t.Errorf("got %v", err)
	}
}
