package desk_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/dispatcher/desk"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

func TestACancelReachesTheClaimer(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	tests := []struct {
		name      string
		confirms  func(a *claimer, d *running, g given) // after the agent was told
		confirmed bool
		wait      time.Duration // of the desk for that; less than a dispatcher waits
	}{
		{"it no longer holds the task", func(a *claimer, d *running, _ given) { _, _ = a.ask(t.Context(), d, 0, held()) }, true, 4500 * time.Millisecond},
		{"it brings its result", func(a *claimer, d *running, g given) { _, _ = d.Finish(t.Context(), a.result(g, `1`)) }, true, 4500 * time.Millisecond},
		{"it says nothing", func(*claimer, *running, given) {}, false, 200 * time.Millisecond},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := h.desk(func(c *desk.Config) { c.CancelWait = tt.wait })
			a := h.claimer(fmt.Sprintf("phone-%d", i), echo)
			task := h.submit("echo", `1`, func(m *schemas.ReachMessage) { m.PreferAgent, m.WaitForAgent = a.id, true })
			g := a.one(a.claim(d, held()))
			told := make(chan *schemas.Claimed, 1)
			go func() {
				claimed, _ := a.ask(t.Context(), d, patience, held(g.sequence))
				told <- claimed
				tt.confirms(a, d, g)
			}()
			canceled, err := h.Cancel(t.Context(), schemas.DefaultTenant, task.TaskID)
			check(t, err)
			if !canceled.Cancel.Won || canceled.Cancel.Confirmed != tt.confirmed {
				t.Errorf("cancel %+v", canceled.Cancel)
			}
			if kept, err := h.Task(t.Context(), schemas.DefaultTenant, task.TaskID); err != nil || kept.Cancel == nil || *kept.Cancel != *canceled.Cancel {
				t.Errorf("the record says %+v, %v", kept.Cancel, err)
			}
			claimed := <-told
			if len(claimed.Stop) == 1 && claimed.Stop[0].Reason == "SUPERSEDED" { // the claim's own look has found it out before the word came
				claimed.Stop[0].Reason = "CANCELED"
			}
			if len(claimed.Stop) != 1 || claimed.Stop[0] != (schemas.Stop{TaskID: task.TaskID, Sequence: g.sequence, Reason: "CANCELED"}) {
				t.Errorf("stop %+v", claimed.Stop)
			}
			_, err = d.Finish(t.Context(), a.result(g, `1`))
			wantCode(t, err, schemas.Aborted, "SUPERSEDED")
		})
	}
}

func TestATaskThatNobodyHasClaimedIsCanceledAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(), h.claimer("phone", echo)
	_, err := a.ask(t.Context(), d, 0)
	check(t, err)
	task := h.submit("echo", `1`)
	canceled, err := h.Cancel(t.Context(), schemas.DefaultTenant, task.TaskID)
	check(t, err)
	if !canceled.Cancel.Won {
		t.Errorf("cancel %+v", canceled.Cancel)
	}
	none, err := a.ask(t.Context(), d, 100*time.Millisecond)
	check(t, err)
	if len(none.Assignments) != 0 {
		t.Errorf("given %+v", none)
	}
}

func TestTheRunLimitEndsATask(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var c clock
	d := h.desk(timed(&c), func(c *desk.Config) { c.StopGrace = grace })
	a := h.claimer("phone", echo)
	task := h.submit("echo", `1`, limited)
	g := a.one(a.claim(d))
	c.pass(limit)
	told := a.claim(d, held(g.sequence))
	if len(told.Stop) != 1 || told.Stop[0].Reason != schemas.ReasonRunLimit {
		t.Errorf("stop %+v", told.Stop)
	}
	c.pass(grace)
	if ended := h.ends(task.TaskID); ended.Error == nil || ended.Error.Code != schemas.DeadlineExceeded || ended.Attempt != 1 {
		t.Errorf("ended %+v", ended)
	}
}

const limit, grace = time.Minute, time.Hour // of a task, and for its end after that

// limited has a run limit.
func limited(m *schemas.ReachMessage) { m.RunTimeoutMS = limit.Milliseconds() }

// The desk that has handed a task out may be gone: its run limit is kept where the agent says that it has it.
func TestTheRunLimitEndsATaskOfAnotherDesk(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var c clock
	second := h.desk(timed(&c), func(c *desk.Config) { c.StopGrace = grace })
	a := h.claimer("phone", echo, testRun)
	for capability, payload := range map[string]string{"echo": `1`, "test_run": command} {
		first := h.desk()
		task := h.submit(capability, payload, limited)
		g := a.one(a.claim(first, held(), named(capability)))
		first.stop()
		_, err := a.ask(t.Context(), second, 0, held(g.sequence)) // from now on its time counts there
		check(t, err)
		c.pass(limit)
		if told := a.claim(second, held(g.sequence)); len(told.Stop) != 1 || told.Stop[0].Reason != schemas.ReasonRunLimit {
			t.Errorf("%s: stop %+v", capability, told.Stop)
		}
		c.pass(grace)
		if ended := h.ends(task.TaskID); ended.Error == nil || ended.State != schemas.StateFailed {
			t.Errorf("%s: ended %+v", capability, ended)
		}
	}
}

// An agent that stops at its run limit says so by its next held. Its task ends then, with side effects or without, and does not come again.
func TestAnAgentThatStopsAtTheRunLimitEndsItsTask(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var c clock
	d := h.desk(timed(&c), func(c *desk.Config) { c.StopGrace = grace })
	a := h.claimer("phone", echo, testRun)
	for capability, payload := range map[string]string{"echo": `1`, "test_run": command} {
		task := h.submit(capability, payload, limited)
		g := a.one(a.claim(d, held(), named(capability)))
		c.pass(limit)
		if told := a.claim(d, held(g.sequence)); len(told.Stop) != 1 || told.Stop[0].Reason != schemas.ReasonRunLimit {
			t.Errorf("%s: stop %+v", capability, told.Stop)
		}
		_, err := d.Heartbeat(t.Context(), &schemas.Heartbeat{AgentID: "phone", InstanceID: a.instance, Held: []uint64{}})
		check(t, err)
		ended := h.ends(task.TaskID)
		if ended.Error == nil || ended.Error.Code != schemas.DeadlineExceeded || ended.Error.Reason != schemas.ReasonRunLimit || ended.Attempt != 1 {
			t.Errorf("%s: ended %+v, %+v", capability, ended, ended.Error)
		}
	}
}

func TestAFailureIsAsTheAgentSays(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	offer := echo
	offer.ErrorMapping = map[string]schemas.Code{"E40001": schemas.InvalidArgument}
	d, a := h.desk(), h.claimer("phone", offer)
	tests := []struct {
		name, body string
		code       schemas.Code
		reason     string
	}{
		{"a standard code", `{"error":{"code":"PERMISSION_DENIED","message":"no"}}`, schemas.PermissionDenied, ""},
		{"the agent's own code, mapped", `{"error":{"code":"E40001","message":"no"}}`, schemas.InvalidArgument, ""},
		{"the agent's own code, unknown", `{"error":{"code":"E2","message":"no"}}`, schemas.Internal, ""},
	}
	for _, tt := range tests {
		task := h.submit("echo", `1`)
		g := a.one(a.claim(d))
		body := `{"agent_id":"phone","instance_id":"` + a.instance + `",` + tt.body[1:]
		result, err := front.Result([]byte(body), task.TaskID, g.sequence)
		check(t, err)
		_, err = d.Finish(t.Context(), result)
		check(t, err)
		ended := h.ends(task.TaskID)
		if ended.State != schemas.StateFailed || ended.Error.Code != tt.code {
			t.Errorf("%s: ended %+v, %+v", tt.name, ended, ended.Error)
		}
	}
}

func TestAResultOutsideOfTheContractIsNoSuccess(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(), h.claimer("phone", testRun)
	task := h.submit("test_run", command)
	answer, err := d.Finish(t.Context(), a.result(a.one(a.claim(d)), `{"passed":"perhaps"}`))
	check(t, err)
	if answer.Error == nil || answer.Error.Reason != schemas.ReasonOutputSchema {
		t.Errorf("answer %+v", answer)
	}
	if ended := h.ends(task.TaskID); ended.State != schemas.StateFailed {
		t.Errorf("ended %+v", ended)
	}
}

func TestHeartbeatsKeepAnAgentOnline(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(), h.claimer("phone", echo, schemas.Offer{ID: "text_stats"})
	beat := func(change func(*schemas.Heartbeat)) *schemas.Heard {
		b := &schemas.Heartbeat{AgentID: "phone", InstanceID: a.instance}
		change(b)
		heard, err := d.Heartbeat(t.Context(), b)
		check(t, err)
		return heard
	}
	state := func() schemas.AgentState {
		agent, err := h.Agent(t.Context(), "phone")
		check(t, err)
		return agent.State
	}
	beat(func(b *schemas.Heartbeat) { b.Capabilities, b.LoadAvg = []string{"text_stats"}, 0.5 })
	brokertest.Eventually(t, "what the agent cannot serve now leaves routing", func() bool {
		_, err := h.Submit(t.Context(), schemas.DefaultTenant, &schemas.ReachMessage{Capability: "echo"})
		return err != nil && schemas.AsError(err).Code == schemas.Unavailable
	})
	beat(func(*schemas.Heartbeat) {})
	brokertest.Eventually(t, "and is back", func() bool {
		_, err := h.Submit(t.Context(), schemas.DefaultTenant, &schemas.ReachMessage{Capability: "echo"})
		return err == nil
	})
	_, err := h.Drain(t.Context(), "phone")
	check(t, err)
	if heard := beat(func(*schemas.Heartbeat) {}); !heard.Draining {
		t.Errorf("a drain is not told: %+v", heard)
	}
	_, err = h.Resume(t.Context(), "phone")
	check(t, err)
	beat(func(b *schemas.Heartbeat) { b.State = schemas.AgentOffline })
	brokertest.Eventually(t, "a goodbye counts at once", func() bool { return state() == schemas.AgentOffline })
}

func TestASilentAgentLosesItsTasks(t *testing.T) {
	t.Parallel()
	var c clock
	h := newHouse(t, func(cfg *dispatcher.Config) { cfg.Now = c.now })
	d := h.desk(func(c *desk.Config) { c.Silence = 500 * time.Millisecond })
	silent, other := h.claimer("a-silent", echo), h.claimer("other", echo)
	task := h.submit("echo", `1`, func(m *schemas.ReachMessage) { m.PreferAgent = "a-silent" })
	silent.one(silent.claim(d))
	over, end := context.WithCancel(t.Context())
	var passing sync.WaitGroup
	passing.Go(func() { // the time in which nobody is judged
		for over.Err() == nil {
			c.pass(10 * time.Second)
			<-time.After(300 * time.Millisecond)
		}
	})
	g := other.one(other.claim(d))
	end()
	passing.Wait()
	if g.message.TaskID != task.TaskID || g.message.Attempt != 2 {
		t.Errorf("given %+v", g)
	}
}

func TestAnUnknownProcessIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(), h.claimer("phone", echo)
	_, err := (&claimer{h: h, id: "nobody", instance: "x"}).ask(t.Context(), d, 0)
	wantCode(t, err, schemas.NotFound, schemas.ReasonUnknownAgent)
	_, err = (&claimer{h: h, id: "phone", instance: "x"}).ask(t.Context(), d, 0)
	wantCode(t, err, schemas.FailedPrecondition, "SUPERSEDED")
	task := h.submit("echo", `1`)
	g := a.one(a.claim(d))
	g.sequence++
	_, err = d.Finish(t.Context(), a.result(g, `1`))
	wantCode(t, err, schemas.Aborted, "SUPERSEDED")
	if now, err := h.Task(t.Context(), schemas.DefaultTenant, task.TaskID); err != nil || now.State.Terminal() {
		t.Errorf("ended by another token: %+v, %v", now, err)
	}
}

// An agent that goes on at another desk after its own has stopped loses nothing.
func TestADeskThatStops(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(), h.claimer("phone", testRun)
	task := h.submit("test_run", command)
	g := a.one(a.claim(d))
	waiting := make(chan error, 1)
	go func() {
		claimed, err := a.ask(t.Context(), d, time.Minute, held(g.sequence))
		if err == nil && len(claimed.Assignments) > 0 {
			err = fmt.Errorf("given %+v", claimed)
		}
		waiting <- err
	}()
	d.stop()
	if err := <-waiting; err != nil && schemas.AsError(err).Code != schemas.Unavailable {
		t.Error(err)
	}
	_, err := h.desk().Finish(t.Context(), a.result(g, passed))
	check(t, err)
	if ended := h.ends(task.TaskID); ended.State != schemas.StateCompleted {
		t.Errorf("ended %+v", ended)
	}
}

func TestATaskIsGivenBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a, b := h.desk(), h.claimer("phone-a", echo), h.claimer("phone-b", echo)
	task := h.submit("echo", `1`, func(m *schemas.ReachMessage) { m.PreferAgent = "phone-a" })
	g := a.one(a.claim(d))
	_, err := d.Release(t.Context(), &schemas.Release{
		AgentID: "phone-a", InstanceID: a.instance, TaskID: task.TaskID, Attempt: 1, Sequence: g.sequence,
	})
	check(t, err)
	if g := b.one(b.claim(d)); g.message.TaskID != task.TaskID {
		t.Errorf("given %+v", g)
	}
}

func TestAnAgentIsGivenItsOwnWords(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	own := schemas.Offer{
		ID: "summarize", InputSchema: []byte(`{"type":"object","properties":{"maxSentences":{"type":"integer"}}}`),
	}
	d, a := h.desk(), h.claimer("phone", own)
	h.submit("summarize", `{"text":"Ships sail.","max_sentences":1}`)
	if g := a.one(a.claim(d)); string(g.message.Payload) != `{"text":"Ships sail.","maxSentences":1}` {
		t.Errorf("given %s", g.message.Payload)
	}
}
