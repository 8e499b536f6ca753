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

func TestACancelThatTheAgentDoesNotConfirmSaysSo(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]func(*scripted){
		"it says that it still runs": func(w *scripted) { w.goesOn.Store(true) },
		"it is not there":            (*scripted).vanish,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := quick()
			cfg.HeartbeatTTL, cfg.DisconnectGrace = time.Minute, time.Minute // nobody else ends it
			h := newHouse(t, cfg)
			w := newScripted(h, "laptop-1", offer{"test_run", 1})
			task := h.submit(work())
			w.begin(w.next())
			silent(w)
			canceled, err := h.any().Cancel(t.Context(), schemas.DefaultTenant, task.TaskID)
			check(t, err)
			kept := h.task(task.TaskID)
			for who, got := range map[string]*schemas.Task{"the answer": canceled, "the record": kept} {
				if got.State != schemas.StateCanceled || got.Cancel == nil || !got.Cancel.Won || got.Cancel.Confirmed {
					t.Errorf("%s: %s, %+v; want it canceled and not confirmed", who, got.State, got.Cancel)
				}
			}
		})
	}
}
