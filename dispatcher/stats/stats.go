// Package stats keeps what is known of each agent from the tasks that it has ended. It is a pure value: its owner holds a lock.
package stats

import "time"

// weight of the newest task in the moving mean.
const weight = 0.2

// Stats is the recent speed of each agent, by capability. Its size is bounded by the agents and capabilities registered: Forget an
// agent that is no longer.
type Stats struct{ means map[key]time.Duration }

type key struct{ agentID, capability string }

// New knows nothing.
func New() *Stats { return &Stats{means: make(map[key]time.Duration)} }

// Ran notes that an agent took so long for one task.
func (s *Stats) Ran(agentID, capability string, took time.Duration) {
	k := key{agentID, capability}
	mean, known := s.means[k]
	if !known {
		s.means[k] = took
		return
	}
	s.means[k] = mean + time.Duration(weight*float64(took-mean))
}

// Mean is how long a task took recently, an exponentially weighted mean; known is false before the first.
func (s *Stats) Mean(agentID, capability string) (mean time.Duration, known bool) {
	mean, known = s.means[key{agentID, capability}]
	return mean, known
}

// Forget drops what is known of an agent.
func (s *Stats) Forget(agentID string) {
	for k := range s.means {
		if k.agentID == agentID {
			delete(s.means, k)
		}
	}
}
