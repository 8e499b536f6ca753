package dispatcher

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

// Dispatchers that share a queue do not race for its head: each hands out its own part, and another's where a slot would be free else, once
// it has waited for longer than what is its own.
func TestAPullIsGivenADispatchersOwnPartOfTheQueueFirst(t *testing.T) {
	t.Parallel()
	const early, late, latest = 0, headStart - 1, headStart
	for _, tt := range []struct {
		name        string
		own, others []time.Duration // when they were queued
		at          time.Duration   // of the pull
		free        int
		wantOwn     int
		wantOthers  int
	}{
		{"enough of its own", []time.Duration{early, early}, []time.Duration{early, early}, late, 2, 2, 0},
		{"too few of its own, and those of others are young", []time.Duration{early}, []time.Duration{early, early}, late, 3, 1, 0},
		{"none of its own, and those of others are young", nil, []time.Duration{early, early}, late, 3, 0, 0},
		{"none of its own, and those of others have waited", nil, []time.Duration{early, early}, latest, 3, 0, 2},
		{"its own are as old as those of others", []time.Duration{early}, []time.Duration{early, early}, time.Hour, 3, 1, 0},
		{"its own are much younger than those of others", []time.Duration{latest}, []time.Duration{early, early}, time.Hour, 3, 1, 2},
		{"a slot is free for one", nil, []time.Duration{early, early}, latest, 1, 0, 1},
	} {
		d, now := still(t)
		d.view.peers = []string{"d1", "d2"}
		start, n := *now, 0
		queue := func(owner string, at time.Duration) {
			id := ""
			for ; score.Owner(d.view.peers, id) != owner || id == ""; n++ {
				id = fmt.Sprintf("task-%04d", n)
			}
			d.view.tasks.Apply(index.Event{
				Sequence: uint64(n), TaskID: id, Phase: schemas.PhaseQueued, Capability: "echo", At: start.Add(at),
				Message: &schemas.ReachMessage{Tenant: schemas.DefaultTenant, Capability: "echo", Assignment: &schemas.Assignment{}},
			})
		}
		for _, at := range tt.own {
			queue("d1", at)
		}
		for _, at := range tt.others {
			queue("d2", at)
		}
		*now = start.Add(tt.at)
		d.cfg.ExcessWait = 1
		d.view.judging = now.Add(time.Hour)
		got := map[string]int{}
		for _, task := range d.pickOf(d.view.roster.agents["agent-0000"], "echo", tt.free) {
			got[score.Owner(d.view.peers, task.ID)]++
		}
		want := map[string]int{}
		if tt.wantOwn > 0 {
			want["d1"] = tt.wantOwn
		}
		if tt.wantOthers > 0 {
			want["d2"] = tt.wantOthers
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
