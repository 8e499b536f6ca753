package worker

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestAResultIsRepeatedUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	for name, react := range map[string]func(n int) reaction{
		"the answers are lost":         func(n int) reaction { return reaction{swallow: n < 3} },
		"the requests are lost":        func(n int) reaction { return reaction{ignore: n < 3} },
		"the outcome is not known yet": tryAgainUntil(3),
		"a dispatcher refuses": func(n int) reaction {
			if n < 3 {
				return reaction{answer: &schemas.Answer{Error: schemas.NewError(schemas.InvalidArgument, "", "what is this?")}}
			}
			return reaction{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.onFinish = func(n int, _ schemas.Result) reaction { return react(n) }
			h.serve()
			s := h.work(echo, func(cfg *Config) { cfg.RequestTimeout = 100 * time.Millisecond })
			e := h.assign(task{})
			h.awaitDone(e.TaskID)
			brokertest.Eventually(t, "an answer to the result", s.station().inbox.empty)
			for _, r := range look(h, &h.results) {
				if r.WriteID != look(h, &h.results)[0].WriteID {
					t.Error("the write_id changed between repeats")
				}
			}
		})
	}
}

func TestASupersededResultIsForgotten(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.silent = true
	h.onFinish = func(int, schemas.Result) reaction {
		return reaction{answer: &schemas.Answer{Outcome: schemas.OutcomeSuperseded}}
	}
	h.serve()
	s := h.work(echo)
	h.awaitResult(h.assign(task{}).TaskID)
	brokertest.Eventually(t, "an empty inbox", s.station().inbox.empty)
}

func TestAResultWaitsForADispatcher(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	handler := newScript()
	h.work(handler)
	e := h.assign(task{})
	handler.called(t)
	h.leave()
	handler.answer <- nil
	h.serve()
	h.awaitDone(e.TaskID)
}

func TestAResultOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	handler := newScript()
	h.work(handler)
	e := h.assign(task{effects: true})
	handler.called(t)
	h.broker.Stop()
	handler.answer <- nil
	h.broker.Start()
	h.awaitDone(e.TaskID)
	if len(handler.calls) != 0 {
		t.Error("the task ran again")
	}
}

func TestResultsOnTheirWayAreBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.onFinish = func(int, schemas.Result) reaction {
		return reaction{answer: &schemas.Answer{Outcome: schemas.OutcomeTryAgain}}
	}
	h.onRelease = func(int, schemas.Release) reaction { return reaction{} }
	h.serve()
	handler := newScript()
	big := HandlerFunc(func(ctx context.Context, task *Task, emit Emit) (schemas.Payload, error) {
		_, err := handler.Handle(ctx, task, emit)
		return schemas.Payload(`"` + strings.Repeat("x", 4000) + `"`), err
	})
	h.work(big, func(cfg *Config) {
		cfg.MaxBytes, cfg.DrainTimeout, cfg.StopGrace = 4000, 10*time.Millisecond, 10*time.Millisecond
	})
	handler.answer <- nil
	h.awaitResult(h.assign(task{}).TaskID)
	second := h.assign(task{})
	brokertest.Eventually(t, "the second task handed back", func() bool {
		releases := look(h, &h.releases)
		return len(releases) > 0 && releases[0].TaskID == second.TaskID
	})
	if len(handler.calls) != 1 {
		t.Errorf("%d tasks were started", len(handler.calls))
	}
}

func TestWhatHandlersAnswer(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	handlers := map[string]HandlerFunc{
		`"chunks"`: func(ctx context.Context, _ *Task, emit Emit) (schemas.Payload, error) {
			return nil, errors.Join(emit.Chunk(ctx, schemas.Payload(`"Ships "`)), emit.Chunk(ctx, schemas.Payload(`"sail."`)))
		},
		`"error"`: func(context.Context, *Task, Emit) (schemas.Payload, error) {
			return nil, &schemas.Error{Code: "E40001", Message: "text is empty"}
		},
		`"panic"`: func(context.Context, *Task, Emit) (schemas.Payload, error) {
			var nothing *Task
			return nil, errors.New(nothing.ID())
		},
		`"exit"`: func(context.Context, *Task, Emit) (schemas.Payload, error) {
			runtime.Goexit()
			return nil, nil
		},
		`"garbage"`: func(context.Context, *Task, Emit) (schemas.Payload, error) { return schemas.Payload(`{"a":`), nil },
		`"large"`: func(context.Context, *Task, Emit) (schemas.Payload, error) {
			return schemas.Payload(`"` + strings.Repeat("x", 2000) + `"`), nil
		},
	}
	h.work(HandlerFunc(func(ctx context.Context, task *Task, emit Emit) (schemas.Payload, error) {
		return handlers[string(task.Message.Payload)](ctx, task, emit)
	}), func(cfg *Config) {
		cfg.ResultLimit = 1000
		cfg.Agents[0].Registration.Capabilities[0].ErrorMapping = map[string]schemas.Code{"E40001": schemas.InvalidArgument}
	})
	tests := []struct {
		name, payload string
		want          schemas.Result
	}{
		{"chunks make the result", `"chunks"`, schemas.Result{State: schemas.StateCompleted, Result: schemas.Payload(`"Ships sail."`)}},
		{"the agent's code is mapped", `"error"`, schemas.Result{
			State: schemas.StateFailed, Ran: schemas.RanYes, Error: &schemas.Error{Code: schemas.InvalidArgument},
		}},
		{"a panic fails the task alone", `"panic"`, schemas.Result{
			State: schemas.StateFailed, Ran: schemas.RanYes, Error: &schemas.Error{Code: schemas.Internal, Reason: "PANIC"},
		}},
		{"a handler that ends its goroutine fails the task alone", `"exit"`, schemas.Result{
			State: schemas.StateFailed, Ran: schemas.RanYes, Error: &schemas.Error{Code: schemas.Internal},
		}},
		{"a result must be JSON", `"garbage"`, schemas.Result{
			State: schemas.StateFailed, Ran: schemas.RanYes, Error: &schemas.Error{Code: schemas.Internal, Reason: schemas.ReasonNotJSON},
		}},
		{"a result must fit", `"large"`, schemas.Result{
			State: schemas.StateFailed, Ran: schemas.RanYes,
			Error: &schemas.Error{Code: schemas.ResourceExhausted, Reason: schemas.ReasonResultTooLarge},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := h.assign(task{payload: tt.payload})
			compareResult(t, tt.want, h.awaitResult(e.TaskID))
			h.awaitDone(e.TaskID)
		})
	}
}

// compareResult looks at state, result, whether it ran, and the error's code and reason.
func compareResult(t *testing.T, want, got schemas.Result) {
	t.Helper()
	if got.State != want.State || got.Ran != want.Ran || string(got.Result) != string(want.Result) {
		t.Errorf("got %s %s ran %q, want %s %s ran %q",
			got.State, []byte(got.Result), got.Ran, want.State, []byte(want.Result), want.Ran)
	}
	if (got.Error == nil) != (want.Error == nil) {
		t.Fatalf("got error %v, want %v", got.Error, want.Error)
	}
	if want.Error != nil && (got.Error.Code != want.Error.Code || got.Error.Reason != want.Error.Reason) {
		t.Errorf("got error %s %s, want %s %s", got.Error.Code, got.Error.Reason, want.Error.Code, want.Error.Reason)
	}
}

func TestTheRunLimitEndsATask(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	h.work(HandlerFunc(func(ctx context.Context, task *Task, _ Emit) (schemas.Payload, error) {
		deadline, has := ctx.Deadline()
		if !has || deadline.Sub(task.Deadline).Abs() > patience {
			t.Errorf("the context ends at %v, the task says %v", deadline, task.Deadline)
		}
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, ErrRunLimit) {
			t.Errorf("the cause is %v, want ErrRunLimit", cause)
		}
		switch string(task.Message.Payload) {
		case `"confirms"`:
			return nil, &Failure{Err: failed(schemas.Cancelled), Ran: schemas.RanYes, Confirmed: true}
		case `"answers"`:
			return schemas.Payload(`"late, but whole"`), nil
		}
		return nil, ctx.Err()
	}))
	limit := &schemas.Error{Code: schemas.DeadlineExceeded, Reason: schemas.ReasonRunLimit}
	for payload, want := range map[string]schemas.Result{
		`"obeys"`:    {State: schemas.StateFailed, Ran: schemas.RanUnknown, Error: limit},
		`"confirms"`: {State: schemas.StateFailed, Ran: schemas.RanYes, Error: limit},
		`"answers"`:  {State: schemas.StateCompleted, Result: schemas.Payload(`"late, but whole"`)},
	} {
		t.Run(strings.Trim(payload, `"`), func(t *testing.T) {
			e := h.assign(task{payload: payload, runLimit: 50 * time.Millisecond})
			compareResult(t, want, h.awaitResult(e.TaskID))
			h.awaitDone(e.TaskID)
		})
	}
}

func TestWhatARealtimeTaskHadSaidByItsRunLimitIsItsResult(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	h.work(HandlerFunc(func(ctx context.Context, task *Task, emit Emit) (schemas.Payload, error) {
		if string(task.Message.Payload) != `"says nothing"` {
			for _, chunk := range []string{`"Ships "`, `"sail."`} { // however late it is
				if err := emit.Chunk(context.WithoutCancel(ctx), schemas.Payload(chunk)); err != nil {
					t.Errorf("chunk: %v", err)
				}
			}
		}
		<-ctx.Done()
		if string(task.Message.Payload) == `"confirms"` {
			return nil, &Failure{Err: failed(schemas.Cancelled), Ran: schemas.RanYes, Confirmed: true}
		}
		return nil, ctx.Err()
	}))
	limit := &schemas.Error{Code: schemas.DeadlineExceeded, Reason: schemas.ReasonRunLimit}
	part := schemas.Payload(`"Ships sail."`)
	for _, tt := range []struct {
		name string
		qos  schemas.QualityOfService
		want schemas.Result
	}{
		{"obeys", schemas.QoSRealtime, schemas.Result{State: schemas.StateCompleted, Result: part, Partial: true, Ran: schemas.RanUnknown}},
		{"confirms", schemas.QoSRealtime, schemas.Result{State: schemas.StateCompleted, Result: part, Partial: true, Ran: schemas.RanYes}},
		{"says nothing", schemas.QoSRealtime, schemas.Result{State: schemas.StateFailed, Error: limit, Ran: schemas.RanUnknown}},
		{"is not in a hurry", schemas.QoSStandard, schemas.Result{State: schemas.StateFailed, Error: limit, Ran: schemas.RanUnknown}},
		{"is to be complete", schemas.QoSComplete, schemas.Result{State: schemas.StateFailed, Error: limit, Ran: schemas.RanUnknown}},
	} {
		got := h.awaitResult(h.assign(task{payload: `"` + tt.name + `"`, runLimit: 50 * time.Millisecond, qos: tt.qos}).TaskID)
		t.Log(tt.name)
		compareResult(t, tt.want, got)
		if got.Partial != tt.want.Partial {
			t.Errorf("%s: partial %v, want %v", tt.name, got.Partial, tt.want.Partial)
		}
	}
}

func TestWhatARealtimeTaskHadSaidBeforeItIsGivenUpIsItsResult(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	let, intime := make(chan struct{}), make(chan bool, 1)
	defer close(let)
	h.work(HandlerFunc(func(ctx context.Context, task *Task, emit Emit) (schemas.Payload, error) {
		err := errors.Join(emit.Chunk(ctx, schemas.Payload(`"Ships "`)), emit.Chunk(ctx, schemas.Payload(`"sail."`)))
		intime <- err == nil
		if err == nil {
			<-let
		}
		return nil, err
	}), func(cfg *Config) { cfg.StopGrace = 20 * time.Millisecond })
	for limit := 100 * time.Millisecond; ; limit *= 2 {
		got := h.awaitResult(h.assign(task{payload: `"does not return"`, runLimit: limit, qos: schemas.QoSRealtime}).TaskID)
		if !<-intime {
			continue // the machine stood still: it gets more time
		}
		compareResult(t, schemas.Result{State: schemas.StateCompleted, Result: schemas.Payload(`"Ships sail."`), Ran: schemas.RanUnknown}, got)
		if !got.Partial {
			t.Error("what was given up is not marked as partial")
		}
		return
	}
}

func TestAHandlerThatDoesNotReturnKeepsItsSlot(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	let := make(chan struct{})
	s := h.work(HandlerFunc(func(_ context.Context, task *Task, _ Emit) (schemas.Payload, error) {
		if string(task.Message.Payload) == `"stuck"` {
			<-let
		}
		return task.Message.Payload, nil
	}), func(cfg *Config) { cfg.StopGrace = 50 * time.Millisecond })

	stuck := h.assign(task{payload: `"stuck"`, runLimit: 20 * time.Millisecond})
	compareResult(t, schemas.Result{
		State: schemas.StateFailed, Ran: schemas.RanUnknown,
		Error: &schemas.Error{Code: schemas.DeadlineExceeded, Reason: schemas.ReasonRunLimit},
	}, h.awaitResult(stuck.TaskID))
	brokertest.Eventually(t, "an empty inbox", s.station().inbox.empty)
	busy := func(n int) func() bool {
		return func() bool {
			last := h.lastBeat()
			return last.AgentID != "" && last.InFlight == n && len(last.InFlightTasks) == 0
		}
	}
	brokertest.Eventually(t, "a heartbeat that says one slot is taken", busy(1))
	if free, total := s.station().inbox.free(); free["echo"] != 1 || total != 1 {
		t.Errorf("%v slots are free, %d in all, want 1", free, total)
	}
	close(let)
	brokertest.Eventually(t, "a heartbeat that says no slot is taken", busy(0))
}

func TestAnAgentThatDoesNotSayWhetherItHasStoppedKeepsItsSlotForAWhile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		grace time.Duration
		then  func(t *testing.T, h *house, s *served, asked func() int)
	}{
		{"in which no other task gets it", time.Hour, func(t *testing.T, h *house, _ *served, asked func() int) {
			third := h.assign(task{payload: `3`}).TaskID
			brokertest.Eventually(t, "a third task handed back", func() bool { return slices.Contains(h.released(), third) })
			if n := asked(); n != 2 {
				t.Errorf("the agent was asked %d times, though it may still be at work on what it was asked before", n)
			}
		}},
		{"after which it is free", 50 * time.Millisecond, func(t *testing.T, _ *house, s *served, _ func() int) {
			brokertest.Eventually(t, "the slots given back", func() bool {
				_, free := s.station().inbox.free()
				return free == 2
			})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t).serve()
			asked := make(chan string, 3)
			s := h.work(HandlerFunc(func(ctx context.Context, task *Task, _ Emit) (schemas.Payload, error) {
				asked <- string(task.Message.Payload)
				<-ctx.Done()
				return nil, &Failure{Err: schemas.NewError(schemas.Cancelled, "", "cut off"), Ran: schemas.RanUnknown}
			}), func(cfg *Config) { cfg.StopGrace = tt.grace })
			for _, payload := range []string{`1`, `2`} { // there are two slots
				h.awaitResult(h.assign(task{payload: payload, runLimit: 20 * time.Millisecond}).TaskID)
			}
			tt.then(t, h, s, func() int { return len(asked) })
		})
	}
}

func TestABusyHouseIsAskedByAFewAtATime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	const tasks, atOnce = 12, 3
	var now, most atomic.Int32
	more := make(chan struct{})
	h.onFinish = func(int, schemas.Result) reaction {
		for n := now.Add(1); ; {
			before := most.Load()
			if n <= before || most.CompareAndSwap(before, n) {
				break
			}
		}
		<-more
		now.Add(-1)
		return reaction{}
	}
	h.serve()
	echo := HandlerFunc(func(_ context.Context, task *Task, _ Emit) (schemas.Payload, error) { return task.Message.Payload, nil })
	h.work(echo, func(cfg *Config) {
		cfg.MaxRequests, cfg.Agents[0].Registration.Capabilities[0].MaxConcurrency = atOnce, tasks
		cfg.RequestTimeout = patience // none is sent again while it is held
	})
	var ids []string
	for range tasks {
		ids = append(ids, h.assign(task{}).TaskID)
	}
	brokertest.Eventually(t, "as many results on their way as there may be", func() bool { return now.Load() == atOnce })
	close(more)
	for _, id := range ids {
		h.awaitDone(id)
	}
	if most.Load() != atOnce {
		t.Errorf("%d results were on their way at once, want %d", most.Load(), atOnce)
	}
}
