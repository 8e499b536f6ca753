//go:build unix

package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// The clocks of two dispatchers and a worker are wrong, by ten minutes one way and the other. Callers and tasks do not notice: what is to
// begin or to end at a time does so by the broker's clock, whichever dispatcher looks after it.
func TestWrongClocksChangeNothing(t *testing.T) {
	t.Parallel()
	h := newHouseApart(t, 0)
	for _, skew := range []string{"600s", "-600s"} {
		d := h.addDispatcher(h.url)
		d.env = append(d.env, "REACH_TEST_CLOCK_SKEW="+skew)
		d.start()
		d.until("dispatcher up")
	}
	w := h.worker(child("late", 2, "echo", "test_run"))
	w.env = append(w.env, "REACH_TEST_CLOCK_SKEW=-600s")
	w.up()
	for _, front := range h.fronts {
		h.untilAgent(front, "late", schemas.AgentOnline)
	}
	heard := newWitness(t, h.url)
	for n, way := range h.callers() {
		t.Run(fmt.Sprint("way ", n), func(t *testing.T) {
			t.Parallel()
			noticeNothing(t, way, heard)
		})
	}
}

// noticeNothing has a caller order what begins at once, what begins later, and what expires.
func noticeNothing(t *testing.T, way caller, heard *witness) {
	t.Helper()
	near := func(what string, got schemas.Time, want time.Time) {
		t.Helper()
		if off := got.Sub(want); off.Abs() > 20*time.Second { // a machine that has much else to do is late by seconds, not by minutes
			t.Errorf("%s is %v off", what, off)
		}
	}
	asked := time.Now()
	plain := ask("test_run", `{"command":"go test"}`)
	task, err := way.submit(t.Context(), schemas.MustEncode(plain))
	check(t, err)
	near("the submit", task.SubmittedAt, asked)
	near("the expiry", task.ExpiresAt, asked.Add(24*time.Hour))
	done := heard.result(task.TaskID)
	near("the start", done.StartedAt, asked)
	near("the end", done.FinishedAt, asked)

	late := ask("echo", `{}`)
	late.NotBefore = schemas.At(time.Now().Add(2 * time.Second))
	task, err = way.submit(t.Context(), schemas.MustEncode(late))
	check(t, err)
	done = heard.result(task.TaskID)
	near("the start of a scheduled task", done.StartedAt, late.NotBefore.Time)
	if done.State != schemas.StateCompleted {
		t.Errorf("the scheduled task is %s with %v", done.State, done.Error)
	}

	short := ask("translate", `{"text":"a","target_language":"de"}`)
	short.WaitForAgent, short.ExpiresAt = true, schemas.At(time.Now().Add(3*time.Second))
	task, err = way.submit(t.Context(), schemas.MustEncode(short))
	check(t, err)
	done = heard.result(task.TaskID)
	near("the end of a task that expires", done.FinishedAt, short.ExpiresAt.Time)
	if done.Error == nil || done.Error.Reason != schemas.ReasonExpired {
		t.Errorf("the task that expires is %s with %v", done.State, done.Error)
	}
}
