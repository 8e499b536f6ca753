package dispatcher_test

import (
	"fmt"
	"testing"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func ignoreTask(_ *schemas.Task, err error) error { return err }

func TestTheTasksOfADeadWorker(t *testing.T) {
	t.Parallel()
	h := mortal(t, 1)
	newScripted(h, "heir", offer{"echo", 4}, offer{"test_run", 4}).keepBeating()
	doomed := newScripted(h, "doomed", offer{"echo", 4}, offer{"test_run", 4})
	doomed.keepBeating()
	submit := func(m schemas.ReachMessage) (string, assignment) {
		m.PreferAgent = "doomed"
		return h.submit(m).TaskID, doomed.next()
	}
	idempotent, running := submit(echo(`"runs"`))
	unbegun, held := submit(work())
	begun, started := submit(work())
	started.sequence = doomed.begin(started).Sequence
	for _, a := range []assignment{running, held, started} {
		doomed.receipt(a, a.message.TaskID != unbegun)
	}
	doomed.vanish()
	moved := func(id string, attempt int) func() bool {
		return func() bool {
			task := h.task(id)
			return task.AgentID == "heir" && task.Attempt == attempt
		}
	}
	brokertest.Eventually(t, "the idempotent one runs elsewhere, as a second attempt", moved(idempotent, 2))
	brokertest.Eventually(t, "the one that had not begun moves and cost nothing", moved(unbegun, 1))
	if done := h.wait(begun); done.State != schemas.StateFailed || done.Error.Code != schemas.Aborted {
		t.Errorf("the begun one with side effects got %+v", done)
	}
	zombie := doomed.result(running, schemas.StateCompleted)
	if answer := doomed.finish(zombie); answer.Outcome != schemas.OutcomeSuperseded {
		t.Errorf("a zombie's finish got %+v", answer)
	}
}

// TestATaskThatKillsItsWorkersAtOnceStops: each worker goes before it has said that it has the task.
func TestATaskThatKillsItsWorkersAtOnceStops(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := echo(`"poison"`)
	m.WaitForAgent = true
	id := h.submit(m).TaskID
	victims := 0
	for ; !h.task(id).State.Terminal() && victims < 20; victims++ {
		w := newScripted(h, fmt.Sprintf("victim-%d", victims), offer{"echo", 1})
		w.pull("echo", 1)
		w.next()
		w.vanish()
		brokertest.Eventually(t, "it is taken away", func() bool {
			task := h.task(id)
			return task.State.Terminal() || task.AgentID == ""
		})
	}
	task := h.task(id)
	if victims != 8 || task.Error == nil || task.Error.Reason != schemas.ReasonTooManyAttempts || !task.DeadLetter {
		t.Errorf("after %d workers it is %s with %v, among the dead letters: %v", victims, task.State, task.Error, task.DeadLetter)
	}
}

func TestARestartedWorkerEndsWhatItsPredecessorHadBegun(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	old := newScripted(h, "laptop-1", offer{"test_run", 2})
	begun, waiting := h.submit(work()), h.submit(work())
	a := old.next()
	if a.message.TaskID != begun.TaskID {
		a = old.next()
	}
	old.begin(a)
	old.vanish()
	successor := newScripted(h, "laptop-1", offer{"test_run", 2})
	got, _ := successor.pull("test_run", 1)
	if done := h.wait(begun.TaskID); done.Error == nil || done.Error.Code != schemas.Aborted {
		t.Errorf("the begun task got %+v", done)
	}
	if len(got) == 0 {
		got = append(got, successor.next())
	}
	if got[0].message.TaskID != waiting.TaskID {
		t.Errorf("got %s, want the task that had not begun", got[0].message.TaskID)
	}
	if err := old.try(broker.SubjectPull("laptop-1"), schemas.Pull{AgentID: "laptop-1", InstanceID: old.instance}, new(schemas.PullEnd)); err == nil {
		t.Error("the predecessor may still pull")
	}
}
