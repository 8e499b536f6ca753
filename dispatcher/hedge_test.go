package dispatcher_test

import (
	"testing"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestASlowRealtimeTaskIsGivenToASecondAgentAndTheFirstToFinishWins(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	workers := map[string]*scripted{"one": newScripted(h, "one", offer{"echo", 4}), "two": newScripted(h, "two", offer{"echo", 4})}
	for id, w := range workers {
		w.keepBeating()
		for range 3 { // what is usual for it
			m := echo(`1`)
			m.PreferAgent = id
			task := h.submit(m)
			w.complete(w.next())
			h.wait(task.TaskID)
		}
	}
	hedged := func() (first, second *scripted, a, b assignment) {
		m := echo(`"slow"`)
		m.QualityOfService = schemas.QoSRealtime
		m.PreferAgent = "one"
		h.submit(m)
		first, second = workers["one"], workers["two"]
		a = first.next()
		b = second.next()
		if b.message.Attempt != 2 || b.message.Assignment.Lost != 0 || b.message.Assignment.Also != "one" || string(b.message.Payload) != `"slow"` {
			t.Fatalf("the second assignment is %+v", b.message.Assignment)
		}
		return first, second, a, b
	}

	first, second, a, b := hedged()
	if _, end := first.beat(schemas.AgentOnline, []string{"echo"}, a.sequence); len(end.NotYours) != 0 {
		t.Error("the first agent is told that the task is not its own")
	}
	if answer := first.complete(a); answer.Outcome != schemas.OutcomeStored {
		t.Errorf("the first to finish got %+v", answer)
	}
	if done := h.wait(a.message.TaskID); done.AgentID != "one" || done.State != schemas.StateCompleted {
		t.Errorf("got %s on %s", done.State, done.AgentID)
	}
	if c := <-second.controls; c.Do != schemas.DoCancel || c.TaskID != b.message.TaskID || c.Sequence != b.sequence {
		t.Errorf("the slower one was told %+v", c)
	}
	if answer := second.complete(b); answer.Outcome != schemas.OutcomeSuperseded {
		t.Errorf("the slower one got %+v", answer)
	}

	first, second, a, b = hedged()
	if answer := first.fail(a, schemas.RanYes, schemas.NewError(schemas.Internal, "", "no")); answer.Outcome != schemas.OutcomeSuperseded {
		t.Errorf("a failure of the first while the second works got %+v", answer)
	}
	if answer := second.complete(b); answer.Outcome != schemas.OutcomeStored {
		t.Errorf("the second got %+v", answer)
	}
	if done := h.wait(b.message.TaskID); done.AgentID != "two" || done.Attempt != 2 {
		t.Errorf("got %s, attempt %d", done.AgentID, done.Attempt)
	}
	brokertest.Eventually(t, "no slot is leaked", func() bool {
		page, err := h.any().ListAgents(t.Context(), schemas.AgentQuery{})
		return err == nil && page.Items[0].InFlight+page.Items[1].InFlight == 0
	})
}

// The first agent of two works on: the second one must not be what ends the task.
func TestASecondAgentThatIsNotReachedOrIsLostEndsNothing(t *testing.T) {
	t.Parallel()
	unreachable := schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "the agent cannot be reached")
	for name, miss := range map[string]func(*scripted, assignment){
		"not reached": func(w *scripted, b assignment) { w.fail(b, schemas.RanNo, unreachable) },
		"lost": func(w *scripted, b assignment) {
			w.receipt(b, true)
			w.vanish()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := mortal(t, 1)
			workers := make(map[string]*scripted)
			for _, id := range []string{"one", "two"} {
				workers[id] = newScripted(h, id, offer{"echo", 4})
				workers[id].keepBeating()
			}
			for id, w := range workers {
				for range 3 {
					m := echo(`1`)
					m.PreferAgent = id
					task := h.submit(m)
					w.complete(w.next())
					h.wait(task.TaskID)
				}
			}
			m := echo(`"slow"`)
			m.QualityOfService, m.PreferAgent = schemas.QoSRealtime, "one"
			task := h.submit(m)
			workers["one"].next()
			miss(workers["two"], workers["two"].next())
			again := workers["one"].next()
			if again.message.TaskID != task.TaskID || again.message.Attempt != 3 {
				t.Fatalf("the first agent gets %s, attempt %d", again.message.TaskID, again.message.Attempt)
			}
			workers["one"].complete(again)
			if done := h.wait(task.TaskID); done.State != schemas.StateCompleted || done.AgentID != "one" {
				t.Errorf("it is %s (%v) on %s", done.State, done.Error, done.AgentID)
			}
		})
	}
}
