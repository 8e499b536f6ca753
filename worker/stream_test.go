package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// streamed assigns a task whose reader is there before it, and may change its message.
func (h *house) streamed(change func(*schemas.ReachMessage)) (taskID string, reader *broker.ChunkReader) {
	h.t.Helper()
	e := h.entry(task{})
	var message schemas.ReachMessage
	if err := schemas.Decode(e.Body, &message); err != nil {
		h.t.Fatal(err)
	}
	change(&message)
	e.Body = schemas.MustEncode(message)
	conn := h.broker.Connect(h.t, func(cfg *broker.Config) { cfg.Chunks.Patience = time.Minute })
	reader, err := conn.ReadChunks(e.TaskID, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(reader.Close)
	reader.From("laptop-1")
	h.store(e)
	return e.TaskID, reader
}

func announced(m *schemas.ReachMessage) { m.ResponseMode = schemas.ModeStream }

// readAll is what a reader is given up to chunk last.
func readAll(t *testing.T, reader *broker.ChunkReader, last int64) (got []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	reader.End(last)
	for piece, err := range reader.All(ctx) {
		switch {
		case err != nil:
			t.Fatalf("%v after %v", err, got)
		case piece.Notice != nil:
			got = append(got, fmt.Sprint(piece.Notice.Notice, " ", piece.Notice.Next))
		default:
			got = append(got, string(piece.Chunk.Data))
		}
	}
	return got
}

func TestReadersGetWhatTheAgentEmits(t *testing.T) {
	t.Parallel()
	literals := []string{`"Ships "`, `9007199254740993`, `{"b":1.0,"a":-0}`, `1e2`, `null`, `"\u00e9"`}
	h := newHouse(t).serve()
	h.work(HandlerFunc(func(ctx context.Context, _ *Task, emit Emit) (schemas.Payload, error) {
		for _, literal := range literals {
			if err := emit.Chunk(ctx, schemas.Payload(literal)); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}))
	id, reader := h.streamed(announced)
	if diff := cmp.Diff(literals, readAll(t, reader, int64(len(literals)))); diff != "" {
		t.Errorf("chunks (-want +got)\n%s", diff)
	}
	result := h.awaitResult(id)
	if want := `["Ships ",9007199254740993,{"b":1.0,"a":-0},1e2,null,"\u00e9"]`; string(result.Result) != want || result.Chunks != 6 {
		t.Errorf("result %s of %d chunks", []byte(result.Result), result.Chunks)
	}
}

func TestTheNumbersOfAnotherAttemptGoOn(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	h.work(HandlerFunc(func(ctx context.Context, _ *Task, emit Emit) (schemas.Payload, error) {
		return schemas.Payload("1"), emit.Chunk(ctx, schemas.Payload(`"again"`))
	}))
	id, reader := h.streamed(func(m *schemas.ReachMessage) {
		announced(m)
		m.Attempt, m.Assignment.NextChunk = 2, 18
	})
	if diff := cmp.Diff([]string{"restarted 18", `"again"`}, readAll(t, reader, 18)); diff != "" {
		t.Errorf("chunks (-want +got)\n%s", diff)
	}
	if result := h.awaitResult(id); result.Chunks != 18 || result.Attempt != 2 {
		t.Errorf("result %+v", result)
	}
}

// The agent is not read from while its reader is a window behind: nothing piles up in the worker.
func TestASlowReaderHoldsTheAgent(t *testing.T) {
	t.Parallel()
	var emitted atomic.Int64
	h := newHouse(t).serve()
	s := h.work(HandlerFunc(func(ctx context.Context, _ *Task, emit Emit) (schemas.Payload, error) {
		for range 100 {
			if err := emit.Chunk(ctx, schemas.Payload(`"x"`)); err != nil {
				return nil, err
			}
			emitted.Add(1)
		}
		return nil, nil
	}))
	id, reader := h.streamed(announced)
	brokertest.Eventually(t, "a window of chunks", func() bool { return emitted.Load() == 16 })
	for range 8 {
		brokertest.Eventually(t, "a chunk", func() bool { _, found := reader.Next(); return found })
	}
	reader.Next() // acknowledges the eighth
	brokertest.Eventually(t, "half a window more", func() bool { return emitted.Load() == 24 })
	reader.Close()
	if result := h.awaitResult(id); result.State != schemas.StateCompleted || string(result.Result) != `"`+strings.Repeat("x", 100)+`"` {
		t.Errorf("result %+v", result)
	}
	brokertest.Eventually(t, "an empty inbox", s.station().inbox.empty)
}

func TestACancelReachesAnAgentThatIsHeld(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	ended := make(chan error, 1)
	h.work(HandlerFunc(func(ctx context.Context, _ *Task, emit Emit) (schemas.Payload, error) {
		for {
			if err := emit.Chunk(ctx, schemas.Payload(`"x"`)); err != nil {
				ended <- err
				return nil, &Failure{Err: schemas.NewError(schemas.Cancelled, "", "stopped"), Ran: schemas.RanUnknown, Confirmed: true}
			}
		}
	}))
	id, reader := h.streamed(announced)
	brokertest.Eventually(t, "a chunk", func() bool { _, found := reader.Next(); return found })
	if reply := h.tell(schemas.Control{Do: schemas.DoCancel, TaskID: id}); !reply.Confirmed {
		t.Errorf("reply %+v", reply)
	}
	if err := <-ended; !errors.Is(err, ErrCanceled) {
		t.Errorf("the agent heard %v", err)
	}
}

func TestWithoutReadersTheResultIsWholeOrTooLarge(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	h.work(HandlerFunc(func(ctx context.Context, task *Task, emit Emit) (schemas.Payload, error) {
		for range 2000 {
			if err := emit.Chunk(ctx, task.Message.Payload); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}), func(cfg *Config) { cfg.ResultLimit = 1 << 20 })
	small := h.assign(task{payload: `"` + strings.Repeat("x", 100) + `"`}).TaskID
	large := h.assign(task{payload: `"` + strings.Repeat("x", 1000) + `"`}).TaskID
	if result := h.awaitResult(small); len(result.Result) != 200_002 || result.Chunks != 2000 {
		t.Errorf("result of %d bytes, %d chunks", len(result.Result), result.Chunks)
	}
	if result := h.awaitResult(large); result.Error == nil || result.Error.Reason != schemas.ReasonResultTooLarge || result.Chunks != 2000 {
		t.Errorf("result %+v", result)
	}
}

func TestAChunkThatIsNoJSONIsAGap(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	deep := strings.Repeat("[", schemas.MaxDepth) + strings.Repeat("]", schemas.MaxDepth)
	h.work(HandlerFunc(func(ctx context.Context, _ *Task, emit Emit) (schemas.Payload, error) {
		for _, data := range []string{`1`, deep, `2`} {
			if err := emit.Chunk(ctx, schemas.Payload(data)); err != nil {
				return nil, err
			}
		}
		return schemas.Payload(`"its own"`), nil
	}))
	id, reader := h.streamed(announced)
	if diff := cmp.Diff([]string{"1", "gap 0"}, readAll(t, reader, 3)); diff != "" {
		t.Errorf("chunks (-want +got)\n%s", diff)
	}
	if result := h.awaitResult(id); string(result.Result) != `"its own"` || result.Chunks != 3 {
		t.Errorf("result %+v", result)
	}
}
