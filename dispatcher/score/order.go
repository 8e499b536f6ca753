package score

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// entry is a candidate on its way into the order. It has no pointers: there are as many of them as candidates.
type entry struct {
	at     int32 // among the candidates
	tier   int8  // those of a higher tier go first
	hashed bool  // tie is known
	pace   int16 // of those that cost the same, the lower goes first
	value  float64
	cost   float64 // 0 where it does not count
	tie    uint64
}

func (s *scale) entries() []entry {
	entries := make([]entry, len(s.candidates))
	for i := range entries {
		entries[i].at = int32(i)
		entries[i].tier = s.tier(&s.candidates[i])
	}
	s.values(entries)
	return entries
}

func (s *scale) of(e *entry) *Candidate { return &s.candidates[e.at] }

func (s *scale) tier(c *Candidate) int8 {
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
		return int(other.tier) - int(e.tier)
	}
	return descending(e.value, other.value)
}

// near reports whether an entry may go before the one that leads.
func (s *scale) near(lead, e *entry) bool {
	return lead.tier == e.tier && lead.value-e.value <= s.band
}

// before compares two that may both be next: below 0 if e is to go first.
func (s *scale) before(e, other *entry) int {
	switch {
	case e.cost != other.cost:
		return descending(other.cost, e.cost)
	case e.pace != other.pace:
		return int(e.pace) - int(other.pace)
	case e.value != other.value:
		return descending(e.value, other.value)
	}
	if a, b := s.tie(e), s.tie(other); a != b {
		return cmp.Compare(a, b)
	}
	return strings.Compare(s.of(e).AgentID, s.of(other).AgentID)
}

// tie is what breaks ties, made when the first is to be broken.
func (s *scale) tie(e *entry) uint64 {
	if !e.hashed {
		e.hashed, e.tie = true, hash(s.start, s.of(e).AgentID)
	}
	return e.tie
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
		if s.near(&left[lead], &left[i]) && s.before(&left[i], &left[next]) < 0 {
			next = i
		}
	}
	return next
}

// all is top of all of them, in n·log n: every place goes to the first by cost of those whose value lets them be next.
func (s *scale) all(entries []entry) []entry {
	byValue, byCost := indices(len(entries)), indices(len(entries))
	slices.SortFunc(byValue, func(a, b int32) int { return entries[a].leads(&entries[b]) })
	slices.SortFunc(byCost, func(a, b int32) int { return s.before(&entries[a], &entries[b]) })
	rank := make([]int32, len(entries)) // by cost
	for place, at := range byCost {
		rank[at] = int32(place)
	}
	ordered := make([]entry, 0, len(entries))
	taken := make([]bool, len(entries))
	open := newBits(len(entries)) // the ranks of those that may be next
	for lead, end := 0, 0; len(ordered) < len(entries); {
		for taken[byValue[lead]] {
			lead++
		}
		for ; end < len(entries) && s.near(&entries[byValue[lead]], &entries[byValue[end]]); end++ {
			open.set(int(rank[byValue[end]]))
		}
		next := byCost[open.takeLowest()]
		taken[next] = true
		ordered = append(ordered, entries[next])
	}
	return ordered
}

func indices(n int) []int32 {
	indices := make([]int32, n)
	for i := range indices {
		indices[i] = int32(i)
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
