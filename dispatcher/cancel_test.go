package dispatcher_test

import (
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

func TestCancelInEveryPhase(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"test_run", 2})
	assigned, begun, queued := h.submit(work()), h.submit(work()), h.submit(work())
	soon := work()
	soon.NotBefore = schemas.At(time.Now().Add(time.Hour))
	scheduled := h.submit(soon)
	for range 2 {
		if a := w.next(); a.message.TaskID == begun.TaskID {
			w.begin(a)
		}
	}
	for _, at := range []struct {
		id    string
		phase schemas.Phase
	}{ // what waits comes first: it would take the place of what is canceled
		{queued.TaskID, schemas.PhaseQueued},
		{scheduled.TaskID, schemas.PhaseScheduled},
		{assigned.TaskID, schemas.PhaseAssigned},
		{begun.TaskID, schemas.PhaseBegun},
	} {
		id, phase := at.id, at.phase
		if got := h.task(id); got.Phase != phase {
			t.Fatalf("got %s, want %s", got.Phase, phase)
		}
		task, err := h.any().Cancel(t.Context(), schemas.DefaultTenant, id)
		check(t, err)
		if task.State != schemas.StateCanceled || !task.Cancel.Won || !task.Cancel.Confirmed {
			t.Errorf("canceled while %s: got %s, %+v", phase, task.State, task.Cancel)
		}
		if kept := h.task(id); kept.Revision != task.Revision || phase != schemas.PhaseQueued && phase != schemas.PhaseScheduled && (kept.Cancel == nil || !kept.Cancel.Confirmed) {
			t.Errorf("canceled while %s: the record says %+v at %d, want it confirmed at %d", phase, kept.Cancel, kept.Revision, task.Revision)
		}
		again, err := h.any().Cancel(t.Context(), schemas.DefaultTenant, id)
		check(t, err)
		if again.State != schemas.StateCanceled || again.Cancel.Won || again.Revision != task.Revision {
			t.Errorf("a second cancel changed something: %+v, %+v", again, again.Cancel)
		}
	}
	for range 2 {
		if c := <-w.controls; c.Do != schemas.DoCancel {
			t.Errorf("the worker was told %+v", c)
		}
	}
}
