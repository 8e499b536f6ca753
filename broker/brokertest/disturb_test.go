package brokertest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDisturbedFeed(t *testing.T) {
	t.Parallel()
	const events = 10_000
	heard := disturbedSequence(1, 0.1, events)
	if diff := cmp.Diff(heard, disturbedSequence(1, 0.1, events)); diff != "" {
		t.Errorf("the same seed disturbs differently: %s", diff)
	}
	if cmp.Equal(heard, disturbedSequence(2, 0.1, events)) {
		t.Error("another seed disturbs alike")
	}

	times := make([]int, events)
	overtaken := 0
	for i, event := range heard {
		times[event]++
		if i > 0 && event < heard[i-1] {
			overtaken++
		}
	}
	counts := map[string]int{"overtaken": overtaken}
	for _, n := range times {
		switch n {
		case 0:
			counts["dropped"]++
		case 2:
			counts["doubled"]++
		}
	}
	for _, kind := range []string{"dropped", "doubled", "overtaken"} {
		if got := counts[kind]; got < 250 || got > 420 {
			t.Errorf("%d of %d events %s, want about 333", got, events, kind)
		}
	}
}

func TestAnUndisturbedFeed(t *testing.T) {
	t.Parallel()
	heard := disturbedSequence(1, 0, 1000)
	for i, event := range heard {
		if event != i {
			t.Fatalf("event %d came as number %d", event, i)
		}
	}
	if len(heard) != 1000 {
		t.Errorf("%d of 1000 events came", len(heard))
	}
}

func TestTheLastEventMayBeLost(t *testing.T) {
	t.Parallel()
	lost := map[int]int{}
	for seed := range int64(100) {
		lost[2-len(disturbedSequence(seed, 1, 2))]++
	}
	if lost[1] == 0 || lost[2] == 0 {
		t.Errorf("lost of two events, by how many: %v", lost)
	}
}

func TestHandlersAreDisturbedDifferently(t *testing.T) {
	t.Parallel()
	wrap := disturbed[int](1, 0.5)
	var first, second []int
	one := wrap(func(event int) { first = append(first, event) })
	two := wrap(func(event int) { second = append(second, event) })
	for i := range 100 {
		one(i)
		two(i)
	}
	if cmp.Equal(first, second) {
		t.Error("two handlers heard the same")
	}
}

// disturbedSequence is what is heard of the events 0, 1, 2, …
func disturbedSequence(seed int64, rate float64, events int) (heard []int) {
	hear := disturbed[int](seed, rate)(func(event int) { heard = append(heard, event) })
	for i := range events {
		hear(i)
	}
	return heard
}
