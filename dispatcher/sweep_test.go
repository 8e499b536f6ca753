package dispatcher_test

import (
	"context"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

func TestATaskEndsAtItsOwnExpiry(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	answered := make(chan bool, 16)
	_, err := h.broker.Conn(t).Serve(broker.SubjectControl("laptop-1"), func(_ context.Context, r *broker.Request) {
		var c schemas.Control
		if schemas.Decode(r.Data, &c) == nil && c.Do == schemas.DoCancel {
			answered <- r.Beside("more") != ""
		}
	}, broker.Plain())
	check(t, err)
	running, queued := h.brief(echo(`1`), 400*time.Millisecond), h.brief(echo(`1`), 400*time.Millisecond)
	for _, id := range []string{running.TaskID, queued.TaskID} {
		if done := h.wait(id); done.State != schemas.StateFailed || done.Error.Code != schemas.DeadlineExceeded || done.Error.Reason != schemas.ReasonExpired {
			t.Errorf("got %+v", done)
		}
	}
	if received(t, answered) {
		t.Error("an agent that is told of an expiry holds up others until it has answered")
	}
	if answer := w.complete(w.next()); answer.Outcome != schemas.OutcomeSuperseded {
		t.Errorf("a finish after the expiry got %+v", answer)
	}
}

func TestAScheduledTaskStartsWhenItIsDue(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	m := echo(`1`)
	var task *schemas.Task
	for wait := 300 * time.Millisecond; task == nil || task.Phase != schemas.PhaseScheduled && wait < patience; wait *= 2 { // as the machine needs
		m.NotBefore = schemas.At(time.Now().Add(wait))
		task = h.submit(m)
	}
	if task.Phase != schemas.PhaseScheduled || task.State != schemas.StateSubmitted {
		t.Errorf("got %s (%s)", task.Phase, task.State)
	}
	for a := (assignment{}); a.message.TaskID != task.TaskID; w.complete(a) {
		a = w.next()
	}
	if time.Now().Before(m.NotBefore.Time) {
		t.Error("it started before it was due")
	}
	h.wait(task.TaskID)
}
