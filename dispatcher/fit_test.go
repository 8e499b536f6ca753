package dispatcher_test

import (
	"math"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

func TestTheAgentWhoseContractFitsBestGetsTheTask(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	newScriptedWith(h, "plain", schemas.Offer{ID: "summarize", MaxConcurrency: 9})
	newScriptedWith(h, "tonal", schemas.Offer{
		ID: "summarize", MaxConcurrency: 9, InputSchema: []byte(`{"properties":{"tone":{"type":"string"}}}`),
	})
	newScriptedWith(h, "pages", schemas.Offer{
		ID: "summarize", MaxConcurrency: 9,
		OutputSchema: []byte(`{"properties":{"summary":{"type":"string","contentMediaType":"text/html"}}}`),
	})
	tests := []struct {
		name, payload, metadata string
		want                    map[string]float64 // schema_match, by agent
	}{
		{"all know all of it", `{"text":"x","language":"de"}`, ``, map[string]float64{"plain": 1, "tonal": 1, "pages": 1}},
		{"one knows a member more", `{"text":"x","language":"de","tone":"dry"}`, ``, map[string]float64{"plain": .9, "tonal": 1, "pages": .9}},
		{"nobody knows them", `{"text":"x","rhyme":true}`, ``, map[string]float64{"plain": .8, "tonal": .8, "pages": .8}},
		{"one states the format", `{"text":"x"}`, `{"output_format":"text/html"}`, map[string]float64{"plain": 1, "tonal": 1, "pages": 1}},
		{"one states another format", `{"text":"x"}`, `{"output_format":"text/markdown"}`, map[string]float64{"plain": 1, "tonal": 1, "pages": .8}},
		{"a format that nobody yields", `{"text":"x"}`, `{"output_format":"array"}`, map[string]float64{"plain": .8, "tonal": .8, "pages": .8}},
	}
	for _, tt := range tests {
		m := schemas.ReachMessage{Capability: "summarize", Payload: schemas.Payload(tt.payload)}
		if tt.metadata != "" {
			m.Metadata = []byte(tt.metadata)
		}
		e, err := h.any().Explain(t.Context(), schemas.DefaultTenant, &m)
		check(t, err)
		for _, c := range e.Candidates {
			if got := c.Factors["schema_match"]; math.Abs(got-tt.want[c.AgentID]) > .001 {
				t.Errorf("%s: %s has %v, want %v", tt.name, c.AgentID, got, tt.want[c.AgentID])
			}
		}
	}
	m := schemas.ReachMessage{Capability: "summarize", Payload: schemas.Payload(`{"text":"x","tone":"dry","rhyme":"no","metre":"no"}`)}
	if got := h.submit(m).AgentID; got != "tonal" {
		t.Errorf("it went to %s", got)
	}
}
