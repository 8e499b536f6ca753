package client_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/google/go-cmp/cmp"
)

const literals = `{"i":[9007199254740993,18446744073709551615],"f":[0.1,1.0,1e2,-0,1e400],"s":"\u00e9\/<b>é"}`

func message(capability string) *schemas.ReachMessage {
	return &schemas.ReachMessage{Capability: capability, Payload: schemas.Payload(literals)}
}

func TestSubmitAndLook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	sent := message("echo")
	task, err := b.Submit(patiently(t), sent)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(task.Result); got != literals {
		t.Errorf("result %s, want %s", got, literals)
	}
	if sent.TaskID != "" {
		t.Error("the caller's message was changed")
	}
	again, err := b.Task(patiently(t), task.TaskID)
	if diff := cmp.Diff(string(schemas.MustEncode(task)), string(schemas.MustEncode(again))); err != nil || diff != "" {
		t.Errorf("look: %v (-submitted +looked)\n%s", err, diff)
	}
	trace, err := b.Trace(patiently(t), task.TraceID)
	if err != nil || trace.Task.TaskID != task.TaskID {
		t.Errorf("trace: %+v, %v", trace, err)
	}
	page, err := b.ListTasks(patiently(t), schemas.TaskQuery{State: schemas.StateCompleted})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("list: %+v, %v", page, err)
	}
}

func TestRefusalsComeThrough(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	busy := schemas.NewError(schemas.ResourceExhausted, schemas.ReasonBusy, "every agent is busy").With("estimated_start_ms", 1200)
	busy.RetryAfterMS = 1200
	b.house.On("busy", fronttest.Script{Refuse: busy})
	_, err := b.Submit(patiently(t), message("busy"))
	if diff := cmp.Diff(busy, wantError(t, err, schemas.ResourceExhausted, schemas.ReasonBusy)); diff != "" {
		t.Errorf("error (-want +got)\n%s", diff)
	}
	_, err = b.Submit(patiently(t), message("unknown"))
	wantError(t, err, schemas.NotFound, schemas.ReasonUnknownCapability)
	_, err = b.Submit(patiently(t), &schemas.ReachMessage{})
	wantError(t, err, schemas.InvalidArgument, schemas.ReasonBadValue)
	_, err = b.Submit(patiently(t), &schemas.ReachMessage{Capability: "echo", Payload: schemas.Payload("{")})
	wantError(t, err, schemas.InvalidArgument, schemas.ReasonNotJSON)
	for _, id := range []string{"", "x", ">", "*", "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10.x"} {
		_, err = b.Task(patiently(t), id)
		wantError(t, err, schemas.InvalidArgument, schemas.ReasonBadName)
		_, err = b.Wait(patiently(t), id, time.Second)
		wantError(t, err, schemas.InvalidArgument, schemas.ReasonBadName)
		_, err = b.Trace(patiently(t), id)
		wantError(t, err, schemas.InvalidArgument, schemas.ReasonBadName)
	}
	_, err = b.Task(patiently(t), schemas.NewTaskID())
	wantError(t, err, schemas.NotFound, schemas.ReasonUnknownTask)
	_, err = b.ListTasks(patiently(t), schemas.TaskQuery{State: "nowhere"})
	wantError(t, err, schemas.InvalidArgument, schemas.ReasonBadValue)
}

func TestLargeBodiesAreMovedInParts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	b.house.LargeAbove(300_000)
	big := schemas.Payload(`"` + strings.Repeat("x", 2<<20) + `"`)
	task, err := b.Do(patiently(t), &schemas.ReachMessage{Capability: "echo", Payload: big})
	if err != nil || string(task.Result) != string(big) || task.ResultRef != nil {
		t.Fatalf("the result has %d bytes, %v", len(task.Result), err)
	}
	if again, err := b.Task(patiently(t), task.TaskID); err != nil || string(again.Result) != string(big) {
		t.Errorf("looked at again, the result has %d bytes, %v", len(again.Result), err)
	}
	stream, err := b.Follow(patiently(t), task.TaskID, client.Fresh)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if event, err := stream.Next(patiently(t)); err != nil || event.Task == nil || string(event.Task.Result) != string(big) {
		t.Errorf("the stream ends with %v, %v", event, err)
	}
	_, result, err := b.OpenResult(patiently(t), task.TaskID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = result.Close() }()
	if _, err := result.Seek(1<<20, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(result); err != nil || string(rest) != string(big[1<<20:]) {
		t.Errorf("from its middle on, the result has %d bytes, %v", len(rest), err)
	}
}

func TestMessageThatIsTooLargeNamesBothSizes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	tags := []string{strings.Repeat("x", 2<<20)}
	_, err := b.Submit(patiently(t), &schemas.ReachMessage{Capability: "echo", Tags: tags})
	e := wantError(t, err, schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge)
	var limit, size int64
	if !e.Detail("limit_bytes", &limit) || !e.Detail("size_bytes", &size) || limit != 1<<20 || size < 2<<20 {
		t.Errorf("limit %d, size %d", limit, size)
	}
}

func TestListThatIsTooLargeForAMessageComesInMorePages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	want := map[string]bool{}
	for range 7 {
		payload := schemas.Payload(`"` + strings.Repeat("x", 300<<10) + `"`)
		task, err := b.Submit(patiently(t), &schemas.ReachMessage{Capability: "echo", Payload: payload})
		if err != nil {
			t.Fatal(err)
		}
		want[task.TaskID] = true
	}
	got := map[string]bool{}
	for query := (schemas.TaskQuery{}); ; {
		page, err := b.ListTasks(patiently(t), query)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range page.Items {
			got[task.TaskID] = true
		}
		if query.PageToken = page.NextPageToken; query.PageToken == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tasks (-want +got)\n%s", diff)
	}
}

func TestSubmitWaitsForADispatcher(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	done := make(chan error, 1)
	go func() {
		_, err := b.Submit(patiently(t), message("echo"))
		done <- err
	}()
	defer b.serve()()
	if err := <-done; err != nil {
		t.Errorf("submit: %v", err)
	}
	if b.house.Len() != 1 {
		t.Errorf("%d tasks", b.house.Len())
	}
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.Submit(context.Background(), message("echo")) // within the client's own patience
	wantError(t, err, schemas.Unavailable, schemas.ReasonNoDispatcher)
	_, err = b.ListAgents(within(t, 500*time.Millisecond), schemas.AgentQuery{})
	wantError(t, err, schemas.Unavailable, schemas.ReasonNoDispatcher)
	_, err = b.Wait(within(t, 2*time.Second), schemas.NewTaskID(), time.Hour)
	wantError(t, err, schemas.Unavailable, schemas.ReasonNoDispatcher)
	_, err = b.Wait(context.Background(), schemas.NewTaskID(), time.Millisecond)
	wantError(t, err, schemas.Unavailable, schemas.ReasonNoDispatcher)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = b.Task(ctx, schemas.NewTaskID())
	wantError(t, err, schemas.Cancelled, "")
}

func TestLostAnswerMakesNoSecondTask(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	service := &forgetful{Service: b.house}
	service.lose.Store(2)
	defer b.serve(service)()
	task, err := b.newClient(hasty).Submit(patiently(t), message("hold"))
	if err != nil {
		t.Fatal(err)
	}
	if b.house.Len() != 1 || b.house.Newest().TaskID != task.TaskID {
		t.Errorf("%d tasks", b.house.Len())
	}
	if calls := strings.Count(strings.Join(b.house.Calls(), " "), "Submit"); calls < 3 {
		t.Errorf("%d submits, want 3", calls)
	}
}

func TestSubmitWhoseOutcomeIsUnknownSaysWhereToLook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	service := &forgetful{Service: b.house}
	service.lose.Store(100)
	defer b.serve(service)()
	ctx, giveUp := context.WithCancel(patiently(t))
	go func() {
		defer giveUp()
		brokertest.Eventually(t, "the house has the task", func() bool { return b.house.Len() > 0 })
	}()
	_, err := b.newClient(hasty).Submit(ctx, message("hold"))
	e := wantError(t, err, schemas.Unavailable, schemas.ReasonOutcomeUnknown)
	var id string
	if !e.Detail("task_id", &id) || id != b.house.Newest().TaskID || !e.Retryable {
		t.Errorf("task_id %q of %+v", id, e)
	}
	service.lose.Store(0)
	again := message("hold")
	again.TaskID = id
	if task, err := b.Submit(patiently(t), again); err != nil || task.TaskID != id || b.house.Len() != 1 {
		t.Errorf("again: %v, %d tasks", err, b.house.Len())
	}
}

func TestDispatcherThatCannotTellIsAskedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	unknown := schemas.NewError(schemas.Unavailable, schemas.ReasonOutcomeUnknown, "not known yet")
	unknown.RetryAfterMS = 50
	b.house.FailWith(unknown)
	done := make(chan error, 1)
	go func() {
		_, err := b.Submit(patiently(t), message("echo"))
		done <- err
	}()
	brokertest.Eventually(t, "two tries", func() bool { return len(b.house.Calls()) > 1 })
	b.house.FailWith(nil)
	if err := <-done; err != nil {
		t.Errorf("submit: %v", err)
	}
}

func TestOutage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	task, err := b.Submit(patiently(t), message("hold"))
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() {
		ended, err := b.Result(patiently(t), task.TaskID)
		if err == nil && ended.State != schemas.StateCompleted {
			t.Errorf("state %s", ended.State)
		}
		waited <- err
	}()
	b.broker.Stop()
	brokertest.Eventually(t, "the outage is noticed", func() bool {
		_, err := b.Submit(within(t, 50*time.Millisecond), message("echo"))
		e := schemas.AsError(err)
		return err != nil && e.Reason == schemas.ReasonBrokerOutage
	})
	submitted := make(chan error, 1)
	go func() {
		_, err := b.Submit(patiently(t), message("echo"))
		submitted <- err
	}()
	b.broker.Start()
	if err := <-submitted; err != nil {
		t.Errorf("submit over the outage: %v", err)
	}
	b.house.End(task.TaskID, schemas.Payload("1"), nil)
	if err := <-waited; err != nil {
		t.Errorf("wait over the outage: %v", err)
	}
}

func TestFiftyCallers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	service := &forgetful{Service: b.house}
	service.lose.Store(10)
	defer b.serve(service)()
	defer b.serve(service)()
	hurried := b.newClient(hasty)
	ids := make([]string, 50)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			sent := message("echo")
			sent.MsgID = "one"
			task, err := hurried.Do(patiently(t), sent)
			if err != nil {
				t.Errorf("caller %d: %v", i, err)
				return
			}
			ids[i] = task.TaskID
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("two tasks: %s and %s", ids[0], id)
		}
	}
	if b.house.Len() != 1 {
		t.Errorf("%d tasks", b.house.Len())
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	task, err := b.Submit(patiently(t), message("hold"))
	if err != nil {
		t.Fatal(err)
	}
	for _, won := range []bool{true, false} {
		canceled, err := b.Cancel(patiently(t), task.TaskID)
		if err != nil || canceled.State != schemas.StateCanceled || canceled.Cancel.Won != won {
			t.Errorf("cancel: %+v, %v; want won %v", canceled, err, won)
		}
	}
}

func TestDo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	failure := schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonRunLimit, "too long")
	b.house.On("fail", fronttest.Script{Error: failure})
	if task, err := b.Do(patiently(t), message("echo")); err != nil || string(task.Result) != literals {
		t.Errorf("echo: %+v, %v", task, err)
	}
	task, err := b.Do(patiently(t), message("fail"))
	wantError(t, err, schemas.DeadlineExceeded, schemas.ReasonRunLimit)
	if task == nil || task.State != schemas.StateFailed {
		t.Errorf("fail: %+v", task)
	}
	b.doesNotEnd(func(d time.Duration) context.Context { return within(t, d) }, schemas.DeadlineExceeded)
}

// doesNotEnd does what does not end within the time of its caller, who has enough of that for the task to be accepted.
func (b *bench) doesNotEnd(within func(time.Duration) context.Context, code schemas.Code) {
	b.t.Helper()
	var task *schemas.Task
	var err error
	for d := 200 * time.Millisecond; task == nil && d < time.Minute; d *= 2 {
		task, err = b.Do(within(d), message("hold"))
	}
	wantError(b.t, err, code, "")
	if task.State != schemas.StateWorking {
		b.t.Errorf("with the error came %+v", task)
	}
}

func TestAgentsAndCapabilities(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	ctx := patiently(t)
	registered, err := b.Register(ctx, &schemas.Registration{
		AgentID: "phone-2", InstanceID: "i", Version: "1.0.0", Transport: schemas.Transport{Type: "http"},
		Capabilities: []schemas.Offer{{ID: "echo"}},
	})
	if err != nil || registered.State != schemas.AgentOnline {
		t.Fatalf("register: %+v, %v", registered, err)
	}
	if page, err := b.ListAgents(ctx, schemas.AgentQuery{}); err != nil || len(page.Items) != 2 {
		t.Errorf("list agents: %+v, %v", page, err)
	}
	for _, step := range []struct {
		do   func(context.Context, string) (*schemas.Agent, error)
		want schemas.AgentState
	}{{b.Drain, schemas.AgentDraining}, {b.Agent, schemas.AgentDraining}, {b.Resume, schemas.AgentOnline}, {b.RemoveAgent, schemas.AgentOnline}} {
		if agent, err := step.do(ctx, "phone-2"); err != nil || agent.State != step.want {
			t.Errorf("agent: %+v, %v; want %s", agent, err, step.want)
		}
	}
	_, err = b.Agent(ctx, "a.b")
	wantError(t, err, schemas.InvalidArgument, schemas.ReasonBadName)

	entry := schemas.Capability{ID: "count", InputSchema: []byte(`{"maximum":1.0}`), OutputSchema: []byte("true")}
	if _, err := b.AddCapability(ctx, &schemas.AddCapability{Capability: entry}); err != nil {
		t.Fatal(err)
	}
	stored, err := b.Capability(ctx, "count")
	if err != nil || string(stored.InputSchema) != `{"maximum":1.0}` {
		t.Errorf("capability: %+v, %v", stored, err)
	}
	if page, err := b.ListCapabilities(ctx); err != nil || len(page.Items) != 3 {
		t.Errorf("list capabilities: %+v, %v", page, err)
	}
	_, err = b.AddCapability(ctx, &schemas.AddCapability{Capability: entry})
	wantError(t, err, schemas.AlreadyExists, "CAPABILITY_EXISTS")
}

// fallen is a house that falls over.
type fallen struct{ front.Service }

func (fallen) ListAgents(context.Context, schemas.AgentQuery) (*schemas.AgentPage, error) {
	panic("secret")
}

func TestPanicIsAnsweredAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve(fallen{b.house})()
	_, err := b.ListAgents(patiently(t), schemas.AgentQuery{})
	if e := wantError(t, err, schemas.Internal, ""); strings.Contains(e.Message, "secret") {
		t.Error(e.Message)
	}
	if _, err := b.ListCapabilities(patiently(t)); err != nil {
		t.Error(err)
	}
}

func TestConnect(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	c, err := client.Connect(patiently(t), client.Config{URL: b.broker.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ListAgents(patiently(t), schemas.AgentQuery{}); err != nil {
		t.Error(err)
	}
	_, err = client.Connect(within(t, 100*time.Millisecond), client.Config{URL: "nats://127.0.0.1:1"})
	wantError(t, err, schemas.Unavailable, schemas.ReasonBrokerOutage)
	_, err = client.Connect(patiently(t), client.Config{URL: b.broker.URL(), CredsFile: "no-such-file"})
	wantError(t, err, schemas.InvalidArgument, schemas.ReasonBadValue)
}

// slow is a house that takes its time, and knows how many are in it.
type slow struct {
	front.Service
	now, most atomic.Int32
	more      chan struct{}
}

func (s *slow) Submit(ctx context.Context, tenant string, message *schemas.ReachMessage) (*schemas.Task, error) {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	<-s.more
	return s.Service.Submit(ctx, tenant, message)
}

func TestABusyHouseIsSentAFewMessagesAtATime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	house := &slow{Service: b.house, more: make(chan struct{})}
	defer b.serve(house)()
	const atOnce = 3
	c := client.New(b.broker.Conn(t), client.WithTimes(try, 0), client.WithSubmits(atOnce))
	var all sync.WaitGroup
	for range 4 * atOnce {
		all.Go(func() {
			if _, err := c.Submit(patiently(t), message("echo")); err != nil {
				t.Errorf("submit: %v", err)
			}
		})
	}
	brokertest.Eventually(t, "as many messages on their way as there may be", func() bool { return house.now.Load() == atOnce })
	_, err := c.Submit(within(t, 50*time.Millisecond), message("echo"))
	wantError(t, err, schemas.ResourceExhausted, schemas.ReasonBusy)
	close(house.more)
	all.Wait()
	if most := house.most.Load(); most != atOnce {
		t.Errorf("%d messages were on their way at once, want %d", most, atOnce)
	}
}
