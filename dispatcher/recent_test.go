package dispatcher

import (
	"testing"
	"time"
)

// It does not run in parallel: allocations are counted.
func TestWhatEndedLatelyIsRememberedAtNoCost(t *testing.T) {
	const perSecond = 20_000
	var recent recentlyEnded
	at := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	add := func() {
		at = at.Add(time.Second / perSecond)
		recent.add(endedAt{taskID: "task", at: at}, time.Second)
	}
	for range 2 * perSecond {
		add()
	}
	if got := len(recent.ring); got < perSecond || got > perSecond+1 {
		t.Errorf("%d ends are remembered, want those of the last second, %d", got, perSecond)
	}
	if allocs := testing.AllocsPerRun(perSecond, add); allocs >= 1 {
		t.Errorf("each end costs %v allocations", allocs)
	}
	for range maxRecent + 10 {
		recent.add(endedAt{at: at}, time.Second)
	}
	if got := len(recent.ring); got != maxRecent {
		t.Errorf("%d ends of one moment are remembered, want %d", got, maxRecent)
	}
}
