//go:build unix

package streaming

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

var cuts = flag.Int("cuts", 60, "how often the reader of a stream leaves and comes back")

// A reader that leaves anywhere and comes back, over HTTP to one front or the other or over NATS, misses nothing and hears nothing twice.
func TestAReaderThatComesAndGoesMissesNothing(t *testing.T) {
	t.Parallel()
	const ahead = 500 // of its reader, the agent may be at most: less than what is kept for one who comes back
	h := newHouse(t)
	enough := make(chan struct{})
	var read atomic.Int64
	h.work("laptop-1", func(ctx context.Context, _ *worker.Task, to worker.Emit) (schemas.Payload, error) {
		for n := int64(1); ; {
			select {
			case <-enough:
				return schemas.Payload("true"), nil
			case <-time.After(200 * time.Microsecond):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			if n > read.Load()+ahead {
				continue
			}
			if err := emit(ctx, to, fmt.Sprint(n)); err != nil {
				return nil, err
			}
			n++
		}
	}, "echo")
	task := h.submit(schemas.ReachMessage{Capability: "echo", ResponseMode: schemas.ModeStream, RunTimeoutMS: 600_000})
	last := 0
	for cut := range *cuts {
		read.Store(int64(last))
		want := last + 1 + rand.IntN(60)
		if cut%3 == 2 {
			last = h.readSome(task.TaskID, last, want)
			continue
		}
		events := h.follow(cut%2, task.TaskID, fmt.Sprint(last))
		for last < want {
			last = nextChunk(t, events, last)
		}
		events.leave()
	}
	close(enough)
	ended, err := h.sdk.Result(within(t), task.TaskID)
	check(t, err)
	if ended.State != schemas.StateCompleted || ended.Chunks < int64(last) {
		t.Errorf("it ended %s after %d chunks, of which %d were read", ended.State, ended.Chunks, last)
	}
}

// nextChunk is the number of the next chunk, which follows the last one and says the same of itself.
func nextChunk(t *testing.T, events *events, last int) int {
	t.Helper()
	for {
		one, found := events.next()
		switch {
		case !found || one.name == "notice":
			t.Fatalf("after chunk %d: %+v", last, one)
		case one.name == "chunk":
			if want := fmt.Sprint(last + 1); one.id != want || !strings.HasSuffix(one.data, `"data":`+want+`}`) {
				t.Fatalf("after chunk %d comes %+v", last, one)
			}
			return last + 1
		}
	}
}

// readSome reads on over NATS.
func (h *house) readSome(taskID string, last, want int) int {
	h.t.Helper()
	stream, err := h.sdk.Follow(within(h.t), taskID, int64(last))
	check(h.t, err)
	defer stream.Close()
	for last < want {
		event, err := stream.Next(within(h.t))
		check(h.t, err)
		switch {
		case event.Notice != nil:
			h.t.Fatalf("after chunk %d: %+v", last, event.Notice)
		case event.Chunk != nil:
			if last++; event.Chunk.N != int64(last) || string(event.Chunk.Data) != fmt.Sprint(last) {
				h.t.Fatalf("after chunk %d comes %d, %s", last-1, event.Chunk.N, []byte(event.Chunk.Data))
			}
		}
	}
	return last
}

// The process of a worker is killed in the middle of a stream: its reader is told that the next attempt begins anew, its numbers run on,
// and what comes after is the whole text.
func TestAStreamGoesOnAfterItsWorkerWasKilled(t *testing.T) {
	t.Parallel()
	h := newImpatientHouse(t)
	o := order{Chunks: 800, Bytes: 20, EveryUS: 1000}
	victim := start(t, "worker", h.broker.URL(), "laptop-1")
	task := h.submit(schemas.ReachMessage{Capability: "echo", ResponseMode: schemas.ModeStream, Payload: schemas.MustEncode(o)})
	stream, err := h.sdk.Follow(within(t), task.TaskID, 0)
	check(t, err)
	defer stream.Close()
	var text strings.Builder
	var last int64
	restarts := 0
	for ctx := within(t); ; {
		event, err := stream.Next(ctx)
		check(t, err)
		switch {
		case event.Notice != nil && event.Notice.Notice == schemas.NoticeRestarted:
			restarts++
			text.Reset()
		case event.Notice != nil:
			t.Fatalf("after chunk %d: %+v", last, event.Notice)
		case event.Chunk != nil:
			if event.Chunk.N <= last {
				t.Fatalf("after chunk %d comes %d", last, event.Chunk.N)
			}
			last = event.Chunk.N
			text.WriteString(strings.Trim(string(event.Chunk.Data), `"`))
			if restarts == 0 && text.Len() == 200*o.Bytes {
				victim.kill()
				start(t, "worker", h.broker.URL(), "laptop-2")
			}
		case event.Task != nil && event.Task.State.Terminal():
			if event.Task.State != schemas.StateCompleted || string(event.Task.Result) != `"`+o.text()+`"` || text.String() != o.text() {
				t.Errorf("it ended %s with %d bytes, and %d were read; the text has %d",
					event.Task.State, len(event.Task.Result), text.Len(), len(o.text()))
			}
			if restarts == 0 {
				t.Error("its reader was not told that it begins anew")
			}
			return
		}
	}
}
