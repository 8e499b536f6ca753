package dispatcher_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestATaskGoesOutAndItsResultComesBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 2})
	payload := `{"id":9007199254740993,"big":18446744073709551615,"dec":0.10,"one":1.0,"exp":1e2,"neg":-0,"long":1234567890123456789012345678901234567890}`
	task := h.submit(echo(payload))
	if task.State != schemas.StateWorking || task.Phase != schemas.PhaseAssigned || task.AgentID != "laptop-1" || task.Attempt != 1 {
		t.Errorf("got %+v, want a task assigned to laptop-1", task)
	}
	a := w.next()
	if got := string(a.message.Payload); got != payload {
		t.Errorf("the payload changed on its way:\n got %s\nwant %s", got, payload)
	}
	if answer := w.complete(a); answer.Outcome != schemas.OutcomeStored {
		t.Errorf("finish: got %+v, want stored", answer)
	}
	done := h.wait(task.TaskID)
	if done.State != schemas.StateCompleted || string(done.Result) != payload {
		t.Errorf("got %s with %s", done.State, []byte(done.Result))
	}
	var hops []string
	trace, err := h.any().Trace(t.Context(), schemas.DefaultTenant, task.TaskID)
	check(t, err)
	for _, hop := range trace.Hops {
		hops = append(hops, hop.Hop)
	}
	if diff := cmp.Diff([]string{"submitted", "routed", "published", "validated", "stored"}, hops); diff != "" {
		t.Error(diff)
	}
	byTrace, err := h.any().Trace(t.Context(), schemas.DefaultTenant, done.TraceID)
	check(t, err)
	if byTrace.Task.TaskID != task.TaskID {
		t.Errorf("the trace id leads to %s", byTrace.Task.TaskID)
	}
}

func inYears(n int) schemas.Time { return schemas.At(time.Now().AddDate(n, 0, 0)) }

func TestATaskThatLivesForYearsIsFound(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	task := h.submit(schemas.ReachMessage{Capability: "echo", ExpiresAt: inYears(9)})
	w.complete(w.next())
	if done := h.wait(task.TaskID); done.State != schemas.StateCompleted {
		t.Errorf("got %s, want completed", done.State)
	}
}

func TestARefusalSaysWhyAndWritesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	newScripted(h, "laptop-1", offer{"echo", 1}, offer{"summarize", 1})
	sized := func(bytes int) schemas.ReachMessage {
		return schemas.ReachMessage{Capability: "echo", Payload: schemas.Payload(`"` + strings.Repeat("x", bytes-2) + `"`)}
	}
	tests := []struct {
		name    string
		message schemas.ReachMessage
		code    schemas.Code
		reason  string
	}{
		{"no capability and no intent", schemas.ReachMessage{}, schemas.InvalidArgument, ""},
		{"a capability that does not exist", schemas.ReachMessage{Capability: "summrize"}, schemas.NotFound, ""},
		{"a payload that breaks the contract", schemas.ReachMessage{Capability: "summarize"}, schemas.InvalidArgument, schemas.ReasonInputSchema},
		{"a payload over the limit", sized(schemas.MaxBody + 1), schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge},
		{"a large payload for agents that cannot fetch it", sized(33 << 10), schemas.Unavailable, schemas.ReasonNoAgent},
		{
			"much that nobody understands",
			schemas.ReachMessage{Capability: "echo", Unknown: []byte(`{"more":"` + strings.Repeat("x", 20_000) + `"}`)},
			schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge,
		},
		{"nobody serves the capability", schemas.ReachMessage{Capability: "text_stats", Payload: schemas.Payload(`{"text":"x"}`)}, schemas.Unavailable, schemas.ReasonNoAgent},
		{"no agent has that version", schemas.ReachMessage{Capability: "echo", MinVersion: "2.0.0"}, schemas.Unavailable, schemas.ReasonNoAgent},
		{"an old task_id", schemas.ReachMessage{Capability: "echo", TaskID: "01900000-0000-7000-8000-000000000000"}, schemas.InvalidArgument, ""},
		{"an expiry that has passed", schemas.ReachMessage{Capability: "echo", ExpiresAt: schemas.At(time.Now().Add(-time.Minute))}, schemas.InvalidArgument, ""},
		{"an expiry that the broker cannot count to", schemas.ReachMessage{Capability: "echo", ExpiresAt: inYears(300)}, schemas.InvalidArgument, schemas.ReasonBadValue},
		{"an expiry after all times", schemas.ReachMessage{Capability: "echo", ExpiresAt: inYears(7973)}, schemas.InvalidArgument, schemas.ReasonBadValue},
		{"a start that nobody will see", schemas.ReachMessage{Capability: "echo", NotBefore: inYears(300)}, schemas.InvalidArgument, schemas.ReasonBadValue},
	}
	before, err := h.any().conn.Ledger().State(t.Context())
	check(t, err)
	for _, tt := range tests {
		_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &tt.message)
		t.Log(tt.name, "→", err)
		wantCode(t, err, tt.code, tt.reason)
	}
	after, err := h.any().conn.Ledger().State(t.Context())
	check(t, err)
	if before.Last != after.Last {
		t.Errorf("refusals wrote %d messages", after.Last-before.Last)
	}
}

func TestFiftyCallersWithOneKeyGetOneTask(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick(), quick())
	w := newScripted(h, "laptop-1", offer{"echo", 100})
	ids := make([]string, 50)
	var all sync.WaitGroup
	for n := range ids {
		all.Go(func() {
			m := schemas.ReachMessage{Capability: "echo", MsgID: "note-7", Payload: schemas.Payload(`{"a":1, "b":2}`)}
			if n%2 == 1 {
				m.Payload = schemas.Payload(`{"b":2,"a":1}`)
			}
			task, err := h.dispatchers[n%2].Submit(t.Context(), schemas.DefaultTenant, &m)
			if err != nil {
				t.Error(err)
				return
			}
			ids[n] = task.TaskID
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("two tasks for one key: %s and %s", ids[0], id)
		}
	}
	w.complete(w.next())
	done := h.wait(ids[0])
	again := h.submit(schemas.ReachMessage{Capability: "echo", MsgID: "note-7", Payload: schemas.Payload(`{"a":1,"b":2}`)})
	if again.TaskID != done.TaskID || string(again.Result) != string(done.Result) {
		t.Errorf("a late repeat got %+v", again)
	}
	other := schemas.ReachMessage{Capability: "echo", MsgID: "note-7", Payload: schemas.Payload(`{"a":2}`)}
	_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &other)
	wantCode(t, err, schemas.AlreadyExists, schemas.ReasonKeyReused)
	elsewhere, err := h.any().Submit(t.Context(), "other-tenant", &other)
	check(t, err)
	if elsewhere.TaskID == done.TaskID {
		t.Error("tenants share a key")
	}
}

func TestAKeyWhoseTaskWasNeverWrittenIsRepairedByItsRepeat(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	m := schemas.ReachMessage{Capability: "echo", MsgID: "k", Payload: schemas.Payload(`{}`)}
	first := h.submit(m)
	w.complete(w.next())
	h.wait(first.TaskID)
	// A dispatcher that died between key and task leaves a key that names a task which is not there.
	orphan := schemas.NewTaskID()
	h.plantKey(t, "k2", "k", orphan)
	m.MsgID = "k2"
	second := h.submit(m)
	if second.TaskID != orphan {
		t.Errorf("got %s, want the task that the key names, %s", second.TaskID, orphan)
	}
	w.complete(w.next())
	h.wait(orphan)
}

func TestALostReplyIsSafeToRepeatWithTheSameTaskID(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 4})
	m := echo(`{}`)
	m.TaskID = schemas.NewTaskID()
	first, second := h.submit(m), h.submit(m)
	if first.TaskID != m.TaskID || second.TaskID != m.TaskID {
		t.Errorf("got %s and %s, want %s twice", first.TaskID, second.TaskID, m.TaskID)
	}
	w.complete(w.next())
	w.beat(schemas.AgentOffline, []string{})
	third := h.submit(m)
	if third.State != schemas.StateCompleted {
		t.Errorf("a repeat after the agent has gone got %s, want its completed task", third.State)
	}
}

func TestAFullHouseQueuesAndAPullBinds(t *testing.T) {
	t.Parallel()
	cfg := unswept()
	cfg.ExcessWait = 1 // no agent gets more than its slots
	h := newHouse(t, cfg)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	running := h.submit(echo(`0`))
	low, high := echo(`"low"`), echo(`"high"`)
	nine := 9
	high.Priority = &nine
	first, second := h.submit(low), h.submit(high)
	if first.Phase != schemas.PhaseQueued || first.State != schemas.StateSubmitted || first.Queue == nil || first.Queue.Position != 1 {
		t.Errorf("got %+v, want it queued first", first)
	}
	fast := echo(`1`)
	fast.FailFast = true
	_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &fast)
	if e := wantCode(t, err, schemas.ResourceExhausted, schemas.ReasonBusy); e.RetryAfterMS <= 0 {
		t.Error("a busy answer says when to come back")
	}
	w.complete(w.next())
	h.wait(running.TaskID)
	got, end := w.pull("echo", 1)
	if len(got) != 1 || end.Count != 1 || got[0].message.TaskID != second.TaskID {
		t.Fatalf("got %d assignments (%+v), want the high one", len(got), end)
	}
	if answer := w.complete(got[0]); answer.Outcome != schemas.OutcomeStored {
		t.Errorf("got %+v", answer)
	}
	got, _ = w.pull("echo", 1)
	if len(got) != 1 || string(got[0].message.Payload) != `"low"` {
		t.Fatalf("the waiting task came without its payload: %v", got)
	}
	w.complete(got[0])
	h.wait(first.TaskID)
}

func TestWhoWaitsIsToldWhereAndForHowLong(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.ExcessWait = 1
	h := newHouse(t, cfg)
	newScriptedWith(h, "laptop-1", schemas.Offer{ID: "echo", MaxConcurrency: 2, ExpectedLatencyMS: 8000})
	for n := range 5 {
		task := h.submit(echo(fmt.Sprint(n)))
		var want *schemas.Queue
		if n >= 2 {
			want = &schemas.Queue{Position: n - 1, EstimatedStartMS: int64(n-1) * 8000 / 2}
		}
		if diff := cmp.Diff(want, task.Queue); diff != "" {
			t.Errorf("task %d (-want +got):\n%s", n, diff)
		}
	}
}

func TestQueuesAreBoundedAndRefuseLoudly(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.QueuePerCapability = 2
	h := newHouse(t, cfg)
	newScripted(h, "laptop-1", offer{"echo", 1})
	for n := range 3 {
		h.submit(echo(fmt.Sprint(n)))
	}
	m := echo(`3`)
	_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
	if e := wantCode(t, err, schemas.ResourceExhausted, schemas.ReasonQueueFull); e.RetryAfterMS <= 0 {
		t.Error("a full queue says when to come back")
	}
	page, err := h.any().ListTasks(t.Context(), schemas.DefaultTenant, schemas.TaskQuery{State: schemas.StateSubmitted})
	check(t, err)
	if len(page.Items) != 2 {
		t.Errorf("%d tasks wait, want the 2 that were there", len(page.Items))
	}
}

func TestTheQueueOfOneAgentIsBoundedByItself(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.QueuePerAgent = 2
	h := newHouse(t, cfg)
	newScripted(h, "laptop-1", offer{"echo", 1})
	m := echo(`1`)
	m.PreferAgent, m.WaitForAgent = "phone-1", true
	for range cfg.QueuePerAgent {
		h.submit(m)
	}
	_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
	if e := wantCode(t, err, schemas.ResourceExhausted, schemas.ReasonQueueFull); e.RetryAfterMS <= 0 || !strings.Contains(e.Message, "phone-1") {
		t.Errorf("the refusal says %v", e)
	}
	m.PreferAgent = "phone-2"
	h.submit(m)
}

func TestAPinnedTaskWaitsForItsDevice(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	newScripted(h, "laptop-1", offer{"echo", 4})
	m := echo(`{}`)
	m.PreferAgent, m.WaitForAgent = "phone-1", true
	task := h.submit(m)
	if task.Phase != schemas.PhaseQueued {
		t.Fatalf("got %s, want it queued for the phone", task.Phase)
	}
	phone := newScripted(h, "phone-1", offer{"echo", 1})
	got, _ := phone.pull("echo", 1)
	if len(got) != 1 {
		got = append(got, phone.next()) // the dispatcher was quicker
	}
	phone.complete(got[0])
	if done := h.wait(task.TaskID); done.AgentID != "phone-1" {
		t.Errorf("it ran on %s", done.AgentID)
	}
}

func TestTheLeastBusyAgentGetsTheTask(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	newScripted(h, "small", offer{"echo", 1})
	newScripted(h, "large", offer{"echo", 3})
	count := map[string]int{}
	for n := range 4 {
		count[h.submit(echo(fmt.Sprint(n))).AgentID]++
	}
	if diff := cmp.Diff(map[string]int{"small": 1, "large": 3}, count); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownForeignAndForgottenTasks(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	newScripted(h, "laptop-1", offer{"echo", 4})
	task := h.submit(echo(`{}`))
	_, unknown := h.any().Task(t.Context(), schemas.DefaultTenant, schemas.NewTaskID())
	_, foreign := h.any().Task(t.Context(), "somebody-else", task.TaskID)
	if diff := cmp.Diff(wantCode(t, unknown, schemas.NotFound, schemas.ReasonUnknownTask), wantCode(t, foreign, schemas.NotFound, schemas.ReasonUnknownTask)); diff != "" {
		t.Errorf("a foreign task answers differently from an unknown one:\n%s", diff)
	}
	_, old := h.any().Task(t.Context(), schemas.DefaultTenant, "01900000-0000-7000-8000-000000000000")
	wantCode(t, old, schemas.NotFound, schemas.ReasonExpired)
	_, pattern := h.any().Task(t.Context(), schemas.DefaultTenant, ">")
	wantCode(t, pattern, schemas.InvalidArgument, "")
	_, err := h.any().Cancel(t.Context(), "somebody-else", task.TaskID)
	wantCode(t, err, schemas.NotFound, schemas.ReasonUnknownTask)
}

func TestAListIsPagedNewestFirst(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 3})
	var want []string
	for n := range 7 {
		want = append([]string{h.submit(echo(fmt.Sprint(n))).TaskID}, want...)
	}
	for range 3 {
		w.complete(w.next())
	}
	brokertest.Eventually(t, "three tasks are listed as completed", func() bool {
		page, err := h.any().ListTasks(t.Context(), schemas.DefaultTenant, schemas.TaskQuery{State: schemas.StateCompleted})
		return err == nil && len(page.Items) == 3
	})
	var got []string
	query := schemas.TaskQuery{PageSize: 3}
	for {
		page, err := h.any().ListTasks(t.Context(), schemas.DefaultTenant, query)
		check(t, err)
		for _, task := range page.Items {
			got = append(got, task.TaskID)
		}
		if query.PageToken = page.NextPageToken; query.PageToken == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	other := newScripted(h, "laptop-2", offer{"summarize", 1}) // which has nothing else to do
	failing := h.submit(schemas.ReachMessage{Capability: "summarize", Payload: schemas.Payload(`{"text":"x"}`)})
	other.fail(other.next(), schemas.RanYes, schemas.NewError(schemas.InvalidArgument, "", "no"))
	h.wait(failing.TaskID)
	page, err := h.any().ListTasks(t.Context(), schemas.DefaultTenant, schemas.TaskQuery{})
	check(t, err)
	for _, task := range page.Items { // a look at the task itself has the result
		if task.Result != nil || (task.Error != nil) != (task.State == schemas.StateFailed) {
			t.Errorf("an item has the result %s and the error %v", task.Result, task.Error)
		}
	}
	_, err = h.any().ListTasks(t.Context(), schemas.DefaultTenant, schemas.TaskQuery{PageSize: 101})
	wantCode(t, err, schemas.InvalidArgument, "")
}
