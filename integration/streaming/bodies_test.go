package streaming

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// text is a JSON string of exactly so many bytes, with a bit of everything in it.
func text(size int) schemas.Payload {
	const piece = `ä\n"\ud83d\ude00 ships `
	filler := strings.Repeat(strings.ReplaceAll(piece, `"`, `\"`), size/len(piece)+1)[:max(0, size-2)]
	for strings.HasSuffix(filler, `\`) || !json(filler) {
		filler = filler[:len(filler)-1]
	}
	return schemas.Payload(`"` + filler + strings.Repeat("x", size-2-len(filler)) + `"`)
}

func json(filler string) bool { return schemas.Scan([]byte(`"`+filler+`"`)) == nil }

func TestLargeBodiesGoThroughUnnoticed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.work("laptop-1", func(_ context.Context, task *worker.Task, _ worker.Emit) (schemas.Payload, error) {
		if task.Message.PayloadRef != nil {
			return nil, errors.New("the agent sees how its payload came")
		}
		return task.Message.Payload, nil
	}, "echo")
	for name, size := range map[string]int{
		"just inline": 32 << 10, "just not inline": 32<<10 + 1, "half a message": 500 << 10, "just a message": 1<<20 - 64<<10,
		"just more": 1<<20 - 64<<10 + 1, "many parts": 5<<20 + 7,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			payload := text(size)
			task, err := h.sdk.Do(within(t), &schemas.ReachMessage{Capability: "echo", Payload: payload, RunTimeoutMS: unhurried})
			check(t, err)
			if !bytes.Equal(task.Result, payload) || task.ResultRef != nil {
				t.Errorf("%d of %d bytes came back, %v", len(task.Result), size, task.ResultRef)
			}
			for front := range h.fronts {
				if body := h.get(front, "/v1/tasks/"+task.TaskID, ""); !strings.Contains(body, `"result":`+string(payload)) {
					t.Errorf("HTTP shows another task, of %d bytes", len(body))
				}
			}
			_, r, err := h.sdk.OpenResult(within(t), task.TaskID)
			check(t, err)
			defer func() { _ = r.Close() }()
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, payload) {
				t.Errorf("the result that is opened has %d bytes (%v)", len(got), err)
			}
		})
	}
}

// What a realtime task had said by its run limit is its result also where a worker does not keep that in memory.
func TestALargePartOfAResultIsOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	const chunks = 3
	chunk := text(1 << 19)
	h.work("laptop-1", func(ctx context.Context, _ *worker.Task, emit worker.Emit) (schemas.Payload, error) {
		for range chunks {
			if err := emit.Chunk(context.WithoutCancel(ctx), chunk); err != nil { // however late it is
				return nil, err
			}
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}, "echo")
	task, err := h.sdk.Do(within(t), &schemas.ReachMessage{
		Capability: "echo", Payload: schemas.Payload(`1`), QualityOfService: schemas.QoSRealtime, RunTimeoutMS: 100,
	})
	check(t, err)
	if want := chunks*(len(chunk)-2) + 2; task.State != schemas.StateCompleted || !task.Partial || len(task.Result) != want {
		t.Errorf("it is %s (%v), partial %v, with %d bytes, want %d", task.State, task.Error, task.Partial, len(task.Result), want)
	}
}

func TestLargeBodiesOverHTTP(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.work("laptop-1", func(_ context.Context, task *worker.Task, _ worker.Emit) (schemas.Payload, error) {
		return task.Message.Payload, nil
	}, "echo")
	payload := text(3<<20 + 11)
	answer := h.post("/v1/reach", `{"capability":"echo","payload":`+string(payload)+`}`)
	if !strings.Contains(answer, `"result":`+string(payload)) {
		t.Fatalf("the answer has %d bytes: %.300s", len(answer), answer)
	}
	id := between(answer, `"task_id":"`, `"`)
	for bytesOf, want := range map[string]string{
		"": string(payload), "bytes=0-9": string(payload[:10]), "bytes=1000000-2000000": string(payload[1_000_000:2_000_001]),
		"bytes=-5": string(payload[len(payload)-5:]),
	} {
		if got := h.get(1, "/v1/tasks/"+id+"/result", bytesOf); got != want {
			t.Errorf("range %q gives %d bytes, want %d", bytesOf, len(got), len(want))
		}
	}
	done := h.follow(1, id, "")
	if last, found := done.next(); !found || last.name != "done" || !strings.Contains(last.data, `"result":`+string(payload)) {
		t.Errorf("the last event %s has %d bytes", last.name, len(last.data))
	}
}

func (h *house) get(front int, path, bytesOf string) string {
	h.t.Helper()
	request, err := http.NewRequestWithContext(within(h.t), http.MethodGet, h.fronts[front]+path, nil)
	check(h.t, err)
	if bytesOf != "" {
		request.Header.Set("Range", bytesOf)
	}
	return h.answer(request)
}

func (h *house) post(path, body string) string {
	h.t.Helper()
	request, err := http.NewRequestWithContext(within(h.t), http.MethodPost, h.fronts[0]+path, strings.NewReader(body))
	check(h.t, err)
	request.Header.Set("Content-Type", "application/json")
	return h.answer(request)
}

func (h *house) answer(request *http.Request) string {
	h.t.Helper()
	response, err := h.http.Do(request)
	check(h.t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	check(h.t, err)
	return string(body)
}

func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}

// A large payload goes wherever its task goes: to the queue, to the next agent after a failure, and to a new task.
func TestATaskWithALargePayloadMoves(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	payload := schemas.Payload(`{"text":` + string(text(2<<20)) + `}`)
	var asked atomic.Int64
	handler := func(_ context.Context, task *worker.Task, _ worker.Emit) (schemas.Payload, error) {
		switch {
		case !bytes.Equal(task.Message.Payload, payload):
			return nil, fmt.Errorf("a payload of %d bytes came", len(task.Message.Payload))
		case asked.Add(1) < 3:
			return nil, &worker.Failure{Err: schemas.NewError(schemas.Unavailable, "", "not now"), Ran: schemas.RanNo}
		}
		return schemas.Payload(`{"ok":true}`), nil
	}
	task := h.submit(schemas.ReachMessage{Capability: "act", Payload: payload, WaitForAgent: true})
	h.work("laptop-1", handler, "act")
	h.work("laptop-2", handler, "act")
	ended, err := h.sdk.Result(within(t), task.TaskID)
	check(t, err)
	if ended.State != schemas.StateCompleted || asked.Load() != 3 {
		t.Fatalf("it ended %s (%v) after %d attempts", ended.State, ended.Error, asked.Load())
	}
	again, err := h.sdk.Retry(within(t), task.TaskID)
	check(t, err)
	if ended, err = h.sdk.Result(within(t), again.TaskID); err != nil || ended.State != schemas.StateCompleted {
		t.Errorf("retried, it ended %v (%v)", ended, err)
	}
}

func TestALargeDeadLetterIsReplayed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	payload := schemas.Payload(`{"text":` + string(text(1<<20)) + `}`)
	var works atomic.Bool
	h.work("laptop-1", func(_ context.Context, task *worker.Task, _ worker.Emit) (schemas.Payload, error) {
		if !works.Load() || !bytes.Equal(task.Message.Payload, payload) {
			return nil, &worker.Failure{Err: schemas.NewError(schemas.Unavailable, "", "no"), Ran: schemas.RanUnknown}
		}
		return schemas.Payload(`{}`), nil
	}, "act")
	failed, _ := h.sdk.Do(within(t), &schemas.ReachMessage{Capability: "act", Payload: payload})
	if failed == nil || !failed.DeadLetter {
		t.Fatalf("it is no dead letter: %v", failed)
	}
	works.Store(true)
	again, err := h.sdk.Retry(within(t), failed.TaskID)
	check(t, err)
	if ended, err := h.sdk.Result(within(t), again.TaskID); err != nil || ended.State != schemas.StateCompleted {
		t.Errorf("replayed, it ended %v (%v)", ended, err)
	}
}

func TestALargeResultKeepsItsContract(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.work("laptop-1", func(_ context.Context, task *worker.Task, _ worker.Emit) (schemas.Payload, error) {
		return text(2 << 20), nil // which is no object
	}, "act")
	task, err := h.sdk.Do(within(t), &schemas.ReachMessage{Capability: "act", Payload: schemas.Payload(`{}`)})
	if e := schemas.AsError(err); err == nil || e.Reason != schemas.ReasonOutputSchema || task.ResultRef != nil || task.Result != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestAStreamWithoutReadersIsKeptWhole(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.work("laptop-1", func(ctx context.Context, _ *worker.Task, to worker.Emit) (schemas.Payload, error) {
		for range 3000 {
			if err := emit(ctx, to, `"`+strings.Repeat("0123456789", 100)+`"`); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}, "echo")
	task, err := h.sdk.Do(within(t), &schemas.ReachMessage{Capability: "echo", RunTimeoutMS: unhurried})
	check(t, err)
	if want := `"` + strings.Repeat("0123456789", 300_000) + `"`; string(task.Result) != want {
		t.Errorf("the result has %d bytes, want %d", len(task.Result), len(want))
	}
}

func TestTooLargeNamesBothSizes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var ran atomic.Int64
	h.work("laptop-1", func(context.Context, *worker.Task, worker.Emit) (schemas.Payload, error) {
		ran.Add(1)
		return text(maxPayload + 1), nil
	}, "echo")
	for name, submit := range map[string]func() error{
		"over NATS": func() error {
			_, err := h.sdk.Submit(within(t), &schemas.ReachMessage{Capability: "echo", Payload: text(maxPayload + 1)})
			return err
		},
		"its result": func() error {
			_, err := h.sdk.Do(within(t), &schemas.ReachMessage{Capability: "echo"})
			return err
		},
	} {
		var size, limit int
		e := schemas.AsError(submit())
		if e == nil || !e.Detail("size_bytes", &size) || !e.Detail("limit_bytes", &limit) || size != maxPayload+1 || limit != maxPayload {
			t.Errorf("%s: %v with %d of %d", name, e, size, limit)
		}
	}
	if answer := h.post("/v1/tasks", `{"capability":"echo","payload":`+string(text(maxPayload+1))+`}`); !strings.Contains(answer, "PAYLOAD_TOO_LARGE") ||
		!strings.Contains(answer, fmt.Sprint(maxPayload)) || !strings.Contains(answer, fmt.Sprint(maxPayload+1)) {
		t.Errorf("over HTTP: %.300s", answer)
	}
	if ran.Load() != 1 {
		t.Errorf("the agent ran %d times", ran.Load())
	}
}
