package dictionary_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

func TestStarterSet(t *testing.T) {
	t.Parallel()
	tests := []struct {
		id, input, output string // the least that is accepted
		idempotent        bool
		hint              int64
	}{
		{"code_generate", `{"instruction":"x"}`, `{"code":"x"}`, true, 180_000},
		{"code_review", `{"diff":"x"}`, `{"findings":[{"severity":"high","message":"x"}]}`, true, 120_000},
		{"code_review_lite", `{"diff":"x"}`, `{"findings":[]}`, true, 30_000},
		{"doc_write", `{"instruction":"x"}`, `{"text":"x"}`, false, 180_000},
		{"echo", `[1,null]`, `"x"`, true, 5_000},
		{"file_read", `{"path":"x"}`, `{"content":"x"}`, true, 10_000},
		{"image_describe", `{"image_base64":"x"}`, `{"description":"x"}`, true, 60_000},
		{"risk_assessment", `{"subject":"x"}`, `{"level":"medium","reasons":["x"]}`, true, 60_000},
		{"summarize", `{"text":"x"}`, `{"summary":"x"}`, true, 60_000},
		{"test_run", `{"command":"x"}`, `{"passed":true,"output":""}`, false, 600_000},
		{"text_stats", `{"text":"x"}`, `{"characters":1,"words":1,"lines":1}`, true, 5_000},
		{"transcribe", `{"audio_url":"x"}`, `{"text":"x"}`, true, 300_000},
		{"translate", `{"text":"x","target_language":"de"}`, `{"text":"x"}`, true, 60_000},
		{"web_search", `{"query":"x"}`, `{"results":[{"title":"x","url":"x","snippet":"x"}]}`, true, 30_000},
	}
	d := starter(t)
	if got := len(d.List()); got != len(tests) {
		t.Errorf("%d capabilities", got)
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()
			entry, found := d.Entry(tt.id)
			if !found {
				t.Fatal("not found")
			}
			if entry.Idempotent != tt.idempotent || entry.TimeoutHintMS != tt.hint || entry.Description == "" {
				t.Errorf("entry %+v", entry.Capability)
			}
			if refused := entry.Input.CheckInput(tt.id, []byte(tt.input)); refused != nil {
				t.Errorf("input: %v", refused)
			}
			if refused := entry.Output.CheckOutput(tt.id, []byte(tt.output)); refused != nil {
				t.Errorf("output: %v", refused)
			}
			if tt.id == "echo" {
				return
			}
			for _, schema := range []interface {
				CheckInput(capability string, payload []byte) *schemas.Error
			}{entry.Input, entry.Output} {
				if schema.CheckInput(tt.id, []byte(`{}`)) == nil || schema.CheckInput(tt.id, []byte(`[]`)) == nil {
					t.Errorf("a schema accepts what has no member")
				}
			}
		})
	}
}

func TestOnlyHarmlessCapabilitiesHaveProbes(t *testing.T) {
	t.Parallel()
	var probes []string
	for _, c := range dictionary.Starter() {
		if c.Probe != nil {
			probes = append(probes, c.ID)
		}
	}
	if diff := cmp.Diff([]string{"echo", "text_stats"}, probes); diff != "" {
		t.Error(diff)
	}
}

// The file that the documentation shows says the same of text_stats as the starter set, so that it can be used as it is.
func TestTheDocumentedFileAgreesWithTheStarterSet(t *testing.T) {
	t.Parallel()
	const documented = `
capabilities:
  - id: text_stats
    description: Count characters, words and lines of a text.
    input_schema: {type: object, required: [text], properties: {text: {type: string}}}
    output_schema: {type: object, required: [characters, words, lines], properties: {characters: {type: integer}, words: {type: integer}, lines: {type: integer}}}
    idempotent: true
    timeout_hint_ms: 5000
    probe: {text: "ping"}
    aliases: [count_words, text-statistics]
`
	path := filepath.Join(t.TempDir(), "capabilities.yaml")
	if err := os.WriteFile(path, []byte(documented), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := dictionary.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entry, _ := starter(t).Entry("text_stats")
	if diff := cmp.Diff(string(schemas.MustEncode(entry.Capability)), string(schemas.MustEncode(list[0]))); diff != "" {
		t.Error(diff)
	}
}

func TestOneMayNotSpoilTheStarterSetForAnother(t *testing.T) {
	t.Parallel()
	dictionary.Starter()[0].ID = "spoilt"
	if got := dictionary.Starter()[0].ID; got != "code_generate" {
		t.Errorf("the first is %s", got)
	}
}
