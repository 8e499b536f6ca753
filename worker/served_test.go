package worker

import (
	"context"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// patience is longer than any machine stands still: what a test relies on happens within it, and what takes it makes the test fail.
const patience = 20 * time.Second

// served is a worker under test.
type served struct {
	*Worker
	t    testing.TB
	stop context.CancelFunc
	done chan error
}

// work starts a worker with one agent, laptop-1, that offers echo; change may make it another one. It waits until the worker
// listens, and ends it with the test.
func (h *house) work(handler Handler, change ...func(*Config)) *served {
	h.t.Helper()
	w := h.start(handler, change...)
	select {
	case <-w.Ready():
	case err := <-w.done:
		h.t.Fatalf("the worker ended: %v", err)
	case <-time.After(patience):
		h.t.Fatal("the worker is not ready")
	}
	return w
}

func (h *house) start(handler Handler, change ...func(*Config)) *served {
	h.t.Helper()
	cfg := Config{
		Conn: h.broker.Conn(h.t),
		Agents: []Agent{{
			Registration: schemas.Registration{
				AgentID: "laptop-1", Version: "1.2.0", Capabilities: []schemas.Offer{{ID: "echo", MaxConcurrency: 2}},
			},
			Handler: handler,
		}},
		HeartbeatInterval: 300 * time.Millisecond, HeartbeatGap: 20 * time.Millisecond, HealthTimeout: patience,
		ReceiptAfter: 50 * time.Millisecond, ReceiptInterval: 200 * time.Millisecond, RequestTimeout: 2 * time.Second,
		PullTimeout: time.Second, StopGrace: patience, CancelWait: patience, DrainTimeout: 2 * time.Second,
	}
	for _, fn := range change {
		fn(&cfg)
	}
	w, err := New(cfg)
	if err != nil {
		h.t.Fatalf("new worker: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &served{Worker: w, t: h.t, stop: stop, done: make(chan error, 1)}
	go func() { s.done <- w.Run(ctx) }()
	h.t.Cleanup(func() {
		stop()
		if s.done != nil {
			s.end()
		}
	})
	return s
}

// end tells the worker to stop and gives what Run returned.
func (s *served) end() error {
	s.t.Helper()
	s.stop()
	defer func() { s.done = nil }()
	select {
	case err := <-s.done:
		return err
	case <-time.After(patience):
		s.t.Error("the worker does not end")
		return nil
	}
}

// station is that of the first agent.
func (s *served) station() *station { return s.stations[0] }

// echo answers with its payload.
var echo = HandlerFunc(func(_ context.Context, t *Task, _ Emit) (schemas.Payload, error) { return t.Message.Payload, nil })

// script is a handler that tells the test when it is called and waits for its word.
type script struct {
	calls  chan *Task
	answer chan error // one word for each call
}

func newScript() *script {
	return &script{calls: make(chan *Task, 1000), answer: make(chan error, 1000)}
}

func (s *script) Handle(ctx context.Context, t *Task, _ Emit) (schemas.Payload, error) {
	s.calls <- t
	select {
	case err := <-s.answer:
		if ctx.Err() != nil { // the word was for another call
			s.answer <- err
			break
		}
		return schemas.Payload(`{"ok":true}`), err
	case <-ctx.Done():
	}
	return nil, context.Cause(ctx)
}

// called waits for the next call.
func (s *script) called(t testing.TB) *Task {
	t.Helper()
	select {
	case task := <-s.calls:
		return task
	case <-time.After(patience):
		t.Fatal("the handler is not called")
		return nil
	}
}

// failed is an error of that code.
func failed(code schemas.Code) *schemas.Error {
	return schemas.NewError(code, "", "the script says so")
}
