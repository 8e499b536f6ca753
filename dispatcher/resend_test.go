package dispatcher_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

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
