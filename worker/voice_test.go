package worker

import (
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

func TestVoice(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	v := &Voice{Silence: time.Minute, Now: func() time.Time { return now }}
	steps := []struct {
		name   string
		word   *schemas.Control // nil: it says nothing
		later  time.Duration
		ill    bool
		serves bool // echo
		load   float64
	}{
		{"it has never spoken, and need not", nil, time.Hour, false, true, 0},
		{"it says that it lives", &schemas.Control{LoadAvg: 0.5}, 0, false, true, 0.5},
		{"it is silent for a while", nil, 59 * time.Second, false, true, 0.5},
		{"it is silent for too long", nil, time.Second, true, true, 0.5},
		{"it can do only something else", &schemas.Control{Capabilities: []string{"text_stats"}}, 0, false, false, 0},
		{"it says goodbye", &schemas.Control{Reason: schemas.BeatGoodbye}, 0, true, true, 0},
		{"it is back", &schemas.Control{}, 0, false, true, 0},
	}
	for _, step := range steps {
		now = now.Add(step.later)
		if step.word != nil && !v.hear(*step.word) {
			t.Errorf("%s: that was no news", step.name)
		}
		ill, load := v.ill() != nil, v.load(func() float64 { return -1 })
		if ill != step.ill || v.serves("echo") != step.serves || load != step.load {
			t.Errorf("%s: ill %v, serves %v, load %v", step.name, ill, v.serves("echo"), load)
		}
	}
	if v.hear(schemas.Control{}) {
		t.Error("the same again is news")
	}
	var nobody *Voice
	if nobody.ill() != nil || !nobody.serves("echo") || nobody.load(func() float64 { return 2 }) != 2 {
		t.Error("a voice that nobody listens to says something")
	}
}
