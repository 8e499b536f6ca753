package dispatcher_test

import (
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// countsTheFeed leaves a test out of a run on a disturbed feed: it counts what comes by it.
func countsTheFeed(t *testing.T) {
	t.Helper()
	if os.Getenv(brokertest.DisturbVariable) != "" {
		t.Skip("it counts what comes by the feed, which is disturbed")
	}
}

func TestATaskThatMovedIsSentAgainToItsNewAgentThoughTheOldOneHadConfirmedIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	one := newScripted(h, "one", offer{"echo", 1})
	two := newScripted(h, "two", offer{"echo", 1})
	m := echo(`{}`)
	m.PreferAgent = "one"
	h.submit(m)
	a := one.next()
	one.receipt(a, true)
	one.fail(a, schemas.RanNo, schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "refused"))
	first := two.next() // and forgot it
	if again := two.again(); again.sequence != first.sequence {
		t.Errorf("got sequence %d, want %d again", again.sequence, first.sequence)
	}
}

func TestALostAssignmentIsSentAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	task := h.submit(echo(`{}`))
	first := w.next() // the worker's own fault: it heard it and forgot it
	again := w.again()
	if again.sequence != first.sequence {
		t.Errorf("got sequence %d again, want %d", again.sequence, first.sequence)
	}
	w.receipt(again, true)
	w.complete(again)
	h.wait(task.TaskID)
}

func TestWhatIsLateIsSentAgainAFewAtATime(t *testing.T) {
	t.Parallel()
	countsTheFeed(t)
	const tasks, atOnce = 100, 32
	cfg := quick()
	cfg.ResendAfter = 3 * time.Second
	h := newHouse(t, cfg)
	w := newScripted(h, "laptop-1", offer{"echo", tasks})
	first := map[string]bool{}
	for range tasks {
		first[h.submit(echo(`{}`)).TaskID] = true
	}
	for range tasks {
		w.next()
	}
	var again []string
	start := time.Now()
	for range atOnce {
		again = append(again, w.again().message.TaskID)
	}
	if w.again(); time.Since(start) < 200*time.Millisecond {
		t.Errorf("more than %d tasks came again within %v", atOnce, time.Since(start))
	}
	oldest := slices.Sorted(maps.Keys(first))[:2*atOnce] // two looks may overlap where the machine is slow
	for _, id := range again {
		if !slices.Contains(oldest, id) {
			t.Error("one that came again is not among the oldest")
		}
	}
}

func TestAPullBringsWhatDidNotArriveAndSaysWhatIsNotYours(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.ResendAfter = time.Minute
	h := newHouse(t, cfg)
	w := newScripted(h, "laptop-1", offer{"echo", 2})
	h.submit(echo(`1`))
	lost := w.next()
	kept := h.submit(echo(`2`))
	a := w.next()
	var got []assignment
	brokertest.Eventually(t, "the lost assignment comes by a pull", func() bool {
		var end schemas.PullEnd
		got, end = w.pull("echo", 0, a.sequence, 1_000_000_000)
		if len(end.NotYours) != 0 {
			t.Fatalf("a sequence that the dispatcher has not seen is called not yours: %v", end.NotYours)
		}
		return len(got) == 1 && got[0].sequence == lost.sequence
	})
	check(t, ignoreTask(h.any().Cancel(t.Context(), schemas.DefaultTenant, kept.TaskID)))
	_, end := w.beat(schemas.AgentOnline, []string{"echo"}, a.sequence, lost.sequence)
	if diff := cmp.Diff([]uint64{a.sequence}, end.NotYours); diff != "" {
		t.Error(diff)
	}
}
