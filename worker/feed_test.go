package worker

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestAnAssignmentRunsAndItsResultIsStored(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	h.work(echo)

	e := h.assign(task{payload: `{"n": 9007199254740993, "x":1.0}`})
	h.awaitDone(e.TaskID)

	r := h.awaitResult(e.TaskID)
	if r.StartedAt.IsZero() || r.FinishedAt.Before(r.StartedAt.Time) || r.WriteID == "" || r.InstanceID == "" {
		t.Errorf("the result does not say when and by whom: %+v", r)
	}
	got := schemas.Result{
		TaskID: r.TaskID, AgentID: r.AgentID, Attempt: r.Attempt, Sequence: r.Sequence, State: r.State, Result: r.Result, Ran: r.Ran,
	}
	want := schemas.Result{
		TaskID: e.TaskID, AgentID: "laptop-1", Attempt: 1, Sequence: e.Sequence, State: schemas.StateCompleted,
		Result: schemas.Payload(`{"n":9007199254740993,"x":1.0}`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	var hops []string
	for _, hop := range r.Hops {
		hops = append(hops, hop.Hop)
	}
	if diff := cmp.Diff([]string{schemas.HopReceived, schemas.HopAdapterRequest, schemas.HopAgentDone}, hops); diff != "" {
		t.Errorf("hops (-want +got):\n%s", diff)
	}
	if len(look(h, &h.begins)) != 0 {
		t.Error("an idempotent task was begun by request")
	}
}

func TestWhatArrivesTwiceRunsOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	var runs atomic.Int64
	handler := newScript()
	h.work(HandlerFunc(func(ctx context.Context, task *Task, emit Emit) (schemas.Payload, error) {
		runs.Add(1)
		return handler.Handle(ctx, task, emit)
	}))
	again := func(e broker.Entry) {
		t.Helper()
		if err := h.conn.PublishEntry(broker.SubjectControl("laptop-1"), e); err != nil {
			t.Fatal(err)
		}
		h.tell(schemas.Control{Do: schemas.DoPing}) // in order behind it
	}

	e := h.assign(task{})
	handler.called(t)
	again(e)
	again(e)
	handler.answer <- nil
	h.awaitDone(e.TaskID)
	again(e)

	next := h.assign(task{})
	handler.answer <- nil
	h.awaitDone(next.TaskID)
	if got := runs.Load(); got != 2 {
		t.Errorf("the handler was called %d times for two tasks", got)
	}
}

func TestALostFeedIsRepaired(t *testing.T) {
	t.Parallel()
	deaf := func(cfg *broker.Config) {
		cfg.Disturb = func(func(broker.Entry)) func(broker.Entry) { return func(broker.Entry) {} }
	}
	for name, repair := range map[string]func(*house, *served, broker.Entry){
		"by an assignment sent again": func(h *house, _ *served, e broker.Entry) {
			if err := h.conn.PublishEntry(broker.SubjectControl("laptop-1"), e); err != nil {
				h.t.Error(err)
			}
		},
		"by a heartbeat": func(_ *house, s *served, _ broker.Entry) { s.station().inbox.beat.ring() },
		"by a pull after trouble": func(h *house, _ *served, _ broker.Entry) {
			h.broker.Stop()
			h.broker.Start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.t = t
			h.serve()
			s := h.work(echo, func(cfg *Config) {
				cfg.Conn = h.broker.Connect(t, deaf)
				cfg.HeartbeatInterval = time.Hour
			})
			brokertest.Eventually(t, "the first pull and heartbeat", func() bool {
				return len(look(h, &h.pulls)) > 0 && len(look(h, &h.beats)) > 0 // the heartbeat may have rung for the very first pull
			})
			e := h.assign(task{})
			repair(h, s, e)
			h.awaitDone(e.TaskID)
		})
	}
}

func TestTheFirstPullTakesWhatCameBefore(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	early := h.assign(task{})
	h.serve()
	h.work(echo, func(cfg *Config) { cfg.HeartbeatInterval = time.Hour })
	h.awaitDone(early.TaskID)
}

func TestAWorkerWithoutWorkDoesNotKeepAsking(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	h.work(echo, func(cfg *Config) { cfg.HeartbeatInterval = time.Hour })
	for range 5 {
		h.awaitDone(h.assign(task{}).TaskID)
	}
	brokertest.Eventually(t, "a pull", func() bool { return len(look(h, &h.pulls)) > 0 })
	if got := len(look(h, &h.pulls)); got > 12 {
		t.Errorf("%d pulls for five tasks", got)
	}
}

func TestAPullWithoutAnEndIsRepeated(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.onPull = func(n int) bool { return n > 2 }
	early := h.assign(task{})
	h.serve()
	h.work(echo, func(cfg *Config) { cfg.HeartbeatInterval, cfg.PullTimeout = time.Hour, 100*time.Millisecond })
	brokertest.Eventually(t, "three pulls", func() bool { return len(look(h, &h.pulls)) >= 3 })
	h.awaitDone(early.TaskID)
}

func TestGarbageHarmsNobody(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	h.work(echo)
	id := schemas.NewTaskID()
	feed := "reach.feed.assigned.echo.laptop-1." + id
	bodies := []string{"", "{", "null", "[]", `{"task_id":"x"}`, `{"do":"cancel"}`, `{"do":"dance"}`, "\xff\x00", `"` + id + `"`}
	for _, body := range bodies {
		for _, subject := range []string{feed, "reach.feed.assigned.echo.laptop-1.not-a-task", broker.SubjectControl("laptop-1")} {
			if err := h.conn.Publish(subject, []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
		bad := h.entry(task{id: id})
		bad.Body, bad.Sequence = []byte(body), 7
		if err := h.conn.PublishEntry(broker.SubjectControl("laptop-1"), bad); err != nil {
			t.Fatal(err)
		}
	}
	e := h.assign(task{})
	h.awaitDone(e.TaskID)
	for _, r := range look(h, &h.results) {
		if r.TaskID != e.TaskID {
			t.Errorf("there is a result of %s", r.TaskID)
		}
	}
}

func TestATaskThatCanNeverRunIsRejected(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	h.work(echo)
	e := h.assign(task{capability: "translate"})
	r := h.awaitResult(e.TaskID)
	if r.State != schemas.StateRejected || r.Error.Reason != schemas.ReasonUnknownCapability {
		t.Errorf("got %s, %v; want rejected for the capability", r.State, r.Error)
	}
}

func TestANewerAssignmentReplacesTheOlder(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	handler := newScript()
	causes := make(chan error, 2)
	h.work(HandlerFunc(func(ctx context.Context, task *Task, emit Emit) (schemas.Payload, error) {
		result, err := handler.Handle(ctx, task, emit)
		causes <- context.Cause(ctx)
		return result, err
	}))
	first := h.assign(task{})
	handler.called(t)
	second := h.assign(task{id: first.TaskID, previous: first.Sequence})
	handler.called(t)
	if cause := <-causes; !errors.Is(cause, ErrSuperseded) {
		t.Errorf("the older attempt ended with %v, want ErrSuperseded", cause)
	}
	handler.answer <- nil
	if r := h.awaitResult(first.TaskID); r.Sequence != second.Sequence || r.State != schemas.StateCompleted {
		t.Errorf("the result is %s of sequence %d, want completed of %d", r.State, r.Sequence, second.Sequence)
	}
	h.awaitDone(first.TaskID)
}
