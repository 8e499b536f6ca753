package score

import (
	"cmp"
	"slices"
	"time"
)

// Near is how close two scores are between which the cost decides.
const Near = .05

// Request is what one task asks of a ranking.
type Request struct {
	Strategy Strategy
	Weights  Weights
	Key      string // the task: ties between equal agents are broken by it, so that they share the tasks fairly
	Sticky   string // what tasks that belong together have in common; empty: Key
	Turn     uint64 // the count of RoundRobin, the seed of WeightedRandom
	Prefer   string // this agent goes before all others, if it is there
	Stream   bool   // the result is to be streamed: agents that can go before those that cannot

	Now      time.Time     // what Health measures the last sign of life against
	Interval time.Duration // of heartbeats; zero: DefaultInterval
	TTL      time.Duration // of a silent agent; zero: DefaultTTL
}

// Ranked is a candidate with what it was worth. The score is the weighted sum of its factors whatever the strategy was; it
// counted only where the strategy looks at it.
type Ranked struct {
	*Candidate
	Score float64

	scale *scale
}

// Apart is the same, for as long as the caller likes: the candidates that were ranked may be overwritten.
func (r Ranked) Apart() Ranked {
	candidate, scale := *r.Candidate, *r.scale
	scale.candidates = nil
	r.Candidate, r.scale = &candidate, &scale
	return r
}

// Factors explain the score.
func (r Ranked) Factors() Factors { return r.scale.factors(r.Candidate) }

// Weighty are the factors that have a weight in the score. The caller leaves them as they are.
func (r Ranked) Weighty() []Factor { return r.scale.weighty }

// Rank orders candidates, the best first. The preferred agent comes before all, and agents that can stream come before others if
// the result is to be streamed; beyond that the strategy decides, and where it finds two agents equal, a hash of the key.
//
// By score, each place goes to the cheapest of those that are within Near of the best that is left; of equally cheap ones to the
// one that would be done with it first, then to the best. So one that is better by more than Near always goes first, and of two within Near the cheaper does, unless a third stands
// between them that is better than the cheaper one by more than Near: with such a third no order suits all three.
//
// The input is not changed, but Ranked points into it.
func Rank(candidates []Candidate, r Request) []Ranked {
	s := newScale(candidates, &r)
	return s.ranked(s.all(s.entries()))
}

// Top is the first n of Rank, found without ordering the rest.
func Top(n int, candidates []Candidate, r Request) []Ranked {
	s := newScale(candidates, &r)
	return s.ranked(s.top(n, s.entries()))
}

// Choice is what a plan is made of.
type Choice struct {
	Chain []Ranked // the best, in order, whether they have room or not
	Free  *Ranked  // the best among those that have room; nil if none has
}

// Choose gives the first n of Rank, and the first that Rank would give of those candidates alone that have room. Where some have a free
// slot, the others have no room: nobody waits at one agent, however briefly, while another could begin. Worth that wait are a preferred
// agent, the agent of a sticky key, for a stream those that can stream, and by score one that would be done in less than half the time
// that the best of the free ones takes.
func Choose(n int, candidates []Candidate, r Request) Choice {
	s := newScale(candidates, &r)
	entries := s.entries()
	choice := Choice{Chain: s.ranked(s.top(n, entries))}
	roomy := s.roomy(entries)
	if r.Strategy == RoundRobin {
		s.turns(roomy) // theirs is a smaller circle
	}
	if free := s.ranked(s.top(1, roomy)); len(free) > 0 {
		choice.Free = &free[0]
	}
	return choice
}

// roomy are the entries that may be handed one more task.
func (s *scale) roomy(entries []entry) []entry {
	roomy := slices.DeleteFunc(entries, func(e entry) bool { return !s.of(&e).Room() })
	if s.Strategy == Sticky || len(roomy) == 0 {
		return roomy
	}
	top := slices.MaxFunc(roomy, func(a, b entry) int { return cmp.Compare(a.tier, b.tier) }).tier
	roomy = slices.DeleteFunc(roomy, func(e entry) bool { return e.tier < top })
	free := s.freeFirst(roomy)
	if free == 0 {
		return roomy
	}
	kept := roomy[:free]
	if cmp.Or(s.Strategy, ByScore) == ByScore {
		lead := s.of(&kept[s.next(kept)]).Median
		for _, e := range roomy[free:] {
			if 2*s.of(&e).expected() < lead {
				kept = append(kept, e)
			}
		}
	}
	return kept
}

// freeFirst puts those with a free slot before the others, and counts them.
func (s *scale) freeFirst(entries []entry) (free int) {
	for i := range entries {
		if s.of(&entries[i]).Free() {
			entries[i], entries[free] = entries[free], entries[i]
			free++
		}
	}
	return free
}

func (s *scale) ranked(entries []entry) []Ranked {
	ranked := make([]Ranked, len(entries))
	for i := range entries {
		c := s.of(&entries[i])
		ranked[i] = Ranked{Candidate: c, Score: s.score(c), scale: s}
	}
	return ranked
}
