package score_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/score"
)

func TestPeersAgreeOnTheOwnerAndOneThatGoesMovesOnlyItsShare(t *testing.T) {
	t.Parallel()
	peers := []string{"one", "two", "three"}
	counts := make(map[string]int)
	for n := range 9000 {
		key := fmt.Sprint("task-", n)
		owner := score.Owner(peers, key)
		counts[owner]++
		if other := score.Owner([]string{"three", "one", "two"}, key); other != owner {
			t.Fatalf("%s belongs to %s, and to %s for another peer", key, owner, other)
		}
		if left := slices.DeleteFunc(slices.Clone(peers), func(p string) bool { return p == "two" }); owner != "two" {
			if now := score.Owner(left, key); now != owner {
				t.Fatalf("%s moved from %s to %s when two left", key, owner, now)
			}
		}
	}
	for peer, count := range counts {
		if count < 2800 || count > 3200 {
			t.Errorf("%s owns %d of 9,000", peer, count)
		}
	}
	if got := score.Owner(nil, "task"); got != "" {
		t.Errorf("without peers, %q owns the task", got)
	}
}

// Dispatchers of two versions share their tasks while one replaces the other: the hash never changes.
func TestTheOwnerIsTheSameInEveryVersion(t *testing.T) {
	t.Parallel()
	peers := []string{"dispatcher-7f3a", "dispatcher-91bc", "dispatcher-02de"}
	for key, want := range map[string]string{
		"": "dispatcher-7f3a", "task-1": "dispatcher-91bc", "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10": "dispatcher-7f3a",
	} {
		if got := score.Owner(peers, key); got != want {
			t.Errorf("%q belongs to %s, want %s", key, got, want)
		}
	}
}

func TestPlacesAreSpreadEvenlyAndIndependently(t *testing.T) {
	t.Parallel()
	both, first := 0, 0
	for n := range 10_000 {
		key := fmt.Sprint("key-", n)
		a, b := score.Place(key, "a"), score.Place(key, "b")
		if a < 0 || a >= 1 {
			t.Fatalf("%s has place %v", key, a)
		}
		if a < .1 {
			first++
			if b < .5 {
				both++
			}
		}
	}
	if share := float64(first) / 10_000; math.Abs(share-.1) > .01 {
		t.Errorf("%.3f of the keys are in the first tenth", share)
	}
	if share := float64(both) / float64(first); math.Abs(share-.5) > .06 {
		t.Errorf("%.3f of those are in the other first half", share)
	}
}
