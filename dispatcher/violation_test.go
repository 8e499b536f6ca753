package dispatcher_test

import (
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

func TestAResultThatBreaksTheContractSaysWhereAndWhatMayHaveHappened(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"test_run", 1}, offer{"summarize", 1})
	for _, tt := range []struct {
		name, capability, payload, result, field, effect string
	}{
		{
			"with effects", "test_run", `{"command":"make"}`, `{"passed":"yes","output":"mail jo@example.org\u001b[31m ` + strings.Repeat("x", 1000) + `"}`,
			"/passed", "may_have_happened",
		},
		{"idempotent", "summarize", `{"text":"x"}`, `{"mail":"jo@example.org"}`, "/summary", ""},
	} {
		task := h.submit(schemas.ReachMessage{Capability: tt.capability, Payload: schemas.Payload(tt.payload)})
		a := w.next()
		if tt.effect != "" {
			a.sequence = w.begin(a).Sequence
		}
		r := w.result(a, schemas.StateCompleted)
		r.Result = schemas.Payload(tt.result)
		w.finish(r)
		done := h.wait(task.TaskID)
		if done.State != schemas.StateFailed || done.Error.Reason != schemas.ReasonOutputSchema || done.Result != nil {
			t.Fatalf("%s: the task is %+v", tt.name, done)
		}
		var field, effect string
		done.Error.Detail("field", &field)
		done.Error.Detail("effect", &effect)
		if field != tt.field || effect != tt.effect || strings.Contains(done.Error.Message, "may have happened") != (effect != "") {
			t.Errorf("%s: the error is %+v", tt.name, done.Error)
		}
		if seen := string(schemas.MustEncode(done)); strings.Contains(seen, "mail") {
			t.Errorf("%s: a reader of the task sees %s", tt.name, seen)
		}
		trace, err := h.any().Trace(t.Context(), schemas.DefaultTenant, task.TaskID)
		check(t, err)
		if said := verdictIn(trace); !strings.Contains(said, "mail") || strings.Contains(said, "jo@") || len(said) > 600 {
			t.Errorf("%s: the trace says %q", tt.name, said)
		}
	}
}

func TestAChunkThatBrokeItsContractTellsOfEffectsToo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, err := h.any().AddCapability(t.Context(), &schemas.AddCapability{Capability: schemas.Capability{
		ID: "spoken", InputSchema: []byte(`true`), OutputSchema: []byte(`true`), ChunkSchema: []byte(`{"type":"string"}`),
	}})
	check(t, err)
	w := newScripted(h, "laptop-1", offer{"spoken", 1})
	agent, err := h.any().Agent(t.Context(), "laptop-1")
	check(t, err)
	registered, err := h.any().Register(t.Context(), &agent.Registration)
	check(t, err)
	if got := string(registered.ChunkSchemas["spoken"]); got != `{"type":"string"}` {
		t.Errorf("the worker is told that chunks fit %s", got)
	}
	task := h.submit(schemas.ReachMessage{Capability: "spoken"})
	a := w.next()
	a.sequence = w.begin(a).Sequence
	w.fail(a, schemas.RanYes, schemas.NewError(schemas.Internal, schemas.ReasonOutputSchema, "chunk must be a string"))
	effect := ""
	if done := h.wait(task.TaskID); !done.Error.Detail("effect", &effect) || done.State != schemas.StateFailed {
		t.Errorf("the task is %+v, its error %+v", done, done.Error)
	}
}

// verdictIn is what the trace of a task says of its result.
func verdictIn(trace *schemas.Trace) string {
	for _, hop := range trace.Hops {
		if hop.Hop == schemas.HopValidated {
			return string(hop.Detail)
		}
	}
	return ""
}
