package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// some are two repetitions of a floor and of what is compared with it.
var some = []Measurement{
	{System: FloorWrites, Scenario: "A", Repetition: 1, N: 100, TasksPerS: 1000, P50MS: 1, P99MS: 2, CPUPerTaskUS: 50, PeakMB: 60},
	{System: Reach, Scenario: "A", Repetition: 1, N: 100, TasksPerS: 500, P50MS: 4, P99MS: 9, CPUPerTaskUS: 150, PeakMB: 200},
	{System: FloorWrites, Scenario: "A", Repetition: 2, N: 100, TasksPerS: 2000, P50MS: 2, P99MS: 3, CPUPerTaskUS: 70, PeakMB: 61, OthersCPU: 8},
	{System: Reach, Scenario: "A", Repetition: 2, N: 100, TasksPerS: 600, P50MS: 5, P99MS: 8, CPUPerTaskUS: 160, PeakMB: 201},
}

func TestTable(t *testing.T) {
	t.Parallel()
	want := [][]string{
		{
			"floor-writes", "A", "100", "1500 (1000–2000)", "1.50 (1.00–2.00)", "2.50 (2.00–3.00)", "60 (50–70)", "60 (60–61)", "4 (0–8)",
		},
		{
			"agent-reach", "A", "100", "550 (500–600)", "4.50 (4.00–5.00)", "8.50 (8.00–9.00)", "155 (150–160)", "200 (200–201)", "0 (0–0)",
		},
	}
	got := Table(some)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(got[0]) != len(Header) {
		t.Errorf("%d columns under %d names", len(got[0]), len(Header))
	}
}

func TestRatiosCompareWhatRanTogether(t *testing.T) {
	t.Parallel()
	want := [][]string{{"throughput A / two writes", "0.40 (0.30–0.50)", "≥ 0.40"}}
	if diff := cmp.Diff(want, Ratios(some)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := Ratios(some[:1]); got != nil {
		t.Errorf("a floor alone is compared: %v", got)
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		values []float64
		want   spread
	}{
		{"of nothing", nil, spread{}},
		{"of one", []float64{7}, spread{7, 7, 7}},
		{"of an odd number", []float64{3, 1, 2}, spread{2, 1, 3}},
		{"of an even number", []float64{4, 1, 2, 3}, spread{2.5, 1, 4}},
	} {
		if got := spreadOf(tt.values); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
