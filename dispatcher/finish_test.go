package dispatcher_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// repeated reports whether a repeat was recognised, by the dispatcher or only by the ledger.
func repeated(a schemas.Answer) bool {
	return a.Outcome == schemas.OutcomeAlreadyYours || a.Outcome == schemas.OutcomeStored
}

func TestBeginIsGivenOnceAndItsRepeatIsRecognised(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick(), quick())
	w := newScripted(h, "laptop-1", offer{"test_run", 2})
	task := h.submit(work())
	a := w.next()
	begin := schemas.Begin{TaskID: task.TaskID, Attempt: 1, Sequence: a.sequence, InstanceID: w.instance, WriteID: "0123456789abcdef"}
	first, repeat := w.tell(broker.SubjectBegin(w.agentID), begin), w.tell(broker.SubjectBegin(w.agentID), begin)
	begin.WriteID = "fedcba9876543210"
	other := w.tell(broker.SubjectBegin(w.agentID), begin)
	if first.Outcome != schemas.OutcomeStored || !repeated(repeat) || first.Sequence != repeat.Sequence {
		t.Errorf("got %+v, then %+v", first, repeat)
	}
	if other.Outcome != schemas.OutcomeSuperseded {
		t.Errorf("another begin of the same sequence got %+v", other)
	}
	a.sequence = first.Sequence
	r := w.result(a, schemas.StateCompleted)
	r.Result = schemas.Payload(`{"passed":true,"output":"ok"}`)
	if answer := w.finish(r); answer.Outcome != schemas.OutcomeStored {
		t.Errorf("finish got %+v", answer)
	}
	if answer := w.finish(r); !repeated(answer) {
		t.Errorf("the repeat of a finish got %+v", answer)
	}
	r.WriteID = "00000000ffffffff"
	if answer := w.finish(r); answer.Outcome != schemas.OutcomeSuperseded {
		t.Errorf("a second finish got %+v", answer)
	}
	if done := h.wait(task.TaskID); done.State != schemas.StateCompleted || done.StartedAt.IsZero() {
		t.Errorf("got %+v", done)
	}
}

func TestTheAnswerToAResultTellsWhetherAnythingWaits(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.ExcessWait = 1
	h := newHouse(t, cfg)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	h.submit(echo(`{}`))
	first := w.next()
	h.submit(echo(`{}`))
	if answer := w.complete(first); answer.Outcome != schemas.OutcomeStored || answer.Idle {
		t.Errorf("with a task that waits it got %+v", answer)
	}
	w.pull("echo", 1)
	if answer := w.complete(w.next()); answer.Outcome != schemas.OutcomeStored || !answer.Idle {
		t.Errorf("with nothing that waits it got %+v", answer)
	}
}

func TestNobodyFinishesAnotherAgentsTask(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	thief := newScripted(h, "thief", offer{"text_stats", 1})
	task := h.submit(echo(`{}`))
	a := w.next()
	if answer := thief.complete(a); answer.Outcome != schemas.OutcomeSuperseded {
		t.Errorf("a stranger's finish got %+v", answer)
	}
	stale := a
	stale.sequence += 100
	if answer := w.complete(stale); answer.Outcome != schemas.OutcomeSuperseded {
		t.Errorf("a finish with another sequence got %+v", answer)
	}
	if got := h.task(task.TaskID); got.State != schemas.StateWorking {
		t.Errorf("the task is %s", got.State)
	}
	w.complete(a)
	h.wait(task.TaskID)
}

// TestOneResultIsPublishedHoweverManyDispatchersWereAsked repeats each result at once and in other words, so that two dispatchers write
// two records under one write id.
func TestOneResultIsPublishedHoweverManyDispatchersWereAsked(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick(), quick())
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	published := make(chan schemas.Task, 1024)
	heard, err := h.broker.Conn(t).Subscribe(broker.SubjectResult(schemas.DefaultTenant, broker.Any), func(_ string, body []byte) {
		var task schemas.Task
		check(t, schemas.Decode(body, &task))
		published <- task
	})
	check(t, err)
	defer heard.Close()
	results := make(map[string]string)
	for range 60 {
		task := h.submit(echo(`{}`))
		result := w.result(w.next(), schemas.StateCompleted)
		var all sync.WaitGroup
		for n := range 6 {
			said := result
			said.Result = schemas.Payload(strconv.Itoa(n))
			all.Go(func() { w.finishEventually(said) })
		}
		all.Wait()
		results[task.TaskID] = string(h.wait(task.TaskID).Result)
	}
	for told := make(map[string]bool); len(told) < len(results); {
		task := received(t, published)
		told[task.TaskID] = true
		if string(task.Result) != results[task.TaskID] {
			t.Errorf("%s was published with %s and is %s", task.TaskID, string(task.Result), results[task.TaskID])
		}
	}
}

// received is the next value of a channel.
func received[T any](t testing.TB, c <-chan T) (value T) {
	t.Helper()
	brokertest.Eventually(t, "something of a channel", func() bool {
		select {
		case value = <-c:
			return true
		default:
			return false
		}
	})
	return value
}

func TestAResultThatBreaksTheContractIsNoSuccess(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"summarize", 1})
	task := h.submit(schemas.ReachMessage{Capability: "summarize", Payload: schemas.Payload(`{"text":"x"}`)})
	a := w.next()
	r := w.result(a, schemas.StateCompleted)
	r.Result = schemas.Payload(`{"summry":"x"}`)
	answer := w.finish(r)
	if answer.Outcome != schemas.OutcomeStored || answer.Error == nil || answer.Error.Reason != schemas.ReasonOutputSchema {
		t.Errorf("got %+v", answer)
	}
	done := h.wait(task.TaskID)
	if done.State != schemas.StateFailed || done.Error.Code != schemas.Internal || done.Error.Reason != schemas.ReasonOutputSchema || done.Result != nil {
		t.Errorf("got %+v", done)
	}
}

func TestAnUnreachableAgentsTaskGoesToTheNextAndThenWaits(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	one := newScripted(h, "one", offer{"echo", 1})
	two := newScripted(h, "two", offer{"echo", 1})
	refused := schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "connection refused")
	workers := map[string]*scripted{"one": one, "two": two}
	task := h.submit(echo(`{}`))
	first := workers[task.AgentID]
	first.fail(first.next(), schemas.RanNo, refused)
	second := workers[map[string]string{"one": "two", "two": "one"}[task.AgentID]]
	a := second.next()
	if a.message.Attempt != 2 {
		t.Errorf("the next attempt is %d, want 2", a.message.Attempt)
	}
	answer := second.fail(a, schemas.RanNo, refused)
	waiting, err := h.any().conn.Ledger().At(t.Context(), answer.Sequence)
	check(t, err)
	if waiting.Phase != schemas.PhaseScheduled {
		t.Errorf("got %s, want a scheduled retry", waiting.Phase)
	}
	last, a := either(t, one, two)
	if a.message.Attempt != 3 {
		t.Errorf("the retry is attempt %d, want 3", a.message.Attempt)
	}
	last.fail(a, schemas.RanNo, refused)
	if done := h.wait(task.TaskID); done.State != schemas.StateFailed || done.Error.Code != schemas.Unavailable || done.Attempt != 3 {
		t.Errorf("got %+v", done)
	}
}

// either is the next assignment of two workers.
func either(t testing.TB, one, two *scripted) (w *scripted, a assignment) {
	t.Helper()
	brokertest.Eventually(t, "one of two agents has a task", func() bool {
		for _, w = range []*scripted{one, two} {
			select {
			case e := <-w.arrived:
				a = w.read(e)
				return w.isNew(a)
			default:
			}
		}
		return false
	})
	return w, a
}

func TestAnUnknownOutcomeIsNeverRunAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "one", offer{"test_run", 1})
	newScripted(h, "two", offer{"test_run", 1})
	m := work()
	m.PreferAgent = "one"
	task := h.submit(m)
	a := w.next()
	a.sequence = w.begin(a).Sequence
	w.fail(a, schemas.RanUnknown, schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonRunLimit, "too slow"))
	if done := h.wait(task.TaskID); done.State != schemas.StateFailed || done.Error.Code != schemas.Aborted {
		t.Errorf("got %+v", done)
	}
}
