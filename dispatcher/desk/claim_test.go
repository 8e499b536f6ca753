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
	"github.com/agentreach/agent-reach/schemas"
)

var (
	echo    = schemas.Offer{ID: "echo"}
	testRun = schemas.Offer{ID: "test_run"} // has side effects
)

const (
	command = `{"command":"go test"}`
	passed  = `{"passed":true,"output":"ok"}`
)

func TestAClaimedTaskRunsToItsEnd(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(), h.claimer("phone", echo)
	task := h.submit("echo", `{"n":1.0}`)
	g := a.one(a.claim(d))
	if g.message.TaskID != task.TaskID || string(g.message.Payload) != `{"n":1.0}` || g.message.Hops != nil {
		t.Errorf("given %+v", g.message)
	}
	answer, err := d.Finish(t.Context(), a.result(g, `{"n":1.0}`))
	check(t, err)
	if answer.Outcome != schemas.OutcomeStored {
		t.Errorf("outcome %s", answer.Outcome)
	}
	done := h.ends(task.TaskID)
	if done.State != schemas.StateCompleted || string(done.Result) != `{"n":1.0}` || done.AgentID != "phone" {
		t.Errorf("ended %+v", done)
	}
	trace, err := h.Trace(t.Context(), schemas.DefaultTenant, task.TaskID)
	check(t, err)
	var hops []string
	for _, hop := range trace.Hops {
		hops = append(hops, hop.Hop)
	}
	if want := "[submitted routed published received adapter_request agent_done validated stored]"; fmt.Sprint(hops) != want {
		t.Errorf("hops %v, want %s", hops, want)
	}
}

func TestAClaimWaitsForWork(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(), h.claimer("phone", echo)
	claimed := make(chan *schemas.Claimed, 1)
	go func() { claimed <- a.claim(d) }()
	h.submit("echo", `1`)
	a.one(<-claimed)

	none, err := a.ask(t.Context(), d, 50*time.Millisecond)
	check(t, err)
	if len(none.Assignments) != 0 {
		t.Errorf("what it has is given again: %+v", none)
	}
}

// What waits for a free slot is given as soon as the one before has ended.
func TestQueuedTasksFollowEachOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(), h.claimer("phone", testRun)
	var ids []string
	for range 3 {
		ids = append(ids, h.submit("test_run", command).TaskID)
	}
	for range ids {
		g := a.one(a.claim(d))
		_, err := d.Finish(t.Context(), a.result(g, passed))
		check(t, err)
	}
	for _, id := range ids {
		if task := h.ends(id); task.State != schemas.StateCompleted {
			t.Errorf("ended %+v", task)
		}
	}
}

func TestLostAnswersAreSafeToRepeat(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	tests := []struct {
		name       string
		capability schemas.Offer
		payload    string
		result     string
		first      []func(*schemas.Claim)
		again      []func(*schemas.Claim)
		elsewhere  bool // the second claim asks at another desk
	}{
		{"held says that the answer was lost", echo, `1`, `1`, []func(*schemas.Claim){held()}, []func(*schemas.Claim){held()}, false},
		{"the same claim again", echo, `1`, `1`, []func(*schemas.Claim){named("c")}, []func(*schemas.Claim){named("c")}, false},
		{"the same claim again, with side effects", testRun, command, passed, []func(*schemas.Claim){named("c")}, []func(*schemas.Claim){named("c"), held()}, false},
		{"held says so at another desk", echo, `1`, `1`, []func(*schemas.Claim){held()}, []func(*schemas.Claim){held()}, true},
		{"the same claim again at another desk, with side effects", testRun, command, passed, []func(*schemas.Claim){named("c")}, []func(*schemas.Claim){named("c"), held()}, true},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := h.desk()
			a := h.claimer(fmt.Sprintf("phone-%d", i), tt.capability)
			task := h.submit(tt.capability.ID, tt.payload, func(m *schemas.ReachMessage) { m.PreferAgent, m.WaitForAgent = a.id, true })
			first := a.one(a.claim(d, tt.first...))
			if tt.elsewhere {
				d = h.desk()
			}
			second := a.one(a.claim(d, tt.again...))
			if second.sequence != first.sequence || string(second.message.Payload) != tt.payload {
				t.Fatalf("first %+v, second %+v", first, second)
			}
			for _, want := range []schemas.Outcome{schemas.OutcomeStored, schemas.OutcomeAlreadyYours} {
				answer, err := d.Finish(t.Context(), a.result(second, tt.result))
				check(t, err)
				if answer.Outcome != want {
					t.Errorf("outcome %s, want %s", answer.Outcome, want)
				}
			}
			if ended := h.ends(task.TaskID); ended.State != schemas.StateCompleted || ended.Attempt != 1 {
				t.Errorf("ended %+v", ended)
			}
		})
	}
}

// What has side effects and was given is never given to a claim that does not know of it: it may have been done.
func TestSideEffectsAreNotRepeated(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var later clock
	d, a := h.desk(timed(&later)), h.claimer("phone", testRun)
	task := h.submit("test_run", command)
	a.one(a.claim(d))
	for _, other := range []*running{d, h.desk(timed(&later))} {
		none, err := a.ask(t.Context(), other, 100*time.Millisecond, held())
		check(t, err)
		if len(none.Assignments) != 0 {
			t.Errorf("given again: %+v", none)
		}
	}
	later.pass(time.Hour) // its run limit has passed, and nobody has said anything
	if ended := h.ends(task.TaskID); ended.Error == nil || ended.Error.Code != schemas.Aborted {
		t.Errorf("ended %+v", ended)
	}
}

// timed is a desk whose clock is the test's: no silence matters there.
func timed(c *clock) func(*desk.Config) {
	return func(cfg *desk.Config) { cfg.Silence, cfg.Now = 24*time.Hour, c.now }
}

func TestACallerThatGoesAwayLosesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i, tt := range []struct {
		capability      schemas.Offer
		payload, result string
	}{{echo, `1`, `1`}, {testRun, command, passed}} {
		t.Run(tt.capability.ID, func(t *testing.T) {
			t.Parallel()
			d, a := h.desk(), h.claimer(fmt.Sprintf("phone-%d", i), tt.capability)
			var tasks []*schemas.Task
			for range 20 { // the caller leaves at about the time at which its task comes
				ctx, leave := context.WithCancel(t.Context())
				var group sync.WaitGroup
				var got *schemas.Claimed
				group.Go(func() { got, _ = a.ask(ctx, d, patience, held()) })
				tasks = append(tasks, h.submit(tt.capability.ID, tt.payload, func(m *schemas.ReachMessage) { m.PreferAgent, m.WaitForAgent = a.id, true }))
				leave()
				group.Wait()
				if got == nil {
					got = a.claim(d, held())
				}
				_, err := d.Finish(t.Context(), a.result(a.one(got), tt.result))
				check(t, err)
			}
			for _, task := range tasks {
				if ended := h.ends(task.TaskID); ended.State != schemas.StateCompleted {
					t.Errorf("ended %+v", ended)
				}
			}
		})
	}
}

func TestTwoClaimersWithOneName(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, first := h.desk(), h.claimer("phone", echo)

	_, err := first.ask(t.Context(), d, 0)
	check(t, err)
	waiting, leave := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { _, _ = first.ask(waiting, d, time.Minute) })
	second := &claimer{h: h, id: "phone", instance: schemas.NewTaskID()}
	brokertest.Eventually(t, "the second process is refused while the first asks", func() bool {
		err := second.register(echo)
		return err != nil && schemas.AsError(err).Reason == "AGENT_ID_TAKEN"
	})
	_, err = second.ask(t.Context(), d, 0)
	wantCode(t, err, schemas.FailedPrecondition, "SUPERSEDED")

	leave() // the first process dies: its claim breaks off
	group.Wait()
	check(t, second.register(echo))
	_, err = first.ask(t.Context(), d, 0)
	wantCode(t, err, schemas.FailedPrecondition, "SUPERSEDED")

	h.submit("echo", `1`)
	second.one(second.claim(d))
}

// A process that has registered and has not claimed yet has nobody who answers for it; it is not replaced all the same, while it may be about
// to.
func TestAProcessThatHasOnlyJustRegisteredIsNotReplaced(t *testing.T) {
	t.Parallel()
	h := newHouse(t, leisurely)
	d, first := h.desk(), h.claimer("phone", echo)
	second := &claimer{h: h, id: "phone", instance: schemas.NewTaskID()}
	err := second.register(echo)
	wantCode(t, err, schemas.AlreadyExists, "AGENT_ID_TAKEN")
	if e := schemas.AsError(err); e.RetryAfterMS <= 0 || !e.Retryable {
		t.Error("it is not told when to come again")
	}
	check(t, first.register(echo)) // the same process again
	h.submit("echo", `1`)
	first.one(first.claim(d))
	_, err = d.Heartbeat(t.Context(), &schemas.Heartbeat{AgentID: "phone", InstanceID: first.instance, State: schemas.AgentOffline})
	check(t, err)
	check(t, second.register(echo)) // the first has said goodbye
}

// leisurely is a house whose agents are told to speak every half minute.
func leisurely(c *dispatcher.Config) { c.HeartbeatInterval = 30 * time.Second }

// A process that has died before its first word makes way once a living one would have spoken: it need not have been silent for the TTL.
func TestAProcessThatHasNeverSpokenMakesWay(t *testing.T) {
	t.Parallel()
	var c clock
	h := newHouse(t, leisurely, func(cfg *dispatcher.Config) { cfg.Now = c.now })
	h.claimer("phone", echo)
	second := &claimer{h: h, id: "phone", instance: schemas.NewTaskID()}
	err := second.register(echo)
	wantCode(t, err, schemas.AlreadyExists, "AGENT_ID_TAKEN")
	wait := schemas.Duration(schemas.AsError(err).RetryAfterMS)
	if most := 30*time.Second + 300*time.Millisecond; wait > most {
		t.Errorf("it is to come again after %v, want at most %v", wait, most)
	}
	c.pass(wait + time.Millisecond)
	check(t, second.register(echo))
}

func TestOneProcessClaimsManyTimesAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	wide := echo
	wide.MaxConcurrency = 4
	d, a := h.desk(), h.claimer("phone", wide)
	const tasks = 40
	var mu sync.Mutex
	seen := make(map[string]int)
	var group sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range 4 {
		group.Go(func() {
			for ctx.Err() == nil {
				claimed, err := a.ask(ctx, d, patience, func(c *schemas.Claim) { c.FreeTotal = 1 })
				if err != nil {
					continue
				}
				for range claimed.Assignments {
					g := a.one(claimed)
					mu.Lock()
					seen[g.message.TaskID]++
					mu.Unlock()
					_, _ = d.Finish(t.Context(), a.result(g, `1`))
				}
			}
		})
	}
	for range tasks {
		task := h.submit("echo", `1`)
		defer func() { h.ends(task.TaskID) }()
	}
	brokertest.Eventually(t, "all tasks are given", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seen) == tasks
	})
	stop()
	group.Wait()
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s was given %d times", id, times)
		}
	}
}

func TestANewerClaimEndsAnOlderOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(), h.claimer("phone", echo)
	older := make(chan *schemas.Claimed, 1)
	go func() {
		claimed, _ := a.ask(t.Context(), d, time.Minute, held())
		older <- claimed
	}()
	brokertest.Eventually(t, "the older claim ends", func() bool {
		_, err := a.ask(t.Context(), d, 0, held())
		check(t, err)
		select {
		case claimed := <-older:
			return claimed != nil && len(claimed.Assignments) == 0
		default:
			return false
		}
	})
}

func TestAClaimOutlivesTheBroker(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(), h.claimer("phone", testRun)
	_, err := a.ask(t.Context(), d, 0)
	check(t, err)
	waiting := make(chan *schemas.Claimed, 1)
	go func() { waiting <- a.claim(d, held()) }()
	h.broker.Stop()
	h.broker.Start()
	var task *schemas.Task
	brokertest.Eventually(t, "tasks are accepted again", func() bool {
		task, err = h.Submit(t.Context(), schemas.DefaultTenant, &schemas.ReachMessage{Capability: "test_run", Payload: []byte(command)})
		return err == nil
	})
	claimed := <-waiting
	if len(claimed.Assignments) == 0 {
		claimed = a.claim(d, held())
	}
	_, err = d.Finish(t.Context(), a.result(a.one(claimed), passed))
	check(t, err)
	if ended := h.ends(task.TaskID); ended.State != schemas.StateCompleted {
		t.Errorf("ended %+v", ended)
	}
}
