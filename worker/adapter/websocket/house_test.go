package websocket_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	ws "github.com/coder/websocket"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/websocket"
)

// outcome is what a test looks at.
type outcome struct {
	Result string
	Chunks []string
	Code   schemas.Code
	Reason string
	Ran    schemas.Ran
	Agents string // the agent's own code
}

func outcomeOf(t *testing.T, result schemas.Payload, heard *adaptertest.Recorder, err error) outcome {
	t.Helper()
	got := outcome{Result: string(result), Chunks: heard.Chunks()}
	if err == nil {
		return got
	}
	failure := failureOf(t, err)
	got.Code, got.Reason, got.Ran = failure.Err.Code, failure.Err.Reason, failure.Ran
	failure.Err.Detail("agent_code", &got.Agents)
	return got
}

func failureOf(t *testing.T, err error) *worker.Failure {
	t.Helper()
	var failure *worker.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a *worker.Failure", err)
	}
	return failure
}

// run gives the agent one small task.
func run(t *testing.T, agent *websocket.Agent) outcome {
	t.Helper()
	heard := new(adaptertest.Recorder)
	result, err := agent.Handle(t.Context(), adaptertest.NewTask([]byte(`{}`)), heard)
	return outcomeOf(t, result, heard, err)
}

// begin gives it one whose end comes later.
func begin(ctx context.Context, t *testing.T, agent *websocket.Agent, heard *adaptertest.Recorder) <-chan outcome {
	t.Helper()
	ended := make(chan outcome, 1)
	go func() {
		result, err := agent.Handle(ctx, adaptertest.NewTask([]byte(`{}`)), heard)
		ended <- outcomeOf(t, result, heard, err)
	}()
	return ended
}

// inTurn is an agent that does something else on each connection; the last one also on those that follow.
func inTurn(turns ...func(context.Context, *ws.Conn)) func(context.Context, *ws.Conn) {
	var count atomic.Int32
	return func(ctx context.Context, conn *ws.Conn) {
		turns[min(int(count.Add(1)), len(turns))-1](ctx, conn)
	}
}

// answering answers each task with the same messages, in which TASK stands for its id.
func answering(messages ...string) func(context.Context, *ws.Conn) {
	return func(ctx context.Context, conn *ws.Conn) {
		for {
			m, err := read(ctx, conn)
			if err != nil {
				return
			}
			sayAll(conn, m.TaskID, messages...)
		}
	}
}
