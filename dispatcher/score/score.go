// Package score ranks the agents that may run a task. It is pure: the same candidates give the same order, whatever order they
// come in.
package score

import (
	"cmp"
	"hash/fnv"
	"slices"
)

// Candidate is one agent that passed every filter.
type Candidate struct {
	AgentID  string
	Slots    int // how many tasks of the capability it runs at once, ≥ 1
	InFlight int // how many it has now, those on their way to it included
}

// Load is the share of the agent's slots that are taken: 0 when idle, 1 when full, more when tasks wait at the agent.
func (c Candidate) Load() float64 { return float64(c.InFlight) / float64(max(1, c.Slots)) }

// Rank orders candidates, the best first, by least concurrency: the smallest load wins. Ties are broken by a hash of key and
// agent_id, so that equal agents share the tasks fairly and every dispatcher decides alike. The input is not changed.
func Rank(candidates []Candidate, key string) []Candidate {
	ranked := make([]tied, len(candidates))
	for i, c := range candidates {
		ranked[i] = tied{c, tieBreak(key, c.AgentID)}
	}
	slices.SortFunc(ranked, func(a, b tied) int {
		return cmp.Or(cmp.Compare(a.Load(), b.Load()), cmp.Compare(a.tie, b.tie), cmp.Compare(a.AgentID, b.AgentID))
	})
	ordered := make([]Candidate, len(ranked))
	for i, r := range ranked {
		ordered[i] = r.Candidate
	}
	return ordered
}

type tied struct {
	Candidate
	tie uint64
}

func tieBreak(key, agentID string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(agentID))
	return mix(h.Sum64())
}

// mix spreads FNV's weak high bits over the whole word (the finaliser of splitmix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Owner is the one of several peers that a key belongs to, by rendezvous hashing (Thaler and Ravishankar, 1998): every peer that
// knows the same peers agrees, and a peer that goes or comes moves only its own share. Empty if there are no peers.
func Owner(peers []string, key string) string {
	var owner string
	var best uint64
	for _, peer := range peers {
		if weight := tieBreak(key, peer); owner == "" || weight > best || weight == best && peer < owner {
			owner, best = peer, weight
		}
	}
	return owner
}
