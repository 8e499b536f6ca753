package dispatcher_test

import (
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

// TestACallerIsToldHoweverItsTaskEndsElsewhere: the dispatcher that was asked to tell does so, whichever of them writes the end and owns it.
func TestACallerIsToldHoweverItsTaskEndsElsewhere(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick(), quick())
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	told := make(chan string, 64)
	heard, err := h.broker.Conn(t).Subscribe("_INBOX.caller._results", func(_ string, body []byte) {
		var task schemas.Task
		check(t, schemas.Decode(body, &task))
		told <- task.TaskID + " " + string(task.State) + " " + string(task.Result)
	})
	check(t, err)
	defer heard.Close()
	for i := range 20 {
		d := h.dispatchers[i%len(h.dispatchers)]
		sent := echo(`{"n":1}`)
		sent.TaskID = schemas.NewTaskID()
		d.Tell(sent.TaskID, "_INBOX.caller._results")
		d.Tell(schemas.NewTaskID(), "_INBOX.caller._results")() // forgotten
		if _, err := d.Submit(t.Context(), schemas.DefaultTenant, &sent); err != nil {
			t.Fatal(err)
		}
		w.complete(w.next())
		if got, want := received(t, told), sent.TaskID+" completed "; got[:len(want)] != want {
			t.Errorf("told %q, want %q", got, want)
		}
	}
	if n := len(told); n > 0 {
		t.Errorf("%d more were told", n)
	}
}
