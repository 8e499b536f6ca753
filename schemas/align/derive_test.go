package align_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/align"
)

func TestWhatTwoSchemasSpellDifferently(t *testing.T) {
	t.Parallel()
	const instant = `{"type":"string","format":"date-time"}`
	for _, tt := range []struct {
		name, capability, agent string
		want                    []schemas.Spelling
	}{
		{
			"names in snake_case and camelCase",
			`{"properties":{"max_sentences":{},"text":{}}}`, `{"properties":{"maxSentences":{},"text":{}}}`,
			[]schemas.Spelling{{At: "/max_sentences", Name: "maxSentences"}},
		},
		{
			"names in camelCase and snake_case, within members and lists",
			`{"properties":{"a":{"properties":{"theList":{"type":"array","items":{"properties":{"oneThing":{}}}}}}}}`,
			`{"properties":{"a":{"properties":{"the_list":{"type":"array","items":{"properties":{"one-thing":{}}}}}}}}`,
			[]schemas.Spelling{{At: "/a/theList", Name: "the_list"}, {At: "/a/theList/*/oneThing", Name: "one-thing"}},
		},
		{
			"a name that both have is left alone",
			`{"properties":{"max_size":{}}}`, `{"properties":{"max_size":{},"maxSize":{}}}`, nil,
		},
		{
			"two that may be meant are none",
			`{"properties":{"max_size":{}}}`, `{"properties":{"maxSize":{},"MaxSize":{}}}`, nil,
		},
		{
			"names that need an escape",
			`{"properties":{"a_b/c~d":{}}}`, `{"properties":{"aB/c~d":{}}}`,
			[]schemas.Spelling{{At: "/a_b~1c~0d", Name: "aB/c~d"}},
		},
		{
			"an instant as whole seconds, as milliseconds by name or format, and with a fraction",
			`{"properties":{"a":` + instant + `,"b_ms":` + instant + `,"c":` + instant + `,"d":` + instant + `}}`,
			`{"properties":{"a":{"type":"integer"},"b_ms":{"type":"integer"},"c":{"type":"integer","format":"epoch-ms"},"d":{"type":"number"}}}`,
			[]schemas.Spelling{
				{At: "/a", TimeFrom: "rfc3339", TimeTo: "epoch_s"},
				{At: "/b_ms", TimeFrom: "rfc3339", TimeTo: "epoch_ms"},
				{At: "/c", TimeFrom: "rfc3339", TimeTo: "epoch_ms"},
				{At: "/d", TimeFrom: "rfc3339", TimeTo: "epoch"},
			},
		},
		{
			"an instant as text of which the capability has seconds, under another name",
			`{"properties":{"not_before":{"type":["integer","null"]}}}`, `{"properties":{"notBefore":` + instant + `}}`,
			[]schemas.Spelling{{At: "/not_before", Name: "notBefore", TimeFrom: "epoch_s", TimeTo: "rfc3339"}},
		},
		{
			"numbers on both sides are no instants",
			`{"properties":{"at":{"type":"integer"}}}`, `{"properties":{"at":{"type":"number"}}}`, nil,
		},
		{
			"constants",
			`{"properties":{"level":{"enum":["low","very_high"]}}}`, `{"properties":{"level":{"enum":["LOW","VeryHigh","none"]}}}`,
			[]schemas.Spelling{{At: "/level", Enum: map[string]string{"low": "LOW", "very_high": "VeryHigh"}}},
		},
		{
			"behind references, and choices with null, as Pydantic writes them",
			`{"properties":{"due_at":` + instant + `}}`,
			`{"properties":{"dueAt":{"anyOf":[{"$ref":"#/$defs/when"},{"type":"null"}]}},"$defs":{"when":{"type":"integer"}}}`,
			[]schemas.Spelling{{At: "/due_at", Name: "dueAt", TimeFrom: "rfc3339", TimeTo: "epoch_s"}},
		},
		{
			"a schema that refers to itself, as deep as is looked",
			`{"properties":{"a":{"$ref":"#"}}}`, `{"properties":{"a":{"$ref":"#"}}}`, nil,
		},
		{"an agent without a schema", `{"properties":{"a_b":{}}}`, ``, nil},
		{"schemas that say nothing of members", `true`, `{"type":"string"}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, align.Derive([]byte(tt.capability), []byte(tt.agent))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
