package score

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Strategy is a way to put candidates into order. The zero value is ByScore.
type Strategy string

const (
	// ByScore takes the highest score first; of two within Near the cheaper, then the sooner done.
	ByScore Strategy = "score"
	// LeastConcurrency takes the agent first whose share of taken slots is the smallest.
	LeastConcurrency Strategy = "least_concurrency"
	// RoundRobin goes through the agents by agent_id, a Turn of the request at a time.
	RoundRobin Strategy = "round_robin"
	// WeightedRandom draws the agents one after the other, each with a chance in proportion to its score. Turn is the seed.
	WeightedRandom Strategy = "weighted_random"
	// Sticky gives the tasks of one key to one agent, by rendezvous hashing: an agent that comes or goes moves only its own share
	// of the keys.
	Sticky Strategy = "sticky"
)

// Strategies lists every strategy.
var Strategies = []Strategy{ByScore, LeastConcurrency, RoundRobin, WeightedRandom, Sticky}

// ParseStrategy reads the name of a strategy; nothing is ByScore. The error lists those that there are.
func ParseStrategy(name string) (Strategy, error) {
	s := cmp.Or(Strategy(name), ByScore)
	if slices.Contains(Strategies, s) {
		return s, nil
	}
	names := make([]string, len(Strategies))
	for i, known := range Strategies {
		names[i] = string(known)
	}
	return "", fmt.Errorf("%q is not a strategy: there are %s", name, strings.Join(names, ", "))
}

// rounding lets .80 and .75 be within .05 of each other, whatever floating point says.
const rounding = 1e-9

// values fills in what each entry is worth to the strategy, the higher the better.
func (s *scale) values(entries []entry) {
	switch s.Strategy {
	case LeastConcurrency:
		for i := range entries {
			entries[i].value = -s.candidates[i].Taken()
		}
	case RoundRobin:
		s.turns(entries)
	case WeightedRandom:
		s.draws(entries)
	case Sticky:
		start := seed(cmp.Or(s.Sticky, s.Key))
		for i := range entries {
			entries[i].value = uniform(hash(start, s.candidates[i].AgentID))
		}
	default:
		s.band = Near + rounding
		for i := range entries {
			c, e := &s.candidates[i], &entries[i]
			e.value, e.cost, e.pace = s.score(c), amount(c.cost()), c.pace()
		}
	}
}

// turns puts the agents into a circle and starts at the one whose turn it is.
func (s *scale) turns(entries []entry) {
	byID := func(a, b entry) int { return strings.Compare(s.of(&a).AgentID, s.of(&b).AgentID) }
	if !slices.IsSortedFunc(entries, byID) {
		slices.SortFunc(entries, byID)
	}
	n := len(entries)
	for i := range entries {
		first := int(s.Turn % uint64(n))
		entries[i].value = -float64((i - first + n) % n)
	}
}

// draws gives each entry a random number whose order is that of weighted draws without putting back (Efraimidis and Spirakis,
// 2006).
func (s *scale) draws(entries []entry) {
	start := offset ^ mix(s.Turn+1)
	for i := range entries {
		c := &s.candidates[i]
		entries[i].value = math.Log(uniform(hash(start, c.AgentID))) / max(s.score(c), math.SmallestNonzeroFloat32)
	}
}
