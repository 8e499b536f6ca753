package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestATaskWithEffectsIsBegunBeforeItBegins(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	h.work(HandlerFunc(func(ctx context.Context, task *Task, _ Emit) (schemas.Payload, error) {
		e, err := h.conn.Ledger().LastAtLeader(ctx, task.ID())
		if err != nil || e.Phase != schemas.PhaseBegun {
			t.Errorf("the handler runs while the task is %s (%v)", e.Phase, err)
		}
		return task.Message.Payload, nil
	}))
	e := h.assign(task{effects: true})
	h.awaitDone(e.TaskID)
	if r := h.awaitResult(e.TaskID); r.Sequence <= e.Sequence {
		t.Errorf("the result names sequence %d, want that of the begin", r.Sequence)
	}
}

func TestABeginIsRepeatedUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	for name, react := range map[string]func(n int) reaction{
		"the answers are lost":         func(n int) reaction { return reaction{swallow: n < 3} },
		"the requests are lost":        func(n int) reaction { return reaction{ignore: n < 3} },
		"the outcome is not known yet": tryAgainUntil(3),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.onBegin = func(n int, _ schemas.Begin) reaction { return react(n) }
			h.serve()
			handler := newScript()
			handler.answer <- nil
			h.work(handler, func(cfg *Config) { cfg.RequestTimeout = 100 * time.Millisecond })
			e := h.assign(task{effects: true})
			h.awaitDone(e.TaskID)
			begins := look(h, &h.begins)
			if len(begins) < 3 || begins[0].WriteID == "" {
				t.Fatalf("begins are %+v, want three or more with a write_id", begins)
			}
			for _, b := range begins {
				if b != begins[0] {
					t.Errorf("a begin is %+v and then %+v, want the same again", begins[0], b)
				}
			}
			if len(handler.calls) != 1 {
				t.Errorf("the handler was called %d times", len(handler.calls))
			}
		})
	}
}

func tryAgainUntil(last int) func(n int) reaction {
	return func(n int) reaction {
		if n < last {
			return reaction{answer: &schemas.Answer{Outcome: schemas.OutcomeTryAgain}}
		}
		return reaction{}
	}
}

func TestWithoutTheRightNothingBegins(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]*schemas.Answer{
		"superseded": {Outcome: schemas.OutcomeSuperseded},
		"refused":    {Error: schemas.NewError(schemas.PermissionDenied, "", "not yours")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.silent = true
			h.onBegin = func(int, schemas.Begin) reaction { return reaction{answer: answer} }
			h.serve()
			handler := newScript()
			s := h.work(handler)
			h.assign(task{effects: true})
			brokertest.Eventually(t, "a begin", func() bool { return len(look(h, &h.begins)) > 0 })
			brokertest.Eventually(t, "an empty inbox", s.station().inbox.empty)
			if len(handler.calls) != 0 || len(look(h, &h.results)) != 0 {
				t.Error("the task ran")
			}
			handler.answer <- nil
			h.awaitDone(h.assign(task{}).TaskID) // the slot is free
		})
	}
}

func TestABeginEndsWithTheTask(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.silent = true
	h.onBegin = func(int, schemas.Begin) reaction { return reaction{ignore: true} }
	h.serve()
	s := h.work(HandlerFunc(func(_ context.Context, task *Task, _ Emit) (schemas.Payload, error) {
		if !task.Message.Assignment.Idempotent {
			t.Error("it began without an answer")
		}
		return task.Message.Payload, nil
	}), func(cfg *Config) { cfg.RequestTimeout = 50 * time.Millisecond })
	for life := time.Second; len(look(h, &h.begins)) == 0; life *= 2 { // a machine that stands still for that long asks for nothing
		h.assign(task{effects: true, expires: life})
		h.awaitDone(h.assign(task{}).TaskID) // which comes behind it
		brokertest.Eventually(t, "an empty inbox", s.station().inbox.empty)
	}
}

func TestABeginOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	asked := make(chan struct{}, 100)
	h.onBegin = func(n int, _ schemas.Begin) reaction {
		asked <- struct{}{}
		return reaction{ignore: n == 1}
	}
	h.serve()
	h.work(echo, func(cfg *Config) { cfg.RequestTimeout = 10 * time.Second })
	e := h.assign(task{effects: true})
	<-asked
	h.broker.Stop()
	h.broker.Start()
	h.awaitDone(e.TaskID)
}

func TestABegunTaskThatMovedOnIsStopped(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	causes := make(chan error, 1)
	began := make(chan struct{})
	h.work(HandlerFunc(func(ctx context.Context, _ *Task, _ Emit) (schemas.Payload, error) {
		close(began)
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil, ctx.Err()
	}))
	e := h.assign(task{effects: true})
	<-began
	begun, err := h.conn.Ledger().LastAtLeader(t.Context(), e.TaskID)
	if err != nil {
		t.Fatal(err)
	}
	moved := broker.Entry{
		TaskID: e.TaskID, Phase: schemas.PhaseAssigned, Capability: "echo", Agent: "server-2", Previous: begun.Sequence,
		Body: e.Body, TTL: time.Hour,
	}
	if _, err := h.conn.Ledger().Write(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	if cause := <-causes; !errors.Is(cause, ErrSuperseded) {
		t.Errorf("the handler ended with %v, want ErrSuperseded", cause)
	}
	if len(look(h, &h.results)) != 0 {
		t.Error("a result was sent for a task that is another agent's")
	}
}
