package dispatcher_test

import (
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestATaskThatTakesLongerThanItsHintIsMarkedAndNotStopped(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	hint := int64(100)
	w := newScriptedWith(h, "laptop-1", schemas.Offer{ID: "echo", MaxConcurrency: 2, TimeoutHintMS: hint})
	w.keepBeating()
	m := echo(`"slow"`)
	m.RunTimeoutMS = time.Minute.Milliseconds()
	slow := h.submit(m)
	first := w.next()
	if first.message.Assignment.TimeoutHintMS != hint {
		t.Errorf("its agent is told of a hint of %d ms, want %d", first.message.Assignment.TimeoutHintMS, hint)
	}
	brokertest.Eventually(t, "it is slow, and works on", func() bool {
		task := h.task(slow.TaskID)
		page, err := h.any().ListTasks(t.Context(), schemas.DefaultTenant, schemas.TaskQuery{})
		return err == nil && task.Slow && task.State == schemas.StateWorking && page.Items[0].Slow
	})
	w.complete(first)
	if done := h.wait(slow.TaskID); done.State != schemas.StateCompleted || !done.Slow {
		t.Errorf("it ended as %s, slow %v", done.State, done.Slow)
	}
}

func TestAPartOfAResultIsTakenOfRealtimeTasksAlone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 8}, offer{"summarize", 8}, offer{"test_run", 8})
	w.keepBeating()
	const summary, run = `{"text":"Ships sail."}`, `{"command":"go test"}`
	for _, tt := range []struct {
		name, capability, payload, part string
		qos                             schemas.QualityOfService
		ran                             schemas.Ran
		state                           schemas.State
		code                            schemas.Code
	}{
		{"a part that the contract takes", "echo", `1`, `"Shi"`, schemas.QoSRealtime, schemas.RanUnknown, schemas.StateCompleted, ""},
		{"a part that it does not take", "summarize", summary, `"Shi"`, schemas.QoSRealtime, schemas.RanUnknown, schemas.StateFailed, schemas.DeadlineExceeded},
		{"a part where there is no hurry", "echo", `1`, `"Shi"`, schemas.QoSStandard, schemas.RanUnknown, schemas.StateFailed, schemas.DeadlineExceeded},
		{"a part where all is wanted", "echo", `1`, `"Shi"`, schemas.QoSComplete, schemas.RanYes, schemas.StateFailed, schemas.DeadlineExceeded},
		{"a part of what may have happened", "test_run", run, `"Shi"`, schemas.QoSRealtime, schemas.RanUnknown, schemas.StateFailed, schemas.Aborted},
	} {
		task := h.submit(schemas.ReachMessage{Capability: tt.capability, Payload: schemas.Payload(tt.payload), QualityOfService: tt.qos})
		a := w.next()
		if tt.capability == "test_run" {
			a.sequence = w.begin(a).Sequence
		}
		r := w.result(a, schemas.StateCompleted)
		r.Result, r.Partial, r.Ran = schemas.Payload(tt.part), true, tt.ran
		w.finish(r)
		done := h.wait(task.TaskID)
		var code schemas.Code
		if done.Error != nil {
			code = done.Error.Code
		}
		if done.State != tt.state || code != tt.code || done.Partial != (tt.code == "") || (done.Result != nil) != (tt.code == "") {
			t.Errorf("%s: it is %s, %v, partial %v, with the result %s", tt.name, done.State, done.Error, done.Partial, done.Result)
		}
	}
}

func TestAFailureIsNoPart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	m := echo(`1`)
	m.QualityOfService = schemas.QoSRealtime
	task := h.submit(m)
	r := w.result(w.next(), schemas.StateFailed)
	r.Partial, r.Ran, r.Error = true, schemas.RanYes, schemas.NewError(schemas.Internal, "", "no")
	w.finish(r)
	if done := h.wait(task.TaskID); done.State != schemas.StateFailed || done.Partial {
		t.Errorf("it is %s, partial %v", done.State, done.Partial)
	}
}

// An agent that confirms that it stopped at the run limit has taken too long; another may be quicker.
func TestAnIdempotentTaskOverItsRunLimitGoesToAnotherAgent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	workers := map[string]*scripted{"one": newScripted(h, "one", offer{"echo", 1}), "two": newScripted(h, "two", offer{"echo", 1})}
	for _, w := range workers {
		w.keepBeating()
	}
	limit := schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonRunLimit, "the agent did not answer within the run limit")
	task := h.submit(echo(`1`))
	first, second := workers[task.AgentID], workers[other(task.AgentID)]
	first.fail(first.next(), schemas.RanYes, limit)
	again := second.next()
	if again.message.Attempt != 2 {
		t.Errorf("the other agent has it in attempt %d, want 2", again.message.Attempt)
	}
	second.fail(again, schemas.RanYes, limit)
	done := h.wait(task.TaskID)
	if done.State != schemas.StateFailed || done.Error.Code != schemas.DeadlineExceeded {
		t.Errorf("at the end of the chain it is %s, %v", done.State, done.Error)
	}
}

func other(agentID string) string {
	if agentID == "one" {
		return "two"
	}
	return "one"
}
