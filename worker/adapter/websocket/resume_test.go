package websocket_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	ws "github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/websocket"
)

// chunks are numbered from one number to another.
func chunks(from, to int) []string {
	var all []string
	for n := from; n <= to; n++ {
		all = append(all, fmt.Sprintf(`{"task_id":"TASK","n":%d,"chunk":%d}`, n, n))
	}
	return all
}

// saying takes one message, says something about the task that it names, and leaves.
func saying(asked chan<- incoming, messages ...string) func(context.Context, *ws.Conn) {
	return func(ctx context.Context, conn *ws.Conn) {
		m, err := read(ctx, conn)
		if err != nil {
			return
		}
		asked <- m
		sayAll(conn, m.TaskID+m.Resume, messages...)
	}
}

func TestAStreamGoesOnOnTheNextConnection(t *testing.T) {
	t.Parallel()
	asked := make(chan incoming, 8)
	server := serve(t, "127.0.0.1:0", inTurn(
		saying(asked, chunks(1, 3)...),
		saying(asked),
		saying(asked, chunks(2, 5)...), // two of them again
		saying(asked, append(chunks(6, 6), `{"task_id":"TASK","result":"whole"}`)...),
	))
	agent := newAgent(t, websocket.Config{Endpoint: server.endpoint(), Resume: true})
	got := run(t, agent)
	want := outcome{Result: `"whole"`, Chunks: []string{"1", "2", "3", "4", "5", "6"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	first := <-asked
	for _, next := range []int64{4, 4, 6} {
		if m := <-asked; m.Resume != first.TaskID || m.Next != next || m.Payload != nil {
			t.Errorf("got %+v, want to resume %s at %d", m, first.TaskID, next)
		}
	}
}

func TestWhatCannotBeResumedMayHaveRun(t *testing.T) {
	t.Parallel()
	lost := outcome{Code: schemas.Unavailable, Reason: schemas.ReasonConnectionLost, Ran: schemas.RanUnknown, Chunks: []string{"1"}}
	for _, tt := range []struct {
		name string
		then []string
		want outcome
	}{
		{"the agent has forgotten it", []string{`{"task_id":"TASK","lost":true}`}, lost},
		{"a chunk is missing", chunks(3, 3), outcome{
			Code: schemas.Internal, Reason: schemas.ReasonProtocol, Ran: schemas.RanYes, Chunks: []string{"1"},
		}},
		{"it has failed meanwhile", []string{`{"task_id":"TASK","error":{"code":"E40001"}}`}, outcome{
			Code: schemas.InvalidArgument, Ran: schemas.RanYes, Chunks: []string{"1"}, Agents: "E40001",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan incoming, 8)
			server := serve(t, "127.0.0.1:0", inTurn(saying(asked, chunks(1, 1)...), saying(asked, tt.then...)))
			got := run(t, newAgent(t, websocket.Config{Endpoint: server.endpoint(), Resume: true}))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnAgentThatDoesNotComeBackInTime(t *testing.T) {
	t.Parallel()
	taken := make(chan struct{})
	server := serve(t, "127.0.0.1:0", func(ctx context.Context, conn *ws.Conn) {
		_, _ = read(ctx, conn)
		close(taken)
		<-ctx.Done()
	})
	agent := newAgent(t, websocket.Config{Endpoint: server.endpoint(), Resume: true, ResumeWithin: 100 * time.Millisecond})
	ended := begin(t.Context(), t, agent, new(adaptertest.Recorder))
	<-taken
	server.stop()
	if got := <-ended; got.Ran != schemas.RanUnknown || got.Reason != schemas.ReasonConnectionLost {
		t.Errorf("got %+v", got)
	}
}

// TestACloseForAReasonIsNotResumed: the agent has said that the task is over.
func TestACloseForAReasonIsNotResumed(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0", closingWith(1011))
	got := run(t, newAgent(t, websocket.Config{Endpoint: server.endpoint(), Resume: true}))
	if got.Code != schemas.Internal || got.Ran != schemas.RanUnknown || got.Agents != "close_1011" {
		t.Errorf("got %+v", got)
	}
}
