package index_test

import (
	"testing"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

func TestWhenATaskIsSlow(t *testing.T) {
	t.Parallel()
	hinted := func(a schemas.Assignment) *schemas.Assignment {
		a.TimeoutHintMS = 1000
		return &a
	}
	for _, tt := range []struct {
		name       string
		phase      schemas.Phase
		assignment *schemas.Assignment
		after      time.Duration // it was assigned
		want       bool
	}{
		{"as long as was expected", schemas.PhaseAssigned, hinted(schemas.Assignment{}), time.Second, false},
		{"longer", schemas.PhaseAssigned, hinted(schemas.Assignment{}), 1001 * time.Millisecond, true},
		{"begun lately", schemas.PhaseBegun, hinted(schemas.Assignment{BegunAt: schemas.At(start.Add(time.Minute))}), time.Minute + time.Second, false},
		{"begun long ago", schemas.PhaseBegun, hinted(schemas.Assignment{BegunAt: schemas.At(start.Add(time.Minute))}), 2 * time.Minute, true},
		{"no agent has it", schemas.PhaseQueued, hinted(schemas.Assignment{}), time.Hour, false},
		{"nobody knows how long it takes", schemas.PhaseAssigned, &schemas.Assignment{}, time.Hour, false},
		{"there is no assignment", schemas.PhaseAssigned, nil, time.Hour, false},
	} {
		task := &index.Task{Phase: tt.phase, At: start, Terms: &index.Terms{Assignment: tt.assignment}}
		if got := task.Slow(start.Add(tt.after)); got != tt.want {
			t.Errorf("%s: slow %v, want %v", tt.name, got, tt.want)
		}
	}
}
