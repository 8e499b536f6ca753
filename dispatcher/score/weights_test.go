package score_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/dispatcher/score"
)

func TestWeightsAreReadByName(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		named map[string]float64
		want  score.Weights
	}{
		{
			"the preset quality as people write it",
			map[string]float64{"schema_match": .4, "history_success": .3, "current_load": .2, "version_penalty": .1},
			score.Quality,
		},
		{"the preset frugal", map[string]float64{"capability": .4, "load_avg": .3, "cost_weight": .3}, score.Frugal},
		{
			"every other name",
			map[string]float64{"version": 1, "cost": 2, "health": 3, "latency": 4, "mode_fit": 5, "priority": 6},
			score.Weights{score.Version: 1, score.Cost: 2, score.Health: 3, score.Latency: 4, score.ModeFit: 5, score.Priority: 6},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := score.ParseWeights(tt.named)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWeightsThatMakeNoSenseAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		named map[string]float64
		want  string
	}{
		{"an unknown factor", map[string]float64{"luck": 1}, "luck is not a factor: there are schema_match, "},
		{"one factor under two names", map[string]float64{"version": .1, "version_penalty": .1}, "name it once"},
		{"less than nothing", map[string]float64{"cost": -1}, "the weight of cost is -1"},
		{"not a number", map[string]float64{"cost": math.NaN()}, "takes a number from 0"},
		{"infinite", map[string]float64{"cost": math.Inf(1)}, "takes a number from 0"},
		{"infinite together", map[string]float64{"cost": math.MaxFloat64, "health": math.MaxFloat64}, "too large"},
		{"nothing at all", nil, "no factor has a weight"},
		{"zeros", map[string]float64{"cost": 0}, "no factor has a weight"},
		{"priority above the others", map[string]float64{"priority": .6, "cost": .4}, "priority has 0.60 of all weight"},
		{"priority alone", map[string]float64{"priority": 1}, "priority has 1.00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := score.ParseWeights(tt.named)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestOnlyTheProportionsOfWeightsMatter(t *testing.T) {
	t.Parallel()
	candidates := different(20)
	tenfold := score.Quality
	for factor := range tenfold {
		tenfold[factor] *= 10
	}
	for i, r := range score.Rank(candidates, score.Request{Now: start, Weights: tenfold}) {
		want := score.Rank(candidates, score.Request{Now: start, Weights: score.Quality})[i]
		if r.AgentID != want.AgentID || math.Abs(r.Score-want.Score) > 1e-12 {
			t.Errorf("place %d: got %s with %v, want %s with %v", i, r.AgentID, r.Score, want.AgentID, want.Score)
		}
	}
}

func TestPresetsHaveNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]score.Weights{"usual": score.Usual, "quality": score.Quality, "frugal": score.Frugal} {
		if got, found := score.Preset(name); !found || got != want {
			t.Errorf("%s: got %v (%v)", name, got, found)
		}
	}
	if _, found := score.Preset("lavish"); found {
		t.Error("there is no preset of that name")
	}
}
