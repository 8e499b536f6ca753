package score_test

import (
	"fmt"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/score"
)

// crowds are the candidates of the benchmarks: all different, and all alike.
var crowds = []struct {
	name string
	make func(n int) []score.Candidate
}{
	{"different", different},
	{"alike", alike},
}

func BenchmarkRank(b *testing.B) {
	for _, crowd := range crowds {
		candidates := crowd.make(1000)
		b.Run(crowd.name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				score.Rank(candidates, score.Request{Key: fmt.Sprint(n), Now: start})
			}
		})
	}
}

func BenchmarkChoose(b *testing.B) {
	for _, crowd := range crowds {
		candidates := crowd.make(1000)
		for _, strategy := range score.Strategies {
			b.Run(crowd.name+"/"+string(strategy), func(b *testing.B) {
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					score.Choose(3, candidates, score.Request{Strategy: strategy, Turn: uint64(n), Key: "task", Now: start})
				}
			})
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	candidates := different(1000)
	want := score.Want{Groups: []string{"lab"}, Tried: []string{"agent-007"}}
	b.ReportAllocs()
	for b.Loop() {
		for i := range candidates {
			score.Filter(&candidates[i], &want)
		}
	}
}

func BenchmarkOwner(b *testing.B) {
	peers := []string{"one", "two", "three"}
	b.ReportAllocs()
	for b.Loop() {
		score.Owner(peers, "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10")
	}
}
