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
