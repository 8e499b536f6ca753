package streaming

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// Each way in which a task can end reaches every reader once, with what a look at the task shows; a reader that comes later gets it at
// once.
func TestEveryReaderGetsTheEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		message schemas.ReachMessage
		handler worker.HandlerFunc
		end     func(h *house, id string, w *wire)
		state   schemas.State
		code    schemas.Code
	}{
		{
			"completed",
			schemas.ReachMessage{Capability: "echo"},
			func(context.Context, *worker.Task, worker.Emit) (schemas.Payload, error) {
				return schemas.Payload("1.0"), nil
			},
			nil, schemas.StateCompleted, "",
		},
		{
			"failed",
			schemas.ReachMessage{Capability: "echo"},
			func(context.Context, *worker.Task, worker.Emit) (schemas.Payload, error) {
				return nil, schemas.NewError(schemas.InvalidArgument, "", "no")
			},
			nil, schemas.StateFailed, schemas.InvalidArgument,
		},
		{
			"canceled",
			schemas.ReachMessage{Capability: "echo"},
			untilStopped,
			func(h *house, id string, _ *wire) {
				_, err := h.sdk.Cancel(within(h.t), id)
				check(h.t, err)
			}, schemas.StateCanceled, schemas.Cancelled,
		},
		{
			"past its run limit",
			schemas.ReachMessage{Capability: "echo", RunTimeoutMS: 3000},
			untilStopped,
			nil, schemas.StateFailed, schemas.DeadlineExceeded,
		},
		{
			"worker lost",
			schemas.ReachMessage{Capability: "act"},
			untilStopped,
			func(_ *house, _ string, w *wire) { w.cut() }, schemas.StateFailed, schemas.Aborted,
		},
		{
			"dead-lettered",
			schemas.ReachMessage{Capability: "echo"},
			func(context.Context, *worker.Task, worker.Emit) (schemas.Payload, error) {
				return nil, &worker.Failure{Err: schemas.NewError(schemas.Unavailable, "", "closed"), Ran: schemas.RanNo}
			},
			nil, schemas.StateFailed, schemas.Unavailable,
		},
		{
			"refused by the contract",
			schemas.ReachMessage{Capability: "act"},
			func(context.Context, *worker.Task, worker.Emit) (schemas.Payload, error) {
				return schemas.Payload("1"), nil
			},
			nil, schemas.StateFailed, schemas.Internal,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			start := newHouse
			if tt.code == schemas.Aborted { // its worker is to be missed
				start = newImpatientHouse
			}
			h := start(t)
			read := make(chan struct{})
			w := h.work("a1", func(ctx context.Context, task *worker.Task, to worker.Emit) (schemas.Payload, error) {
				if err := emit(ctx, to, `"x"`); err != nil {
					return nil, err
				}
				select {
				case <-read:
				case <-ctx.Done():
				}
				return tt.handler(ctx, task, to)
			}, "echo", "act")
			published := make(chan *schemas.Task, 16)
			subscription, err := h.sdk.SubscribeResults(func(task *schemas.Task) { published <- task })
			check(t, err)
			defer subscription.Close()
			id := h.submit(tt.message).TaskID
			readers := []*events{h.follow(0, id, ""), h.follow(1, id, "")}
			stream, err := h.sdk.Follow(within(t), id, client.Fresh)
			check(t, err)
			defer stream.Close()
			for _, r := range readers {
				for one, found := r.next(); one.name != "chunk"; one, found = r.next() {
					if !found {
						t.Fatal("the stream ended before its first chunk")
					}
				}
			}
			close(read)
			if tt.end != nil {
				tt.end(h, id, w)
			}
			var want string
			for n, r := range readers {
				_, last := r.rest()
				want = unamended(t, h.task(id))
				if got := unamended(t, last.data); last.id != "end" || last.name != "done" || got != want {
					t.Errorf("reader %d (-look +event)\n%s", n, cmp.Diff(want, got))
				}
			}
			for event, err := stream.Next(within(t)); err == nil; event, err = stream.Next(within(t)) {
				_ = event
			}
			ended := stream.Task()
			if ended.State != tt.state || tt.code != "" && (ended.Error == nil || ended.Error.Code != tt.code) {
				t.Errorf("ended %s, %v", ended.State, ended.Error)
			}
			for reader, task := range map[string]*schemas.Task{"the SDK": ended, "who hears results": <-published} {
				if got := unamended(t, string(schemas.MustEncode(task))); got != want {
					t.Errorf("%s (-look +heard)\n%s", reader, cmp.Diff(want, got))
				}
			}
			late, first := h.follow(1, id, ""), time.Now()
			if pieces, last := late.rest(); len(pieces) > 0 || unamended(t, last.data) != want || time.Since(first) > patience/2 {
				t.Errorf("a late reader: %v, %+v", pieces, last)
			}
		})
	}
}

// unamended is a task less what is added to its record after its end: whether its agent has confirmed a cancel.
func unamended(t *testing.T, text string) string {
	t.Helper()
	var task schemas.Task
	check(t, schemas.Decode([]byte(text), &task))
	task.Cancel, task.Revision = nil, 0
	return string(schemas.MustEncode(&task))
}

// untilStopped is an agent that answers only when it is told to stop, and confirms it.
func untilStopped(ctx context.Context, _ *worker.Task, _ worker.Emit) (schemas.Payload, error) {
	<-ctx.Done()
	return nil, &worker.Failure{
		Err: schemas.NewError(schemas.Cancelled, "", "stopped"), Ran: schemas.RanUnknown, Confirmed: true,
	}
}

// A reader that leaves, in whatever way, leaves the task alone: the agent does not even wait for it.
func TestReadersThatLeave(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.work("a1", func(ctx context.Context, _ *worker.Task, to worker.Emit) (schemas.Payload, error) {
		for n := range 500 {
			if err := emit(ctx, to, fmt.Sprint(n+1)); err != nil {
				return nil, err
			}
		}
		return schemas.Payload(`"whole"`), nil
	}, "echo")
	for range 5 {
		id := h.submit(schemas.ReachMessage{Capability: "echo", ResponseMode: schemas.ModeStream}).TaskID
		r := h.follow(0, id, "")
		if _, found := r.next(); !found {
			t.Fatal("nothing was heard")
		}
		r.leave()
		task, err := h.sdk.Result(within(t), id)
		check(t, err)
		if task.State != schemas.StateCompleted || string(task.Result) != `"whole"` || task.Chunks != 500 {
			t.Errorf("%s", schemas.MustEncode(task))
		}
	}
}
