package worker

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

// checksChunks makes the house answer registrations with a schema of echo's chunks.
func checksChunks(h *house) {
	h.onRegister = func(int, schemas.Registration) (schemas.Registered, *schemas.Error) {
		return schemas.Registered{
			AgentID: "laptop-1", State: schemas.AgentOnline,
			ChunkSchemas: map[string]jsontext.Value{"echo": []byte(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
		}, nil
	}
}

func TestChunksThatFitTheirContractPass(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	checksChunks(h)
	h.serve()
	h.work(HandlerFunc(func(ctx context.Context, _ *Task, emit Emit) (schemas.Payload, error) {
		return nil, emit.Chunk(ctx, schemas.Payload(`{"n":9007199254740993}`))
	}))
	if r := h.awaitResult(h.assign(task{}).TaskID); string(r.Result) != `[{"n":9007199254740993}]` {
		t.Errorf("the result is %s, %v", string(r.Result), r.Error)
	}
}

// What an agent declares of its chunks holds as well, in its own words.
func TestAChunkThatBreaksTheAgentsOwnSchemaEndsTheAttempt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	checksChunks(h)
	h.serve()
	h.work(HandlerFunc(func(ctx context.Context, _ *Task, emit Emit) (schemas.Payload, error) {
		return nil, errors.Join(emit.Chunk(ctx, schemas.Payload(`{"n":2}`)), emit.Chunk(ctx, schemas.Payload(`{"n":3}`)))
	}), func(cfg *Config) {
		cfg.Agents[0].Registration.Capabilities[0].ChunkSchema = []byte(`{"properties":{"n":{"maximum":2}}}`)
	})
	r := h.awaitResult(h.assign(task{}).TaskID)
	var number int
	if r.Error.Detail("chunk", &number); r.State != schemas.StateFailed || r.Error.Reason != schemas.ReasonOutputSchema || number != 2 {
		t.Errorf("the result is %s, %v", r.State, r.Error)
	}
}

func TestAChunkThatBreaksItsContractEndsTheAttempt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	checksChunks(h)
	h.serve()
	h.work(HandlerFunc(func(ctx context.Context, _ *Task, emit Emit) (schemas.Payload, error) {
		if err := emit.Chunk(ctx, schemas.Payload(`{"n":1}`)); err != nil {
			t.Errorf("a chunk that fits: %v", err)
		}
		for _, chunk := range []string{`{"n":"jo@example.org"}`, `{"n":3}`} {
			if err := emit.Chunk(ctx, schemas.Payload(chunk)); err == nil {
				t.Errorf("%s has passed", chunk)
			}
		}
		<-ctx.Done() // the agent is told to stop
		return schemas.Payload(`"all is well"`), nil
	}))
	r := h.awaitResult(h.assign(task{}).TaskID)
	if r.State != schemas.StateFailed || r.Ran != schemas.RanYes || r.Chunks != 1 {
		t.Fatalf("the result is %+v", r)
	}
	var field string
	var number int
	r.Error.Detail("field", &field)
	r.Error.Detail("chunk", &number)
	want := []any{schemas.Internal, schemas.ReasonOutputSchema, "/n", 2}
	if diff := cmp.Diff(want, []any{r.Error.Code, r.Error.Reason, field, number}); diff != "" {
		t.Errorf("the error (-want +got):\n%s", diff)
	}
	if said := string(schemas.MustEncode(r.Error)); strings.Contains(said, "jo") {
		t.Errorf("the error quotes the agent: %s", said)
	}
	if said := string(schemas.MustEncode(r.Hops)); !strings.Contains(said, `"chunk":2`) || !strings.Contains(said, "***") {
		t.Errorf("the hops say nothing of it: %s", said)
	}
}
