// Package stats keeps what is known of each agent from the tasks that it has ended: how often it did well, and how long it took.
// The scores, the estimates of a queue and the metrics live on it. It is a pure value that takes now: its owner holds a lock.
package stats

import (
	"iter"
	"time"
)

// What counts as recent.
const (
	MaxResults = 100              // so many results at most,
	MaxAge     = 15 * time.Minute // and for the success none older than that
)

// Stats is the series of every agent, by capability. Its size is bounded by the agents and capabilities registered: Forget an
// agent that is no longer.
type Stats struct{ series map[Key]*Series }

// Key names a series.
type Key struct{ AgentID, Capability string }

// New knows nothing.
func New() *Stats { return &Stats{series: make(map[Key]*Series)} }

// Ended notes how a task of an agent ended.
func (s *Stats) Ended(agentID, capability string, r Result) {
	key := Key{agentID, capability}
	if s.series[key] == nil {
		s.series[key] = new(Series)
	}
	s.series[key].add(r)
}

// Of is what is known of an agent with a capability; nil, whose methods know nothing, before the first result.
func (s *Stats) Of(agentID, capability string) *Series { return s.series[Key{agentID, capability}] }

// Mean is how long a task took recently, an exponentially weighted mean; known is false before the first.
func (s *Stats) Mean(agentID, capability string) (mean time.Duration, known bool) {
	return s.Of(agentID, capability).Mean()
}

// All runs over every series, in no order.
func (s *Stats) All() iter.Seq2[Key, *Series] {
	return func(yield func(Key, *Series) bool) {
		for key, series := range s.series {
			if !yield(key, series) {
				return
			}
		}
	}
}

// Forget drops what is known of an agent.
func (s *Stats) Forget(agentID string) {
	for key := range s.series {
		if key.AgentID == agentID {
			delete(s.series, key)
		}
	}
}
