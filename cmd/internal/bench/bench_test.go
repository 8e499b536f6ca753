package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"a scenario that does not exist": {Scenarios: []string{"A", "X"}},
		"fewer than no tasks":            {Tasks: -1},
		"fewer than no repetitions":      {Repetitions: -1},
		"a payload that is no JSON":      {PayloadBytes: 3},
	} {
		if _, err := newBench(o.withDefaults()); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	b, err := newBench(Options{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for b.repetition = 1; b.repetition <= 2; b.repetition++ {
		for _, s := range scenarios() {
			if s.run == nil || s.group != "M" && b.tasks(s) == 0 {
				t.Errorf("%s measures nothing", s.name)
			}
			if b.wants(s) && b.repetition == 1 {
				names = append(names, s.system+" "+s.name)
			}
		}
	}
	want := []string{
		"floor-writes A", "floor-chain A", "agent-reach A", "floor-requests B", "floor-chain B", "agent-reach B", "floor-stream C", "agent-reach C", "agent-reach D4", "agent-reach D50", "agent-reach D500",
		"agent-reach D2000", "agent-reach Q1", "agent-reach Q3",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	b.options.Scenarios = []string{"M"}
	for b.repetition = 1; b.repetition <= 2; b.repetition++ {
		if s := scenarios()[len(scenarios())-1]; b.wants(s) != (b.repetition == 1) {
			t.Errorf("M in repetition %d: %v", b.repetition, b.wants(s))
		}
	}
}

func TestAProcessIsStartedWithoutOurSettings(t *testing.T) {
	t.Parallel()
	got := environment([]string{"PATH=/bin", "REACH_URL=nats://elsewhere", "GOGC=50", "REACH_LOG_LEVEL=debug"})
	if diff := cmp.Diff([]string{"PATH=/bin", "GOGC=50"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
