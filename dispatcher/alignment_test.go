package dispatcher_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

func TestAnAgentsOwnSchemasSpeakItsOwnWords(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScriptedWith(h, "camel", schemas.Offer{
		ID: "summarize", MaxConcurrency: 4,
		InputSchema: []byte(`{"additionalProperties":false,"properties":{"text":{},"maxSentences":{"maximum":5},"language":{}}}`),
		Alignment:   &schemas.Alignment{Input: []schemas.Spelling{{At: "/text", Name: "made_up"}}},
	})
	words := &schemas.Alignment{Input: []schemas.Spelling{{At: "/max_sentences", Name: "maxSentences"}}}
	agent, err := h.any().Agent(t.Context(), "camel")
	check(t, err)
	if diff := cmp.Diff(words, agent.Registration.Capabilities[0].Alignment); diff != "" {
		t.Errorf("what readers see of it (-want +got):\n%s", diff)
	}
	registered, err := h.any().Register(t.Context(), &agent.Registration)
	check(t, err)
	if diff := cmp.Diff(map[string]*schemas.Alignment{"summarize": words}, registered.Alignments); diff != "" {
		t.Errorf("what its worker is told (-want +got):\n%s", diff)
	}

	_, err = h.any().Submit(t.Context(), schemas.DefaultTenant, &schemas.ReachMessage{
		Capability: "summarize", Payload: schemas.Payload(`{"text":"x","max_sentences":6}`),
	})
	wantCode(t, err, schemas.Unavailable, schemas.ReasonNoAgent)
	task := h.submit(schemas.ReachMessage{Capability: "summarize", Payload: schemas.Payload(`{"text":"x","max_sentences":5}`)})
	r := w.result(w.next(), schemas.StateCompleted)
	r.Result = schemas.Payload(`{"summary":"x"}`)
	w.finish(r)
	if done := h.wait(task.TaskID); done.State != schemas.StateCompleted {
		t.Errorf("got %+v", done.Error)
	}
}

func TestAResultIsHeldAgainstTheAgentsSchemaInItsWords(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScriptedWith(h, "camel", schemas.Offer{
		ID: "test_run", OutputSchema: []byte(`{"required":["exitCode"],"properties":{"exitCode":{"type":"integer"}}}`),
	})
	for result, state := range map[string]schemas.State{
		`{"passed":true,"output":"","exit_code":0}`:   schemas.StateCompleted,
		`{"passed":true,"output":"","exit_code":"0"}`: schemas.StateFailed,
		`{"passed":true,"output":""}`:                 schemas.StateFailed,
	} {
		task := h.submit(schemas.ReachMessage{Capability: "test_run", Payload: schemas.Payload(`{"command":"make"}`)})
		a := w.next()
		a.sequence = w.begin(a).Sequence
		r := w.result(a, schemas.StateCompleted)
		r.Result = schemas.Payload(result)
		w.finish(r)
		if done := h.wait(task.TaskID); done.State != state {
			t.Errorf("%s: got %s, %+v", result, done.State, done.Error)
		}
	}
}
