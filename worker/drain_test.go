package worker

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestAStoppedWorkerFinishesAndHandsBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	handler := newScript()
	s := h.work(handler, func(cfg *Config) {
		cfg.ExcessWait, cfg.DrainTimeout, cfg.RequestTimeout = time.Minute, patience, patience
		cfg.Agents[0].Registration.Capabilities[0].MaxConcurrency = 1
	})
	running, waits := h.assign(task{}), h.assign(task{})
	handler.called(t)
	brokertest.Eventually(t, "two tasks held", func() bool { return len(s.station().inbox.sequences()) == 2 })

	s.stop()
	brokertest.Eventually(t, "the release of what waits", func() bool {
		return slices.Equal(h.released(), []string{waits.TaskID})
	})
	late := h.assign(task{})
	brokertest.Eventually(t, "the release of what came late", func() bool {
		return slices.Equal(h.released(), []string{waits.TaskID, late.TaskID})
	})
	handler.answer <- nil
	if err := s.end(); err != nil {
		t.Errorf("Run returned %v", err)
	}
	h.awaitDone(running.TaskID)
	if last := h.lastBeat(); last.State != schemas.AgentOffline || last.InFlight != 0 {
		t.Errorf("the last heartbeat is %+v, want offline", last)
	}
	if len(handler.calls) != 0 {
		t.Error("a task began in the drain")
	}
}

func TestWhatOutlastsTheDrainIsStopped(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	began := make(chan struct{})
	s := h.work(HandlerFunc(func(ctx context.Context, _ *Task, _ Emit) (schemas.Payload, error) {
		close(began)
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, ErrStopping) {
			t.Errorf("the cause is %v, want ErrStopping", cause)
		}
		return nil, ctx.Err()
	}), func(cfg *Config) { cfg.DrainTimeout, cfg.RequestTimeout = 50*time.Millisecond, patience })
	e := h.assign(task{})
	<-began
	if err := s.end(); err != nil {
		t.Errorf("Run returned %v", err)
	}
	compareResult(t, schemas.Result{
		State: schemas.StateFailed, Ran: schemas.RanUnknown,
		Error: &schemas.Error{Code: schemas.Unavailable, Reason: schemas.ReasonWorkerStopped},
	}, h.awaitResult(e.TaskID))
}

func TestAWorkerEndsWithoutADispatcher(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	handler := newScript()
	s := h.work(handler, func(cfg *Config) {
		cfg.DrainTimeout, cfg.StopGrace, cfg.RequestTimeout = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	})
	h.assign(task{})
	handler.called(t)
	h.leave()
	handler.answer <- nil
	if err := s.end(); err != nil {
		t.Errorf("Run returned %v", err)
	}
}

func TestAWorkerEndsWithoutABroker(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	handler := newScript()
	s := h.work(handler, func(cfg *Config) {
		cfg.DrainTimeout, cfg.StopGrace, cfg.RequestTimeout = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	})
	h.assign(task{})
	handler.called(t)
	h.broker.Stop()
	if err := s.end(); err != nil {
		t.Errorf("Run returned %v", err)
	}
	h.broker.Start()
}

func TestAnOutageInTheMiddleOfARun(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	handler := newScript()
	h.work(handler)
	before := h.assign(task{effects: true})
	handler.called(t)
	h.broker.Stop()
	h.broker.Start()
	brokertest.Eventually(t, "a connection", h.conn.Connected)
	after := h.assign(task{})
	handler.called(t)
	handler.answer <- nil
	handler.answer <- nil
	h.awaitDone(before.TaskID)
	h.awaitDone(after.TaskID)
	if len(handler.calls) != 0 {
		t.Error("a task ran twice")
	}
}

func TestAWorkerThatOnlyWaitsForADispatcherLeavesTheRestToItsJournal(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.onFinish = func(int, schemas.Result) reaction { return reaction{ignore: true} }
	h.serve()
	handler := newScript()
	s := h.work(handler, func(cfg *Config) {
		cfg.JournalDir = t.TempDir()
		cfg.DrainTimeout, cfg.StopGrace, cfg.RequestTimeout = 50*time.Millisecond, time.Hour, 50*time.Millisecond
	})
	e := h.assign(task{effects: true})
	handler.called(t)
	handler.answer <- nil
	h.awaitResult(e.TaskID)
	if err := s.end(); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if got := openNotebook(t, s.journal.dir).owes(); len(got) != 1 || got[0] != e.TaskID {
		t.Errorf("the journal owes %v", got)
	}
	if state := h.lastBeat().State; state == schemas.AgentOffline {
		t.Error("it said goodbye, and left its result no time")
	}
}
