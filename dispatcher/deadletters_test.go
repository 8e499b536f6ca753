package dispatcher_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// fragile is a payload that would be another if anybody counted with its numbers.
const fragile = `{"command":"go test","n":9007199254740993,"x":1e400,"y":1.0}`

// aborted is a task with side effects whose agent said that it does not know what it did.
func aborted(h *house, w *scripted) (*schemas.Task, assignment) {
	h.t.Helper()
	m := work()
	m.Payload = schemas.Payload(fragile)
	task := h.submit(m)
	a := w.next()
	a.sequence = w.begin(a).Sequence
	w.fail(a, schemas.RanUnknown, schemas.NewError(schemas.Unavailable, schemas.ReasonConnectionLost, "lost"))
	return h.wait(task.TaskID), a
}

func TestADeadLetterIsListedRetriedAndPurged(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"test_run", 2})
	dead, _ := aborted(h, w)
	if !dead.DeadLetter || dead.Error.Code != schemas.Aborted || dead.KeptUntil.Before(time.Now().Add(6*24*time.Hour)) {
		t.Fatalf("got %+v, want a dead letter that is kept for a week", dead)
	}
	list := func() []schemas.Task {
		page, err := h.any().ListTasks(t.Context(), schemas.DefaultTenant, schemas.TaskQuery{DeadLetter: true})
		check(t, err)
		return page.Items
	}
	if got := list(); len(got) != 1 || got[0].TaskID != dead.TaskID {
		t.Errorf("the dead letters are %v", got)
	}
	retried, err := h.any().Retry(t.Context(), schemas.DefaultTenant, dead.TaskID)
	check(t, err)
	if retried.TaskID == dead.TaskID || retried.RetryOf != dead.TaskID {
		t.Errorf("got %+v, want a new task that says whose retry it is", retried)
	}
	again, err := h.any().Retry(t.Context(), schemas.DefaultTenant, dead.TaskID)
	check(t, err)
	if again.TaskID != retried.TaskID {
		t.Error("retrying twice made two tasks")
	}
	a := w.next()
	if string(a.message.Payload) != fragile || a.message.Attempt != 1 {
		t.Errorf("the retry came with %s, attempt %d", []byte(a.message.Payload), a.message.Attempt)
	}
	old := h.task(dead.TaskID)
	if old.RetriedAs != retried.TaskID || old.State != schemas.StateFailed || !old.FinishedAt.Equal(dead.FinishedAt.Time) {
		t.Errorf("the old task says %+v", old)
	}
	_, err = h.any().Purge(t.Context(), schemas.DefaultTenant, dead.TaskID)
	check(t, err)
	if got := list(); len(got) != 0 {
		t.Errorf("after the purge there are still %v", got)
	}
	purged := h.task(dead.TaskID)
	if purged.State != schemas.StateFailed || purged.DeadLetter {
		t.Errorf("the purge left %+v", purged)
	}
	_, err = h.any().Purge(t.Context(), schemas.DefaultTenant, dead.TaskID)
	wantCode(t, err, schemas.NotFound, schemas.ReasonNoDeadLetter)
	if got := h.task(dead.TaskID); got.Revision != purged.Revision {
		t.Errorf("a purge of nothing has written revision %d after %d", got.Revision, purged.Revision)
	}
	_, err = h.any().Retry(t.Context(), "somebody-else", dead.TaskID)
	wantCode(t, err, schemas.NotFound, "")
	_, err = h.any().Retry(t.Context(), schemas.DefaultTenant, retried.TaskID)
	wantCode(t, err, schemas.FailedPrecondition, "")
}

func TestARetryThatIsRefusedLeavesTheOldTaskAsItWas(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"test_run", 2})
	dead, _ := aborted(h, w)
	_, err := h.any().Drain(t.Context(), "laptop-1")
	check(t, err)
	_, err = h.any().Retry(t.Context(), schemas.DefaultTenant, dead.TaskID)
	wantCode(t, err, schemas.Unavailable, schemas.ReasonNoAgent)
	if got := h.task(dead.TaskID); got.RetriedAs != "" || got.Revision != dead.Revision {
		t.Errorf("the old task says %+v", got)
	}
}

func TestAResultThatComesTooLateIsKeptForThePersonWhoDecides(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"test_run", 2})
	seen := make(chan string, 64)
	heard, err := h.any().conn.Subscribe(broker.SubjectResult(schemas.DefaultTenant, broker.Any), func(_ string, body []byte) {
		var task schemas.Task
		check(t, schemas.Decode(body, &task))
		seen <- task.TaskID
	})
	check(t, err)
	defer heard.Close()
	dead, a := aborted(h, w)
	late := w.result(a, schemas.StateCompleted)
	late.Result = schemas.Payload(`{"passed":true,"output":"it did run"}`)
	if answer := w.finish(late); answer.Outcome != schemas.OutcomeSuperseded {
		t.Errorf("a late finish got %+v", answer)
	}
	brokertest.Eventually(t, "the late result is kept", func() bool { return string(h.task(dead.TaskID).LateResult) == string(late.Result) })
	if got := h.task(dead.TaskID); got.State != schemas.StateFailed || got.Result != nil || got.Error.Code != schemas.Aborted {
		t.Errorf("the late result changed the end: %+v", got)
	}
	after, _ := aborted(h, w) // its result comes behind all that was published of the first
	if diff := cmp.Diff([]string{dead.TaskID, after.TaskID}, []string{received(t, seen), received(t, seen)}); diff != "" {
		t.Errorf("what was published (-want +got):\n%s", diff)
	}
}

func TestWhatExpiresOrIsLostLandsInTheDeadLetters(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 4})
	expired := h.wait(h.brief(echo(`"payload"`), 200*time.Millisecond).TaskID)
	w.next()
	refused := h.submit(echo(`1`))
	w.fail(w.next(), schemas.RanYes, schemas.NewError(schemas.InvalidArgument, "", "no"))
	answered := h.wait(refused.TaskID)
	if !expired.DeadLetter || answered.DeadLetter {
		t.Errorf("dead letters: expired %v, answered by its agent %v; want only the first", expired.DeadLetter, answered.DeadLetter)
	}
	fresh := h.start(quick())
	page, err := fresh.ListTasks(t.Context(), schemas.DefaultTenant, schemas.TaskQuery{DeadLetter: true})
	check(t, err)
	if len(page.Items) != 1 || page.Items[0].TaskID != expired.TaskID {
		t.Errorf("a new dispatcher lists %v", page.Items)
	}
}
