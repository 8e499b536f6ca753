package dispatcher_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

func TestAnAgentsNarrowerSchemasHoldBesideTheDictionarys(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	narrow := newScriptedWith(h, "narrow", schemas.Offer{
		ID: "summarize", MaxConcurrency: 4, InputSchema: []byte(`{"properties":{"text":{"maxLength":5}}}`),
		OutputSchema: []byte(`{"properties":{"summary":{"maxLength":3}}}`),
	})
	summarize := func(text string) schemas.ReachMessage {
		return schemas.ReachMessage{Capability: "summarize", Payload: schemas.Payload(`{"text":"` + text + `"}`)}
	}
	long := summarize("more than five")
	_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &long)
	wantCode(t, err, schemas.Unavailable, schemas.ReasonNoAgent)

	task := h.submit(summarize("five5"))
	r := narrow.result(narrow.next(), schemas.StateCompleted)
	r.Result = schemas.Payload(`{"summary":"four"}`)
	narrow.finish(r)
	if done := h.wait(task.TaskID); done.State != schemas.StateFailed || done.Error.Reason != schemas.ReasonOutputSchema {
		t.Errorf("a result that breaks the agent's own contract got %+v", done)
	}

	newScripted(h, "wide", offer{"summarize", 1})
	if got := h.submit(long); got.AgentID != "wide" {
		t.Errorf("got %s, want the agent that takes it", got.AgentID)
	}
	queued := h.submit(long) // wide is full, and narrow does not take it
	if queued.Phase != schemas.PhaseQueued {
		t.Fatalf("got %s", queued.Phase)
	}
	for range 2 {
		if got, _ := narrow.pull("summarize", 1); len(got) != 0 {
			t.Error("a task was bound to an agent that does not take its payload")
		}
	}
}

// What an agent's schema has refused waits for it, and is offered again to what it has registered since.
func TestAnAgentThatTakesMoreThanBeforeGetsWhatHasWaitedForIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScriptedWith(h, "strict", schemas.Offer{
		ID: "summarize", MaxConcurrency: 1, InputSchema: []byte(`{"properties":{"text":{"maxLength":5}}}`),
	})
	w.keepBeating()
	task := h.submit(schemas.ReachMessage{
		Capability: "summarize", Payload: []byte(`{"text":"more than five"}`), PreferAgent: "strict", WaitForAgent: true,
	})
	if got, _ := w.pull("summarize", 1); len(got) != 0 || task.Phase != schemas.PhaseQueued {
		t.Fatalf("the agent got %d tasks that it does not take; the task is %s", len(got), task.Phase)
	}
	wider := w.registration
	wider.Version, wider.Capabilities = "1.1.0", []schemas.Offer{{ID: "summarize", MaxConcurrency: 1}}
	_, err := h.any().Register(t.Context(), &wider)
	check(t, err)
	brokertest.Eventually(t, "the agent has it", func() bool {
		_, _ = w.pull("summarize", 1) // it may come by the feed as well
		return h.task(task.TaskID).Phase == schemas.PhaseAssigned
	})
}

func TestAnAgentIsToldWhereAnErrorIsAPartOfTheResult(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, err := h.any().AddCapability(t.Context(), &schemas.AddCapability{Capability: schemas.Capability{
		ID: "measure", InputSchema: []byte(`true`), OutputSchema: []byte(`{"type":"object","properties":{"error":{"type":"number"}}}`),
	}})
	check(t, err)
	w := newScripted(h, "laptop-1", offer{"measure", 1}, offer{"echo", 1})
	for capability, want := range map[string]bool{"measure": true, "echo": false} {
		h.submit(schemas.ReachMessage{Capability: capability})
		if got := w.next().message.Assignment.ErrorMember; got != want {
			t.Errorf("%s: %v", capability, got)
		}
	}
}

func TestTheDictionarysErrorMappingIsUsedWhereTheAgentsSaysNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, err := h.any().AddCapability(t.Context(), &schemas.AddCapability{Capability: schemas.Capability{
		ID: "coded", InputSchema: []byte(`{"type":"object"}`), OutputSchema: []byte(`{"type":"object"}`),
		ErrorMapping: map[string]schemas.Code{"E1": schemas.NotFound, "E2": schemas.NotFound},
	}})
	check(t, err)
	w := newScriptedWith(h, "laptop-1", schemas.Offer{ID: "coded", ErrorMapping: map[string]schemas.Code{"E2": schemas.OutOfRange}})
	tests := []struct {
		name, raw  string
		sent, want schemas.Code
	}{
		{"only the dictionary knows it", "E1", schemas.Internal, schemas.NotFound},
		{"the agent's own mapping wins", "E2", schemas.OutOfRange, schemas.OutOfRange},
		{"nobody knows it", "E3", schemas.Internal, schemas.Internal},
	}
	for _, tt := range tests {
		task := h.submit(schemas.ReachMessage{Capability: "coded"})
		w.fail(w.next(), schemas.RanYes, schemas.NewError(tt.sent, "", "no").With("agent_code", tt.raw))
		if done := h.wait(task.TaskID); done.Error.Code != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, done.Error.Code, tt.want)
		}
	}
}

func TestThatItsOwnSchemaRefusesAPayloadIsSaidOfLargeOnesToo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	narrow := newScriptedWith(h, "narrow", schemas.Offer{
		ID: "summarize", MaxConcurrency: 1, InputSchema: []byte(`{"properties":{"text":{"maxLength":5}}}`),
	})
	fetches := narrow.registration
	fetches.LargeBodies = true
	_, err := h.any().Register(t.Context(), &fetches)
	check(t, err)
	for _, text := range []string{"more than five", strings.Repeat("more than a message holds ", 2000)} {
		m := schemas.ReachMessage{Capability: "summarize", Payload: schemas.Payload(`{"text":"` + text + `"}`)}
		e, err := h.any().Explain(t.Context(), schemas.DefaultTenant, &m)
		check(t, err)
		if diff := cmp.Diff([]schemas.LeftOut{{AgentID: "narrow", Why: string(score.WhySchema)}}, e.LeftOut); diff != "" {
			t.Errorf("of %d bytes: %s", len(m.Payload), diff)
		}
	}
}
