package score_test

import (
	"math"
	"testing"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

var almost = cmpopts.EquateApprox(0, 1e-12)

func TestEachFactorByHand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		factor score.Factor
		change func(*score.Candidate)
		want   float64
	}{
		{"an agent whose schema knows nothing else fits wholly", score.SchemaMatch, func(*score.Candidate) {}, 1},
		{
			"half of the required, a quarter of the others, another format", score.SchemaMatch,
			func(c *score.Candidate) {
				c.Fit = score.Fit{Required: 2, Present: 1, Optional: 4, Declared: 1, OtherOutput: true}
			}, .6*.5 + .2*.25,
		},
		{"an agent without a past", score.HistorySuccess, func(*score.Candidate) {}, .8},
		{"ten failures", score.HistorySuccess, func(c *score.Candidate) { c.Results = 10 }, 4. / 15},
		{"a hundred successes", score.HistorySuccess, func(c *score.Candidate) { c.Results, c.Successes = 100, 100 }, 104. / 105},
		{"nothing to do", score.CurrentLoad, func(*score.Candidate) {}, 1},
		{
			"full of tasks, though the machine is idle", score.CurrentLoad,
			func(c *score.Candidate) { c.Slots, c.InFlight, c.Average = 4, 4, .1 }, .5,
		},
		{
			"without tasks, though the machine is busy", score.CurrentLoad,
			func(c *score.Candidate) { c.Slots, c.InFlight, c.Average = 4, 1, 3 }, .25,
		},
		{"a cost that nobody has named is 1", score.Cost, func(*score.Candidate) {}, .5},
		{"the weight counts", score.Cost, func(c *score.Candidate) { c.Weight = pointer(.25) }, .8},
		{
			"the price of a call counts more", score.Cost,
			func(c *score.Candidate) { c.Weight, c.PerCall = pointer(.25), pointer(3.) }, .25,
		},
		{"for nothing", score.Cost, func(c *score.Candidate) { c.PerCall = pointer(0.) }, 1},
		{"heard just now", score.Health, func(*score.Candidate) {}, 1},
		{"heard just now, under load", score.Health, func(c *score.Candidate) { c.Average = 1 }, .5},
		{"heard one interval ago", score.Health, func(c *score.Candidate) { c.Heard = start.Add(-15 * time.Second) }, 1},
		{"halfway to the end", score.Health, func(c *score.Candidate) { c.Heard = start.Add(-30 * time.Second) }, .5},
		{"silent for its time", score.Health, func(c *score.Candidate) { c.Heard = start.Add(-45 * time.Second) }, 0},
		{"never heard", score.Health, func(c *score.Candidate) { c.Heard = time.Time{} }, 0},
		{"heard in the future", score.Health, func(c *score.Candidate) { c.Heard = start.Add(time.Hour) }, 1},
		{"of unknown speed", score.Latency, func(*score.Candidate) {}, 1},
		{"a quarter of its hint", score.Latency, func(c *score.Candidate) { c.Median, c.Hint = 10*time.Second, 40*time.Second }, .8},
		{"as long as is usual, without a hint", score.Latency, func(c *score.Candidate) { c.Median = 20 * time.Second }, .5},
		{"the newest", score.Version, func(c *score.Candidate) { c.Version = semver.MustParse("3.2.1") }, 1},
		{"the newest but for its build", score.Version, func(c *score.Candidate) { c.Version = semver.MustParse("3.2.1+linux") }, 1},
		{"a patch behind", score.Version, func(c *score.Candidate) { c.Version = semver.MustParse("3.2.0") }, .75},
		{"not yet released", score.Version, func(c *score.Candidate) { c.Version = semver.MustParse("3.2.1-rc.1") }, .75},
		{"a minor version behind", score.Version, func(c *score.Candidate) { c.Version = semver.MustParse("3.1.9") }, .5},
		{"a major version behind", score.Version, func(c *score.Candidate) { c.Version = semver.MustParse("2.9.9") }, 0},
		{"of an unknown version", score.Version, func(c *score.Candidate) { c.Version = nil }, 0},
		{"it can stream", score.ModeFit, func(c *score.Candidate) { c.Streams = true }, 1},
		{"it cannot stream", score.ModeFit, func(*score.Candidate) {}, 0},
		{"of no declared priority", score.Priority, func(*score.Candidate) {}, .5},
		{"of priority 80", score.Priority, func(c *score.Candidate) { c.Priority = pointer(80) }, .8},
		{"it offers the very capability", score.Capability, func(*score.Candidate) {}, 1},
		{"it does not offer it", score.Capability, func(c *score.Candidate) { c.Offers = false }, 0},
		{"load alone, whatever is in flight", score.LoadAverage, func(c *score.Candidate) { c.Average, c.InFlight = 3, 9 }, .25},
		{
			"the weight alone, whatever a call costs", score.CostWeight,
			func(c *score.Candidate) { c.Weight, c.PerCall = pointer(3.), pointer(0.) }, .25,
		},
	}
	for _, tt := range tests {
		t.Run(tt.factor.String()+": "+tt.name, func(t *testing.T) {
			t.Parallel()
			newest := with("newest", func(c *score.Candidate) { c.Version = semver.MustParse("3.2.1") })
			candidates := []score.Candidate{with("agent", tt.change), newest}
			ranked := score.Rank(candidates, score.Request{Now: start, Stream: true, Prefer: "agent"})
			if got := ranked[0].Factors()[tt.factor]; math.Abs(got-tt.want) > 1e-12 {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// Two agents as the presets see them: what each factor is, and what the sums are, was worked out on paper.
func TestPresetsByHand(t *testing.T) {
	t.Parallel()
	laptop := with("laptop", func(c *score.Candidate) {
		c.Version = semver.MustParse("1.1.0")
		c.Fit = score.Fit{Required: 2, Present: 2, Optional: 2, Declared: 1} // .6 + .1 + .2 = .9
		c.Successes, c.Results = 46, 50                                      // 50/55 = 10/11
		c.Slots, c.InFlight, c.Average = 4, 1, .5                            // 1/1.5 = 2/3
		c.Weight = pointer(2.)                                               // 1/3
		c.PerCall = pointer(100.)                                            // neither preset looks at it
	})
	server := with("server", func(c *score.Candidate) {
		c.Version = semver.MustParse("1.2.0")
		c.Slots, c.InFlight, c.Average = 8, 8, .25 // 1/2; by average alone 1/1.25 = .8
		c.Weight = pointer(4.)                     // 1/5
	})
	tests := []struct {
		name           string
		weights        score.Weights
		laptop, server float64
	}{
		{
			"quality", score.Quality,
			.4*.9 + .3*10/11 + .2*2/3 + .1*.5, // .36 + .272727… + .133333… + .05 = .816060…
			.4*1 + .3*.8 + .2*.5 + .1*1,       // .4 + .24 + .1 + .1 = .84
		},
		{
			"frugal", score.Frugal,
			.4 + .3*2/3 + .3/3, // .4 + .2 + .1 = .7
			.4 + .3*.8 + .3/5,  // .4 + .24 + .06 = .7
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := make(map[string]float64)
			for _, r := range score.Rank([]score.Candidate{laptop, server}, score.Request{Weights: tt.weights, Now: start}) {
				got[r.AgentID] = r.Score
			}
			if diff := cmp.Diff(map[string]float64{"laptop": tt.laptop, "server": tt.server}, got, almost); diff != "" {
				t.Error(diff)
			}
		})
	}
	if diff := cmp.Diff(.816060606060606, .4*.9+.3*10/11+.2*2/3+.1*.5, almost); diff != "" {
		t.Error(diff)
	}
}

func TestABusyStrongMachineLosesToAnIdleWeakOne(t *testing.T) {
	t.Parallel()
	strong := with("strong", func(c *score.Candidate) {
		c.Priority = pointer(100)
		c.Slots, c.InFlight, c.Average = 8, 8, 2
		c.Weight = pointer(1.)
	})
	weak := with("weak", func(c *score.Candidate) {
		c.Priority = pointer(0)
		c.Average = .05
		c.Weight = pointer(1.)
	})
	priority := score.Weights{score.Priority: .5, score.CurrentLoad: .5}
	presets := map[string]score.Weights{"quality": score.Quality, "frugal": score.Frugal, "half of it priority": priority}
	for name, weights := range presets {
		choice := score.Choose(3, []score.Candidate{strong, weak}, score.Request{Weights: weights, Now: start})
		if choice.Free == nil || choice.Free.AgentID != "weak" {
			t.Errorf("%s: %+v gets the task", name, choice.Free)
		}
		if name != "half of it priority" && choice.Chain[0].AgentID != "weak" {
			t.Errorf("%s: the chain begins with %s", name, choice.Chain[0].AgentID)
		}
	}
}

func candidateGen() *rapid.Generator[score.Candidate] {
	states := []schemas.AgentState{
		schemas.AgentOnline, schemas.AgentPending, schemas.AgentDegraded, schemas.AgentDraining, schemas.AgentOffline,
	}
	return rapid.Custom(func(t *rapid.T) score.Candidate {
		optional := func(g *rapid.Generator[float64], name string) *float64 {
			if rapid.Bool().Draw(t, "has "+name) {
				return pointer(g.Draw(t, name))
			}
			return nil
		}
		return score.Candidate{
			AgentID: rapid.StringMatching(`[a-z]{1,4}`).Draw(t, "id"),
			Standing: score.Standing{
				State: rapid.SampledFrom(states).Draw(t, "state"), Offers: rapid.Bool().Draw(t, "offers"),
				Version: rapid.SampledFrom([]*semver.Version{nil, semver.MustParse("1.0.0"), semver.MustParse("1.2.0")}).Draw(t, "version"),
				Broken:  rapid.Bool().Draw(t, "broken"), Streams: rapid.Bool().Draw(t, "streams"),
			},
			Load: score.Load{
				Average: rapid.SampledFrom([]float64{0, .5, 1, 3, -1, math.NaN(), math.Inf(1)}).Draw(t, "load"),
				Slots:   rapid.IntRange(-1, 4).Draw(t, "slots"), InFlight: rapid.IntRange(0, 5).Draw(t, "in flight"),
				Excess: rapid.IntRange(0, 2).Draw(t, "excess"),
				Heard:  start.Add(-time.Duration(rapid.IntRange(-5, 60).Draw(t, "silent")) * time.Second),
			},
			History: score.History{
				Successes: rapid.IntRange(0, 100).Draw(t, "ok"), Results: rapid.IntRange(0, 100).Draw(t, "n"),
				Median: time.Duration(rapid.Int64Range(-1, 100).Draw(t, "p50")) * time.Second,
				Hint:   time.Duration(rapid.Int64Range(-1, 100).Draw(t, "hint")) * time.Second,
			},
			Price: score.Price{
				PerCall: optional(rapid.SampledFrom([]float64{0, .1, 2, -3, math.NaN()}), "call"),
				Weight:  optional(rapid.Float64Range(0, 5), "weight"),
			},
		}
	})
}

func TestEveryFactorAndScoreLiesBetween0And1WhateverAgentsReport(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		candidates := rapid.SliceOfN(candidateGen(), 1, 5).Draw(t, "candidates")
		for _, r := range score.Rank(candidates, score.Request{Now: start}) {
			for name, value := range r.Factors().ByName() {
				if !(value >= 0 && value <= 1) {
					t.Errorf("%s of %s is %v", name, r.AgentID, value)
				}
			}
			if !(r.Score >= 0 && r.Score <= 1+1e-9) {
				t.Errorf("the score of %s is %v", r.AgentID, r.Score)
			}
		}
	})
}
