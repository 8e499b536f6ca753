package score_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/dispatcher/score"
)

// worth makes an agent whose score is exactly what is asked for, in a ranking by priority alone, and that costs so much.
func worth(id string, percent int, cost float64) score.Candidate {
	return with(id, func(c *score.Candidate) { c.Priority, c.PerCall = pointer(percent), pointer(cost) })
}

// paced is one that takes so long for a task.
func paced(c score.Candidate, median time.Duration) score.Candidate {
	c.Median = median
	return c
}

// busy is one that has so many tasks, and a slot for one.
func busy(c score.Candidate, inFlight int) score.Candidate {
	c.InFlight = inFlight
	return c
}

var byPriority = score.Request{Weights: score.Weights{score.Priority: 1}}

func TestOfTwoThatAreNearTheCheaperGoesFirst(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		candidates []score.Candidate
		want       []string
	}{
		{"far apart, the better", []score.Candidate{worth("dear", 80, 9), worth("cheap", 74, 1)}, []string{"dear", "cheap"}},
		{"near, the cheaper", []score.Candidate{worth("dear", 80, 9), worth("cheap", 76, 1)}, []string{"cheap", "dear"}},
		{"exactly .05 is near", []score.Candidate{worth("dear", 80, 9), worth("cheap", 75, 1)}, []string{"cheap", "dear"}},
		{"equally cheap, the better", []score.Candidate{worth("worse", 79, 1), worth("better", 80, 1)}, []string{"better", "worse"}},
		{
			"equally cheap, the sooner done",
			[]score.Candidate{paced(worth("better", 80, 1), 200*time.Millisecond), paced(worth("sooner", 76, 1), 20*time.Millisecond)},
			[]string{"sooner", "better"},
		},
		{
			"what waits before it counts",
			[]score.Candidate{busy(paced(worth("quick", 80, 1), 20*time.Millisecond), 4), paced(worth("idle", 76, 1), 60*time.Millisecond)},
			[]string{"idle", "quick"},
		},
		{
			"hardly sooner is not sooner",
			[]score.Candidate{paced(worth("sooner", 76, 1), 105*time.Millisecond), paced(worth("better", 80, 1), 110*time.Millisecond)},
			[]string{"better", "sooner"},
		},
		{
			"nobody feels a few milliseconds",
			[]score.Candidate{paced(worth("sooner", 76, 1), time.Millisecond), paced(worth("better", 80, 1), 9*time.Millisecond)},
			[]string{"better", "sooner"},
		},
		{
			"far apart, the better, however slow",
			[]score.Candidate{paced(worth("slow", 80, 1), time.Minute), paced(worth("quick", 74, 1), time.Millisecond)},
			[]string{"slow", "quick"},
		},
		{
			"the cheaper, however slow",
			[]score.Candidate{paced(worth("slow", 80, 1), time.Minute), paced(worth("quick", 80, 2), time.Millisecond)},
			[]string{"slow", "quick"},
		},
		{
			"only what is near the best is in the running",
			[]score.Candidate{worth("best", 80, 9), worth("near", 76, 5), worth("far", 72, 1)},
			[]string{"near", "best", "far"},
		},
		{
			"the next best has its own neighbours",
			[]score.Candidate{worth("best", 80, 1), worth("second", 74, 9), worth("third", 70, 1)},
			[]string{"best", "third", "second"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, ids(score.Rank(tt.candidates, byPriority))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// priced are agents with random scores and prices, many of them near each other.
func priced(t *rapid.T) []score.Candidate {
	candidates := make([]score.Candidate, rapid.IntRange(0, 30).Draw(t, "agents"))
	for i := range candidates {
		percent, cost := rapid.IntRange(50, 80).Draw(t, "score"), rapid.IntRange(0, 4).Draw(t, "cost")
		candidates[i] = worth(fmt.Sprint("agent-", i), percent, float64(cost))
	}
	return candidates
}

func TestTheOrderByScoreAsAProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ranked := score.Rank(priced(t), byPriority)
		for i, first := range ranked {
			for j, later := range ranked[i+1:] {
				better := later.Score - first.Score
				cheaper := *later.PerCall < *first.PerCall
				if better > score.Near+1e-6 {
					t.Fatalf("%s (%v) stands before %s (%v)", first.AgentID, first.Score, later.AgentID, later.Score)
				}
				if math.Abs(better) < score.Near-1e-6 && cheaper && !pulledAlong(ranked[i+1:i+1+j], later) {
					t.Fatalf("%s stands before %s, which is near and cheaper", first.AgentID, later.AgentID)
				}
			}
		}
	})
}

// pulledAlong reports whether someone between two is so much better than the later one that it could not go first.
func pulledAlong(between []score.Ranked, later score.Ranked) bool {
	return slices.ContainsFunc(between, func(b score.Ranked) bool { return b.Score-later.Score > score.Near })
}

func requestGen() *rapid.Generator[score.Request] {
	return rapid.Custom(func(t *rapid.T) score.Request {
		return score.Request{
			Strategy: rapid.SampledFrom(append(score.Strategies, "")).Draw(t, "strategy"),
			Weights:  rapid.SampledFrom([]score.Weights{score.Quality, score.Frugal, {}, {score.Priority: 1}}).Draw(t, "weights"),
			Key:      rapid.StringMatching(`[a-c]`).Draw(t, "key"),
			Sticky:   rapid.SampledFrom([]string{"", "session"}).Draw(t, "sticky"),
			Turn:     rapid.Uint64Range(0, 9).Draw(t, "turn"),
			Prefer:   rapid.SampledFrom([]string{"", "b"}).Draw(t, "prefer"),
			Stream:   rapid.Bool().Draw(t, "stream"),
			Now:      start,
		}
	})
}

func candidatesGen() *rapid.Generator[[]score.Candidate] {
	return rapid.SliceOfNDistinct(candidateGen(), 0, 12, func(c score.Candidate) string { return c.AgentID })
}

func TestTheOrderDoesNotDependOnTheOrderOfTheCandidates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		candidates, request := candidatesGen().Draw(t, "candidates"), requestGen().Draw(t, "request")
		want := ids(score.Rank(slices.Clone(candidates), request))
		got := ids(score.Rank(rapid.Permutation(candidates).Draw(t, "permutation"), request))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestTopIsTheBeginningOfRank(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		candidates, request := candidatesGen().Draw(t, "candidates"), requestGen().Draw(t, "request")
		n := rapid.IntRange(0, len(candidates)+2).Draw(t, "n")
		want := ids(score.Rank(candidates, request))
		if diff := cmp.Diff(want[:min(n, len(want))], ids(score.Top(n, candidates, request))); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestChooseIsTheTopAndTheBestOfThoseWithRoom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		candidates, request := candidatesGen().Draw(t, "candidates"), requestGen().Draw(t, "request")
		if request.Weights == (score.Weights{}) {
			request.Weights = score.Quality
		}
		request.Weights[score.Version] = 0 // versions are compared with those of all candidates
		choice := score.Choose(3, candidates, request)
		if diff := cmp.Diff(ids(score.Top(3, candidates, request)), ids(choice.Chain)); diff != "" {
			t.Fatal(diff)
		}
		var want, got []string
		want = ids(score.Top(1, roomy(candidates, request), request))
		if choice.Free != nil {
			got = []string{choice.Free.AgentID}
		}
		if !slices.Equal(want, got) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// roomy are those that may be handed one more task, told in another way than Choose does.
func roomy(candidates []score.Candidate, r score.Request) []score.Candidate {
	tier := func(c *score.Candidate) int {
		switch {
		case r.Prefer == c.AgentID:
			return 2
		case r.Stream && c.Streams:
			return 1
		}
		return 0
	}
	var tiers [3]struct{ free, rest []score.Candidate }
	var all []score.Candidate
	for _, c := range candidates {
		switch t := &tiers[tier(&c)]; {
		case !c.Room():
			continue
		case c.Free():
			t.free = append(t.free, c)
		default:
			t.rest = append(t.rest, c)
		}
		all = append(all, c)
	}
	if r.Strategy == score.Sticky {
		return all
	}
	for t := 2; t >= 0; t-- {
		if free := tiers[t].free; len(free) > 0 && r.Strategy != score.ByScore && r.Strategy != "" {
			return free
		} else if len(free) > 0 {
			lead := score.Top(1, free, r)[0]
			return append(free, slices.DeleteFunc(tiers[t].rest, func(c score.Candidate) bool {
				waves := 1 + float64(c.InFlight+1-max(1, c.Slots))/float64(max(1, c.Slots))
				return 2*time.Duration(float64(c.Median)*waves) >= lead.Median
			})...)
		}
		if len(tiers[t].rest) > 0 {
			return tiers[t].rest
		}
	}
	return nil
}

func TestNobodyWaitsAtOneAgentWhileAnotherIsFree(t *testing.T) {
	t.Parallel()
	fast := with("fast", func(c *score.Candidate) { c.InFlight, c.Excess, c.Median = 1, 5, 10*time.Millisecond }) // done after 20 ms
	slow := with("slow", func(c *score.Candidate) { c.Median = 40 * time.Millisecond })
	slower := with("slower", func(c *score.Candidate) { c.Median = 41 * time.Millisecond })
	full := with("full", func(c *score.Candidate) { c.InFlight = 1 })
	tests := []struct {
		name    string
		agents  []score.Candidate
		request score.Request
		want    string
	}{
		{"a free one goes before a faster one that is busy", []score.Candidate{fast, slow}, score.Request{}, "slow"},
		{"but not before one that is done much sooner though it waits", []score.Candidate{fast, slower}, score.Request{}, "fast"},
		{"unless the turn is what counts", []score.Candidate{fast, slower}, score.Request{Strategy: score.RoundRobin}, "slower"},
		{"where none is free, the one where it hardly waits", []score.Candidate{fast, full}, score.Request{}, "fast"},
		{"a preferred one is worth the wait", []score.Candidate{fast, slow}, score.Request{Prefer: "fast"}, "fast"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.request.Weights, tt.request.Now = score.Weights{score.Latency: 1}, start
			choice := score.Choose(3, tt.agents, tt.request)
			if choice.Free == nil || choice.Free.AgentID != tt.want {
				t.Errorf("got %+v, want %s", choice.Free, tt.want)
			}
		})
	}
}

// Of two agents that differ in one thing alone, the one that is better in it leads by the weight of its factor, times the difference.
func TestEachWeightMovesTheOrderAsItsFactorSays(t *testing.T) {
	t.Parallel()
	better := map[score.Factor]func(*score.Candidate){
		score.SchemaMatch:    func(c *score.Candidate) { c.Fit = score.Fit{} },
		score.HistorySuccess: func(c *score.Candidate) { c.Successes = 9 },
		score.CurrentLoad:    func(c *score.Candidate) { c.InFlight = 0 },
		score.Cost:           func(c *score.Candidate) { c.PerCall = pointer(.5) },
		score.Health:         func(c *score.Candidate) { c.Heard = start },
		score.Latency:        func(c *score.Candidate) { c.Median = time.Second },
		score.Version:        func(c *score.Candidate) { c.Version = semver.MustParse("1.1.0") },
		score.ModeFit:        func(c *score.Candidate) { c.Streams = true },
		score.Priority:       func(c *score.Candidate) { c.Priority = pointer(90) },
		score.Capability:     func(c *score.Candidate) { c.Offers = true },
		score.LoadAverage:    func(c *score.Candidate) { c.Average = 0 },
		score.CostWeight:     func(c *score.Candidate) { c.Weight = pointer(.1) },
	}
	worse := func(c *score.Candidate) {
		c.Fit = score.Fit{Required: 2, Present: 1}
		c.Results, c.Slots, c.InFlight, c.Average = 10, 4, 2, .1
		c.PerCall, c.Weight = pointer(3.), pointer(4.)
		c.Heard, c.Median, c.Offers = start.Add(-30*time.Second), 10*time.Second, false
	}
	for factor, improve := range better {
		t.Run(factor.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				var weights score.Weights
				weights[score.Priority] = .01 // what is alike moves nothing
				weights[factor] += rapid.Float64Range(.01, 10).Draw(t, "weight")
				total := weights[score.Priority]
				if factor != score.Priority {
					total += weights[factor]
				}
				a, b := with("a", worse), with("b", worse)
				improve(&a)
				ranked := score.Rank([]score.Candidate{a, b}, score.Request{Weights: weights, Now: start, Stream: true})
				if ranked[0].AgentID != "a" {
					t.Fatalf("%s leads", ranked[0].AgentID)
				}
				difference := ranked[0].Factors()[factor] - ranked[1].Factors()[factor]
				if got, want := ranked[0].Score-ranked[1].Score, weights[factor]/total*difference; difference <= 0 || math.Abs(got-want) > 1e-9 {
					t.Fatalf("it leads by %v, want %v", got, want)
				}
			})
		})
	}
}

func TestRankingChangesNothing(t *testing.T) {
	t.Parallel()
	candidates := different(50)
	before := slices.Clone(candidates)
	for _, strategy := range score.Strategies {
		score.Rank(candidates, score.Request{Strategy: strategy, Now: start})
		score.Choose(3, candidates, score.Request{Strategy: strategy, Now: start})
	}
	for i := range candidates {
		if candidates[i].AgentID != before[i].AgentID {
			t.Fatalf("place %d now has %s", i, candidates[i].AgentID)
		}
	}
}

func TestThePreferredAgentGoesFirstAndTakesTheTaskIfItHasRoom(t *testing.T) {
	t.Parallel()
	best, worst := worth("best", 90, 1), worth("worst", 10, 9)
	request := score.Request{Prefer: "worst", Weights: byPriority.Weights}
	for inFlight, want := range []string{"worst", "best"} {
		worst.InFlight = inFlight
		got := score.Choose(3, []score.Candidate{best, worst}, request)
		if got.Chain[0].AgentID != "worst" || got.Free.AgentID != want {
			t.Errorf("with %d in flight the chain begins with %s, and %s takes the task", inFlight, got.Chain[0].AgentID, got.Free.AgentID)
		}
	}
}

func TestForAStreamAgentsThatStreamGoFirst(t *testing.T) {
	t.Parallel()
	better := worth("better", 90, 1)
	streams := worth("streams", 50, 9)
	streams.Streams = true
	request := byPriority
	if got := ids(score.Rank([]score.Candidate{better, streams}, request)); got[0] != "better" {
		t.Errorf("without a stream: %v", got)
	}
	request.Stream = true
	if got := ids(score.Rank([]score.Candidate{better, streams}, request)); got[0] != "streams" {
		t.Errorf("with a stream: %v", got)
	}
}

func TestNobodyToRankIsNoTrouble(t *testing.T) {
	t.Parallel()
	for _, strategy := range score.Strategies {
		choice := score.Choose(3, nil, score.Request{Strategy: strategy})
		if len(choice.Chain) != 0 || choice.Free != nil || len(score.Rank(nil, score.Request{Strategy: strategy})) != 0 {
			t.Errorf("%s: somebody was found", strategy)
		}
	}
}
