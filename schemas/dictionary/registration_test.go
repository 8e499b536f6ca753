package dictionary_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

func TestCheckRegistration(t *testing.T) {
	t.Parallel()
	r := schemas.Registration{Capabilities: []schemas.Offer{
		{ID: "echo"},
		{
			ID: "summarize", InputSchema: []byte(`{"text":"string", "tone":"string?"}`), OutputSchema: []byte(`{ "maxProperties": 2 }`),
			Probe: schemas.Payload(`{ "tone":"dry","text":"x" }`),
		},
	}}
	if err := starter(t).CheckRegistration(&r); err != nil {
		t.Fatal(err)
	}
	want := []schemas.Offer{{ID: "echo"}, {
		ID:           "summarize",
		InputSchema:  []byte(`{"properties":{"text":{"type":"string"},"tone":{"type":"string"}},"required":["text"],"type":"object"}`),
		OutputSchema: []byte(`{"maxProperties":2}`), Probe: schemas.Payload(`{"text":"x","tone":"dry"}`),
	}}
	if diff := cmp.Diff(string(schemas.MustEncode(want)), string(schemas.MustEncode(r.Capabilities))); diff != "" {
		t.Error(diff)
	}
}

func TestCheckRegistrationRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                    string
		offer                   schemas.Offer
		field, pointer, message string
	}{
		{
			"a stranger",
			schemas.Offer{ID: "search_web"},
			"/capabilities/1/id", "",
			"search_web is not a capability; did you mean web_search?",
		},
		{
			"an alias",
			schemas.Offer{ID: "count_words"},
			"/capabilities/1/id", "",
			"count_words is not a capability; did you mean text_stats?",
		},
		{
			"an input schema that fetches",
			schemas.Offer{ID: "echo", InputSchema: []byte(`{"$defs":{"a":{"$ref":"file:///etc/passwd"}},"type":"object"}`)},
			"/capabilities/1/input_schema", "/$defs/a/$ref",
			"the schema refers to something outside itself; only references that start with # are followed (at /$defs/a/$ref)",
		},
		{
			"an output schema that fetches",
			schemas.Offer{ID: "echo", OutputSchema: []byte(`{"$schema":"http://127.0.0.9/","type":"object"}`)},
			"/capabilities/1/output_schema", "/$schema",
			"this is not one of the standard drafts; https://json-schema.org/draft/2020-12/schema is the newest (at /$schema)",
		},
		{
			"a probe that the dictionary refuses",
			schemas.Offer{ID: "summarize", Probe: schemas.Payload(`{}`)},
			"/capabilities/1/probe", "", "the probe is not an input that summarize accepts: payload.text is required by summarize",
		},
		{
			"a probe that the agent itself refuses",
			schemas.Offer{ID: "summarize", InputSchema: []byte(`{"properties":{"text":{"minLength":3}}}`), Probe: schemas.Payload(`{"text":"x"}`)},
			"/capabilities/1/probe", "", "the probe is not an input that summarize accepts: payload.text must have at least 3 characters",
		},
	}
	d := starter(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := d.CheckRegistration(&schemas.Registration{Capabilities: []schemas.Offer{{ID: "echo"}, tt.offer}})
			code, field, pointer, message := details(t, err)
			want := []string{"INVALID_ARGUMENT", tt.field, tt.pointer, tt.message}
			if diff := cmp.Diff(want, []string{string(code), field, pointer, message}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARegistrationSaysHowItsChunksAreSpelled(t *testing.T) {
	t.Parallel()
	d := starter(t)
	d, err := d.With(schemas.Capability{
		ID: "scan", InputSchema: []byte(`{"type":"object"}`), OutputSchema: []byte(`{"type":"array"}`),
		ChunkSchema: []byte(`{"type":"object","properties":{"page_no":{"type":"integer"}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &schemas.Registration{Capabilities: []schemas.Offer{{ID: "scan", ChunkSchema: []byte(` {"properties": {"pageNo": {}}}`)}}}
	if err := d.CheckRegistration(r); err != nil {
		t.Fatal(err)
	}
	want := &schemas.Alignment{Chunk: []schemas.Spelling{{At: "/page_no", Name: "pageNo"}}}
	if diff := cmp.Diff(want, r.Capabilities[0].Alignment); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.Capabilities[0].ChunkSchema = []byte(`{"type":"page"}`)
	if _, field, _, _ := details(t, d.CheckRegistration(r)); field != "/capabilities/0/chunk_schema" {
		t.Errorf("a schema that does not compile: the field is %q", field)
	}
}

func TestARegistrationSaysWhereItsSchemasSpeakOtherWords(t *testing.T) {
	t.Parallel()
	r := &schemas.Registration{Capabilities: []schemas.Offer{
		{ID: "echo", Alignment: &schemas.Alignment{Input: []schemas.Spelling{{At: "/a", Name: "b"}}}},
		{
			ID: "summarize", InputSchema: []byte(`{"required":["text"],"properties":{"text":{},"maxSentences":{"maximum":3}}}`),
			Probe: schemas.Payload(`{"text":"x","max_sentences":3}`),
		},
	}}
	if err := starter(t).CheckRegistration(r); err != nil {
		t.Fatal(err)
	}
	want := []*schemas.Alignment{nil, {Input: []schemas.Spelling{{At: "/max_sentences", Name: "maxSentences"}}}}
	if diff := cmp.Diff(want, []*schemas.Alignment{r.Capabilities[0].Alignment, r.Capabilities[1].Alignment}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.Capabilities[1].Probe = schemas.Payload(`{"text":"x","max_sentences":4}`)
	if _, field, _, _ := details(t, starter(t).CheckRegistration(r)); field != "/capabilities/1/probe" {
		t.Errorf("a probe that breaks the agent's schema in its own words: the field is %q", field)
	}
}

func TestNarrow(t *testing.T) {
	t.Parallel()
	d := starter(t)
	entry, err := d.Narrow(&schemas.Offer{ID: "summarize", InputSchema: []byte(`{"properties":{"text":{"maxLength":3}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	for payload, fits := range map[string]bool{`{"text":"abc"}`: true, `{"text":"abcd"}`: false, `{}`: false} {
		if refused := entry.Input.CheckInput("summarize", []byte(payload)); (refused == nil) != fits {
			t.Errorf("%s: %v", payload, refused)
		}
	}
	if refused := entry.Output.CheckOutput("summarize", []byte(`{}`)); refused == nil {
		t.Error("the dictionary's output schema is gone")
	}
	wide, _ := d.Entry("summarize")
	if refused := wide.Input.CheckInput("summarize", []byte(`{"text":"abcd"}`)); refused != nil {
		t.Errorf("the dictionary's entry has become narrower: %v", refused)
	}
	if _, err := d.Narrow(&schemas.Offer{ID: "stranger"}); err == nil {
		t.Error("a stranger is narrowed")
	}
	if _, err := d.Narrow(&schemas.Offer{ID: "echo", OutputSchema: []byte(`[]`)}); err == nil {
		t.Error("a schema that does not compile is applied")
	}
}
