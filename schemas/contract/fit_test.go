package contract_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas/contract"
)

func mustCompile(t *testing.T, text string) *contract.Schema {
	t.Helper()
	if text == "" {
		return nil
	}
	s, err := contract.Compile([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHowMembersAndSchemasGoTogether(t *testing.T) {
	t.Parallel()
	const (
		general = `{"type":"object","required":["text"],"properties":{"text":{"type":"string"},"language":{"type":"string"}}}`
		own     = `{"required":["rules"],"properties":{"tone":{}}}`
	)
	tests := []struct {
		name    string
		schemas []string
		members []string
		want    contract.Fit
	}{
		{"no schema says nothing", []string{"", ""}, []string{"a", "b"}, contract.Fit{}},
		{"nor does one that takes all", []string{`{}`, `true`}, []string{"a", "b"}, contract.Fit{}},
		{"the required one alone", []string{general}, []string{"text"}, contract.Fit{Required: 1, Present: 1}},
		{"nothing at all", []string{general}, nil, contract.Fit{Required: 1}},
		{
			"one that is declared, two that are not",
			[]string{general},
			[]string{"text", "language", "tone", "rhyme"},
			contract.Fit{Required: 1, Present: 1, Optional: 3, Declared: 1},
		},
		{
			"two schemas hold together",
			[]string{general, own},
			[]string{"text", "language", "tone", "rhyme"},
			contract.Fit{Required: 2, Present: 1, Optional: 3, Declared: 2},
		},
		{"required without properties", []string{`{"required":["a"]}`}, []string{"a", "b"}, contract.Fit{Required: 1, Present: 1}},
		{"shorthand", []string{`{"diff":"string","rules":"array?"}`}, []string{"diff", "rules"}, contract.Fit{
			Required: 1, Present: 1, Optional: 1, Declared: 1,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var all []*contract.Schema
			for _, text := range tt.schemas {
				all = append(all, mustCompile(t, text))
			}
			if diff := cmp.Diff(tt.want, contract.FitOf(tt.members, all...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhichMembersASchemaNames(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"required":["other"],"properties":{"error":{"type":"string"},"deep":{"properties":{"far":{}}}}}`)
	for member, want := range map[string]bool{"error": true, "deep": true, "other": false, "far": false, "": false} {
		if got := s.Names(member); got != want {
			t.Errorf("%q: %v", member, got)
		}
	}
	if mustCompile(t, "").Names("error") || mustCompile(t, `true`).Names("error") {
		t.Error("what says nothing names nothing")
	}
}

func TestWhatFormatASchemaYields(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, schema, format string
		yields, said         bool
	}{
		{"no schema", "", "string", false, false},
		{"one without types", `{"properties":{}}`, "string", false, false},
		{"the type", `{"type":"object"}`, "object", true, true},
		{"another type", `{"type":"object"}`, "string", false, true},
		{"one of several types", `{"type":["string","object"]}`, "string", true, true},
		{"no media type", `{"type":"object"}`, "text/markdown", false, false},
		{"the media type", `{"type":"string","contentMediaType":"text/markdown"}`, "Text/Markdown", true, true},
		{"that of a member", `{"properties":{"summary":{"contentMediaType":"text/html"}}}`, "text/html", true, true},
		{"another", `{"properties":{"summary":{"contentMediaType":"text/html"}}}`, "text/plain", false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if yields, said := mustCompile(t, tt.schema).Yields(tt.format); yields != tt.yields || said != tt.said {
				t.Errorf("got %v, %v, want %v, %v", yields, said, tt.yields, tt.said)
			}
		})
	}
}
