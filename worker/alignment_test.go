package worker

import (
	"context"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
)

// alignsChunks makes the house answer registrations with an alignment of echo's results and chunks.
func alignsChunks(h *house) {
	h.onRegister = func(int, schemas.Registration) (schemas.Registered, *schemas.Error) {
		return schemas.Registered{
			AgentID: "laptop-1", State: schemas.AgentOnline,
			Alignments: map[string]*schemas.Alignment{"echo": {
				Output: []schemas.Spelling{{At: "/*/page_no", Name: "pageNo"}}, Chunk: []schemas.Spelling{{At: "/page_no", Name: "pageNo"}},
			}},
			ChunkSchemas: map[string]jsontext.Value{"echo": []byte(`{"required":["page_no"],"properties":{"page_no":{"type":"integer"}}}`)},
		}, nil
	}
}

// Chunks are in the capability's words before they are checked, and what is made of them is not translated again.
func TestChunksAreHeardInTheCapabilitysWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, chunk string
		result      schemas.Payload
		want        string
	}{
		{"the chunks are the result", `{"pageNo": 9007199254740993}`, nil, `[{"page_no":9007199254740993}]`},
		{"the result is one of its own", `{"pageNo":1}`, schemas.Payload(`[{"pageNo":2}]`), `[{"page_no":2}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			alignsChunks(h)
			h.serve()
			h.work(HandlerFunc(func(ctx context.Context, _ *Task, emit Emit) (schemas.Payload, error) {
				return tt.result, emit.Chunk(ctx, schemas.Payload(tt.chunk))
			}))
			if r := h.awaitResult(h.assign(task{}).TaskID); string(r.Result) != tt.want {
				t.Errorf("the result is %s, %v", string(r.Result), r.Error)
			}
		})
	}
}

// aligns makes the house answer registrations with an alignment of echo.
func aligns(h *house) {
	words := []schemas.Spelling{
		{At: "/max_size", Name: "maxSize"},
		{At: "/*/max_size", Name: "maxSize"},
		{At: "/at", TimeFrom: schemas.TimeText, TimeTo: schemas.TimeSeconds},
	}
	h.onRegister = func(int, schemas.Registration) (schemas.Registered, *schemas.Error) {
		return schemas.Registered{
			AgentID: "laptop-1", State: schemas.AgentOnline,
			Alignments: map[string]*schemas.Alignment{"echo": {Input: words, Output: words}},
		}, nil
	}
}

func TestAnAgentIsSpokenToInItsOwnWords(t *testing.T) {
	t.Parallel()
	const (
		ours   = `{"max_size":9007199254740993,"at":"2026-11-29T10:00:00.000Z"}`
		theirs = `{"maxSize":9007199254740993,"at":1795946400}`
	)
	for _, tt := range []struct {
		name, result, chunk, want string
	}{
		{name: "a result", result: theirs, want: ours},
		{name: "a result of chunks, which pass as they are", chunk: `{"maxSize":1}`, want: `[{"max_size":1}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			aligns(h)
			h.serve()
			h.work(HandlerFunc(func(ctx context.Context, task *Task, emit Emit) (schemas.Payload, error) {
				if got := string(task.Message.Payload); got != theirs {
					t.Errorf("the agent was given %s", got)
				}
				if tt.chunk != "" {
					return nil, emit.Chunk(ctx, schemas.Payload(tt.chunk))
				}
				return schemas.Payload(tt.result), nil
			}))
			if r := h.awaitResult(h.assign(task{payload: ours}).TaskID); string(r.Result) != tt.want {
				t.Errorf("the result is %s, %v", string(r.Result), r.Error)
			}
		})
	}
}
