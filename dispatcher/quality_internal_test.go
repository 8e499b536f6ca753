package dispatcher

import (
	"testing"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/failover"
	"github.com/agentreach/agent-reach/dispatcher/stats"
	"github.com/agentreach/agent-reach/schemas"
)

func TestTheQualityOfServiceDecidesHowLongAndHowOften(t *testing.T) {
	t.Parallel()
	const hint = 10 * time.Second
	for qos, want := range map[schemas.QualityOfService]struct {
		limit    time.Duration
		attempts int
	}{
		schemas.QoSRealtime: {10 * time.Second, 2},
		schemas.QoSStandard: {15 * time.Second, 3},
		schemas.QoSComplete: {30 * time.Second, 5},
	} {
		m := &schemas.ReachMessage{QualityOfService: qos}
		if got := runLimit(m, hint); got != want.limit {
			t.Errorf("%s: the run limit is %v, want %v", qos, got, want.limit)
		}
		if got := failover.Attempts(qos); got != want.attempts {
			t.Errorf("%s: %d attempts, want %d", qos, got, want.attempts)
		}
		m.RunTimeoutMS = 700
		if got := runLimit(m, hint); got != 700*time.Millisecond {
			t.Errorf("%s: the run limit is %v, want what the caller has asked for", qos, got)
		}
	}
}

func TestWhoSaysHowLongATaskTakes(t *testing.T) {
	t.Parallel()
	own, entry := &schemas.Offer{TimeoutHintMS: 4000}, schemas.Capability{TimeoutHintMS: 5000}
	known := stats.New()
	for n := range 20 {
		known.Ended("a", "echo", stats.Result{At: time.Unix(int64(n), 0), OK: true, Took: 3 * time.Second})
	}
	for _, tt := range []struct {
		name  string
		offer *schemas.Offer
		entry schemas.Capability
		seen  *stats.Series
		want  time.Duration
	}{
		{"its agent", own, entry, nil, 4 * time.Second},
		{"else the dictionary", &schemas.Offer{}, entry, nil, 5 * time.Second},
		{"of an agent that is no longer there, too", nil, entry, nil, 5 * time.Second},
		{"else nobody: 20 s", &schemas.Offer{}, schemas.Capability{}, nil, 20 * time.Second},
		{"before all of them 20 tasks of the agent's own", own, entry, known.Of("a", "echo"), 3 * time.Second},
	} {
		if got := hintOf(tt.offer, tt.entry, tt.seen); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
