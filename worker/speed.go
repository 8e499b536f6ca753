package worker

import "time"

// speed is how long an agent's tasks took lately, by capability: a moving mean in which the last eight weigh most.
type speed map[string]time.Duration

func (s speed) note(capability string, took time.Duration) {
	if mean, known := s[capability]; known {
		took = mean + (took-mean)/8
	}
	s[capability] = max(took, 1)
}
