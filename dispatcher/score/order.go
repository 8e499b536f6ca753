package score

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// entry is a candidate on its way into the order.
type entry struct {
	c     *Candidate
	tier  int     // those of a higher tier go first
	value float64 // what it is worth to the strategy
	cost  float64 // 0 where it does not count
	tie   uint64
	score float64
}

func (s *scale) entries(candidates []Candidate) []entry {
	entries := make([]entry, len(candidates))
	start := seed(s.Key)
	for i := range candidates {
		c := &candidates[i]
		entries[i] = entry{c: c, tier: s.tier(c), tie: hash(start, c.AgentID), score: s.score(c)}
	}
	s.values(entries)
	return entries
}

func (s *scale) tier(c *Candidate) int {
	switch {
	case s.Prefer != "" && s.Prefer == c.AgentID:
		return 2
	case s.Stream && c.Streams:
		return 1
	}
	return 0
}

// leads compares by what counts first: below 0 if e is better than another, of whatever cost.
func (e *entry) leads(other *entry) int {
	if e.tier != other.tier {
		return other.tier - e.tier
	}
	return descending(e.value, other.value)
}

// near reports whether an entry may go before the one that leads.
func (s *scale) near(lead, e *entry) bool {
	return lead.tier == e.tier && lead.value-e.value <= s.band
}

// before compares two that may both be next: below 0 if e is to go first.
func (e *entry) before(other *entry) int {
	switch {
	case e.cost != other.cost:
		return descending(other.cost, e.cost)
	case e.value != other.value:
		return descending(e.value, other.value)
	case e.tie != other.tie:
		return cmp.Compare(e.tie, other.tie)
	}
	return strings.Compare(e.c.AgentID, other.c.AgentID)
}

// descending compares two numbers, neither of which is NaN.
func descending(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

// top brings the first n into their places, one after the other.
func (s *scale) top(n int, entries []entry) []entry {
	n = min(n, len(entries))
	for place := range n {
		left := entries[place:]
		next := s.next(left)
		left[0], left[next] = left[next], left[0]
	}
	return entries[:n]
}

// next finds the one that goes before all others.
func (s *scale) next(left []entry) int {
	lead := 0
	for i := range left {
		if left[i].leads(&left[lead]) < 0 {
			lead = i
		}
	}
	next := lead
	for i := range left {
		if s.near(&left[lead], &left[i]) && left[i].before(&left[next]) < 0 {
			next = i
		}
	}
	return next
}

// all is top of all of them, in n·log n: every place goes to the first by cost of those whose value lets them be next.
func (s *scale) all(entries []entry) []entry {
	byValue, byCost := indices(len(entries)), indices(len(entries))
	slices.SortFunc(byValue, func(a, b int) int { return entries[a].leads(&entries[b]) })
	slices.SortFunc(byCost, func(a, b int) int { return entries[a].before(&entries[b]) })
	rank := make([]int, len(entries)) // by cost
	for place, at := range byCost {
		rank[at] = place
	}
	ordered := make([]entry, 0, len(entries))
	taken := make([]bool, len(entries))
	open := newBits(len(entries)) // the ranks of those that may be next
	for lead, end := 0, 0; len(ordered) < len(entries); {
		for taken[byValue[lead]] {
			lead++
		}
		for ; end < len(entries) && s.near(&entries[byValue[lead]], &entries[byValue[end]]); end++ {
			open.set(rank[byValue[end]])
		}
		next := byCost[open.takeLowest()]
		taken[next] = true
		ordered = append(ordered, entries[next])
	}
	return ordered
}

func indices(n int) []int {
	indices := make([]int, n)
	for i := range indices {
		indices[i] = i
	}
	return indices
}

// bitset is a set of small numbers.
type bitset []uint64

func newBits(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) set(n int) { b[n/64] |= 1 << (n % 64) }

// takeLowest takes the lowest number out of a set that is not empty.
func (b bitset) takeLowest() int {
	word := 0
	for b[word] == 0 {
		word++
	}
	lowest := word*64 + bits.TrailingZeros64(b[word])
	b[word] &= b[word] - 1
	return lowest
}
