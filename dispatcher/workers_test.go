package dispatcher_test

import (
	"testing"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

func TestANewTaskDoesNotWaitBehindOthersWhereThereIsRoomForAll(t *testing.T) {
	t.Parallel()
	h := newHouse(t, unswept())
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	first := h.submit(echo(`{}`))
	waiting := h.submit(echo(`{}`))
	if waiting.Phase != schemas.PhaseQueued {
		t.Fatalf("an agent of unknown speed has more than its slots: %+v", waiting)
	}
	a := w.next()
	w.complete(a) // at once: its agent has room for many more
	h.wait(first.TaskID)
	if task := h.submit(echo(`{}`)); task.Phase != schemas.PhaseAssigned {
		t.Errorf("got %+v", task)
	}
	w.complete(w.next())
	w.pull("echo", 1)
	if a = w.next(); a.message.TaskID != waiting.TaskID {
		t.Errorf("the pull brought %s, want the task that waits", a.message.TaskID)
	}
}

func TestASecondProcessIsRefusedWhileTheFirstAnswers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first := newScripted(h, "laptop-1", offer{"echo", 1})
	r := schemas.Registration{
		AgentID: "laptop-1", InstanceID: schemas.NewTaskID(), Version: "1.0.0", Transport: schemas.Transport{Type: "func"},
		Capabilities: []schemas.Offer{{ID: "echo"}},
	}
	_, err := h.any().Register(t.Context(), &r)
	wantCode(t, err, schemas.AlreadyExists, "")
	first.vanish()
	_, err = h.any().Register(t.Context(), &r)
	check(t, err)
	first.t.Log("taken over")
	r.Capabilities[0].InputSchema = []byte(`{"type":"string"}`)
	_, err = h.any().Register(t.Context(), &r)
	wantCode(t, err, schemas.FailedPrecondition, "")
	r.Version = "1.1.0"
	_, err = h.any().Register(t.Context(), &r)
	check(t, err)
	r.Capabilities[0].ID = "search_web"
	_, err = h.any().Register(t.Context(), &r)
	t.Log(wantCode(t, err, schemas.InvalidArgument, ""))
}

func TestAReleasedTaskGoesElsewhereAndADrainedAgentGetsNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	one := newScripted(h, "one", offer{"echo", 1})
	m := echo(`1`)
	task := h.submit(m)
	_, err := h.any().Drain(t.Context(), "one")
	check(t, err)
	if c := <-one.controls; c.Do != schemas.DoDrain {
		t.Errorf("the worker was told %+v", c)
	}
	if answer := one.release(one.next()); answer.Outcome != schemas.OutcomeStored {
		t.Errorf("got %+v", answer)
	}
	if got := h.task(task.TaskID); got.Phase != schemas.PhaseQueued {
		t.Errorf("got %s, want it back in the queue", got.Phase)
	}
	_, err = h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
	wantCode(t, err, schemas.Unavailable, schemas.ReasonNoAgent)
	_, err = h.any().Resume(t.Context(), "one")
	check(t, err)
	one.complete(one.next())
	if done := h.wait(task.TaskID); done.Attempt != 1 {
		t.Errorf("giving a task back cost an attempt: %d", done.Attempt)
	}
}

func TestAnUnhealthyAgentLeavesRouting(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	w.beat(schemas.AgentOnline, []string{})
	m := echo(`1`)
	brokertest.Eventually(t, "nothing is routed to it", func() bool {
		_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
		return err != nil && schemas.AsError(err).Reason == schemas.ReasonNoAgent
	})
	before, err := h.any().Agent(t.Context(), "laptop-1")
	check(t, err)
	w.beat(schemas.AgentOnline, []string{})
	after, err := h.any().Agent(t.Context(), "laptop-1")
	check(t, err)
	if after.State != schemas.AgentDegraded || after.LastSeenAt != before.LastSeenAt {
		t.Errorf("it is %s, and was seen at %v, then at %v", after.State, before.LastSeenAt, after.LastSeenAt)
	}
	wantLeftOut(t, h, m, score.WhyDegraded)
	w.beat(schemas.AgentOnline, []string{"echo"})
	brokertest.Eventually(t, "it comes back with its next heartbeat", func() bool {
		_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
		return err == nil
	})
}

// wantLeftOut says why the only agent there is may not have a message.
func wantLeftOut(t *testing.T, h *house, m schemas.ReachMessage, why score.Why) {
	t.Helper()
	e, err := h.any().Explain(t.Context(), schemas.DefaultTenant, &m)
	check(t, err)
	if len(e.LeftOut) != 1 || e.LeftOut[0].Why != string(why) {
		t.Errorf("left out %+v, want it to be for %s", e.LeftOut, why)
	}
}

func TestAGoodbyeIsBelievedAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	w.beat(schemas.AgentOnline, []string{"echo"})
	w.beat(schemas.AgentOffline, []string{})
	brokertest.Eventually(t, "it is offline", func() bool { return h.agentState("laptop-1") == schemas.AgentOffline })
	wantLeftOut(t, h, echo(`1`), score.WhyOffline)
	_, err := h.any().Register(t.Context(), &w.registration)
	check(t, err)
	w.beat(schemas.AgentOnline, []string{"echo"})
	brokertest.Eventually(t, "it is back", func() bool { return h.agentState("laptop-1") == schemas.AgentOnline })
}
