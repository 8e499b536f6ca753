package dispatcher

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// What got lost is a few: where everything is late, sending all of it again would make it later still.
func TestWhatIsLateIsSentAgainAFewAtATime(t *testing.T) {
	t.Parallel()
	const tasks = 2*resendAtOnce + 7
	d, now := still(t)
	for n := range tasks {
		d.assigned(n+1, "agent-0000")
	}
	look := func() (again []string) {
		for _, task := range d.unconfirmed()["agent-0000"] {
			again = append(again, task.ID)
		}
		slices.Sort(again)
		return again
	}
	for _, step := range []struct {
		name     string
		after    time.Duration
		from, to int
	}{
		{"they are still on their way", d.cfg.ResendAfter - 1, 0, 0},
		{"the oldest come first", 1, 0, resendAtOnce},
		{"then the next", resendTick, resendAtOnce, 2 * resendAtOnce},
		{"then the last", resendTick, 2 * resendAtOnce, tasks},
		{"each has the time to arrive", resendTick, 0, 0},
		{"and the oldest are sent again", resendWaits[0], 0, resendAtOnce},
	} {
		*now = now.Add(step.after)
		var want []string
		for n := step.from; n < step.to; n++ {
			want = append(want, fmt.Sprintf("task-%04d", n+1))
		}
		if diff := cmp.Diff(want, look()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// still is a dispatcher whose clock is the test's. It owns everything, and knows two agents that have said nothing.
func still(t *testing.T) (d *Dispatcher, now *time.Time) {
	t.Helper()
	d = crowded(t, 2)
	d.view.tasks = index.New()
	at := d.clock()
	d.cfg.ID, d.cfg.Now = "d1", func() time.Time { return at }
	d.view.peers = []string{"d1"}
	return d, &at
}

// assigned puts a task into the index as one that was assigned just now.
func (d *Dispatcher) assigned(n int, agentID string) {
	d.view.tasks.Apply(index.Event{
		Sequence: uint64(n), TaskID: fmt.Sprintf("task-%04d", n), Phase: schemas.PhaseAssigned, Capability: "echo", AgentID: agentID, At: d.clock(),
		Message: &schemas.ReachMessage{Tenant: schemas.DefaultTenant, Assignment: &schemas.Assignment{}},
	})
}
