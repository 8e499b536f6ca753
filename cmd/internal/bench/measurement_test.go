package bench

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

// upTo is the times from 1 ms to n ms.
func upTo(n int) []time.Duration {
	times := make([]time.Duration, n)
	for i := range times {
		times[i] = time.Duration(i+1) * time.Millisecond
	}
	return times
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		sorted []time.Duration
		q      float64
		want   time.Duration
	}{
		{"of nothing", nil, .5, 0},
		{"of one", upTo(1), .99, time.Millisecond},
		{"the median of an odd number", upTo(5), .5, 3 * time.Millisecond},
		{"the median of an even number is the lower one", upTo(4), .5, 2 * time.Millisecond},
		{"99 of 100", upTo(100), .99, 99 * time.Millisecond},
		{"99 of 101", upTo(101), .99, 100 * time.Millisecond},
		{"the least", upTo(10), 0, time.Millisecond},
		{"the most", upTo(10), 1, 10 * time.Millisecond},
	} {
		if got := quantile(tt.sorted, tt.q); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestAMeasurementAsALine(t *testing.T) {
	t.Parallel()
	m := Measurement{
		System: Reach, Scenario: "A", Repetition: 2, PayloadBytes: 300, Agents: 4, Dispatchers: 1, CPUPerTaskUS: 250.5,
		CPUByRole: map[string]float64{roleBroker: 50, roleCaller: 200.5}, OthersCPU: 1.25, PeakMB: 99.5,
		PeakByRole: map[string]float64{roleBroker: 99.5},
	}
	m.fill([]time.Duration{3 * time.Millisecond, time.Millisecond, 2500 * time.Microsecond}, 1500*time.Millisecond)
	want := `{"system":"agent-reach","scenario":"A","repetition":2,"n":3,"payload_bytes":300,"agents":4,"dispatchers":1,` +
		`"tasks_per_s":2,"p50_ms":2.5,"p99_ms":3,"cpu_us_per_task":250.5,"cpu_us_by_role":{"broker":50,"caller":200.5},` +
		`"other_cpu_percent":1.25,"peak_mb":99.5,"peak_mb_by_role":{"broker":99.5}}`
	if diff := cmp.Diff(want, string(schemas.MustEncode(m))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
