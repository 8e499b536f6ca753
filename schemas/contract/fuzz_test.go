package contract_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/schemas/contract"
)

func FuzzCompileAndCheck(f *testing.F) {
	f.Add(summarize, `{"text":"a","shape":{"kind":"line"},"words":{"1":2}}`)
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"$anchor":"b","anyOf":[{"$ref":"#b"},{"$dynamicRef":"#"}]}}}`, `[[1]]`)
	f.Add(`{"diff":"string","rules":"array?"}`, `{"diff":1}`)
	f.Add(`{"$schema":"http://json-schema.org/draft-04/schema#","items":[{"type":"string"}],"additionalItems":false}`, `["a",1]`)
	f.Add(`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"],"c":{"required":["d"]}},"if":{"minLength":1},"then":false}`, `{"a":1,"c":2}`)
	f.Add(`{"unevaluatedProperties":false,"patternProperties":{"^a":{"multipleOf":0.1}},"propertyNames":{"maxLength":2}}`, `{"abc":0.25}`)
	f.Add(`{"contains":{"const":1e900},"uniqueItems":true,"minContains":2}`, `[1e900,1e900,-0]`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		compiled, err := contract.Compile([]byte(schema))
		if err != nil {
			return
		}
		if _, err := contract.Compile(compiled.Raw()); err != nil {
			t.Errorf("Raw() of %s does not compile: %v", schema, err)
		}
		if refused := compiled.CheckInput("fuzz", []byte(value)); refused != nil && refused.Message == "" {
			t.Errorf("%s refuses %s without a word", schema, value)
		}
	})
}

// No message says anything of a value, and every field that it names is there, or is the one that is missing.
func TestMessagesNeverQuoteTheValue(t *testing.T) {
	t.Parallel()
	const marker = "zq7marker"
	schema := compile(t, summarize)
	leaf := rapid.SampledFrom([]any{marker, 7351.25, true, nil, []any{marker, 7351.25}, map[string]any{"kind": marker, "13800138000": marker}})
	names := rapid.SampledFrom([]string{
		"text", "max_sentences", "level", "mode", "tags", "at", "code", "ratio", "words", "closed", "names", "never", "place", "either", "shape", "form",
		"both", "has", "no", "pair", "a b",
	})
	rapid.Check(t, func(t *rapid.T) {
		payload, err := json.Marshal(rapid.MapOf(names, leaf).Draw(t, "payload"))
		if err != nil {
			t.Fatal(err)
		}
		violation := schema.Check(payload)
		refused := schema.CheckInput("summarize", payload)
		if refused == nil {
			return
		}
		said := fmt.Sprint(refused.Message, refused.Details, violation.Field, violation.Expected, violation.Message)
		for _, secret := range []string{marker, "7351", "13800138000"} {
			if strings.Contains(said, secret) {
				t.Fatalf("%s: said %s", payload, said)
			}
		}
	})
}

// Shorthand accepts what has the required members with the right types, and nothing else.
func TestShorthandMeansWhatItSays(t *testing.T) {
	t.Parallel()
	samples := map[string]any{
		"string": "x", "integer": 1, "number": 1.5, "boolean": true, "null": nil, "array": []any{}, "object": map[string]any{},
	}
	kinds := rapid.SampledFrom([]string{"string", "integer", "number", "boolean", "null", "array", "object"})
	rapid.Check(t, func(t *rapid.T) {
		kind, given := kinds.Draw(t, "kind"), kinds.Draw(t, "given")
		optional, absent := rapid.Bool().Draw(t, "optional"), rapid.Bool().Draw(t, "absent")
		shorthand := map[string]string{"field": kind, "other": "string?"}
		if optional {
			shorthand["field"] += "?"
		}
		payload := map[string]any{"more": 1}
		if !absent {
			payload["field"] = samples[given]
		}
		compiled := compileRapid(t, shorthand)
		want := absent && optional || !absent && (given == kind || kind == "number" && given == "integer")
		raw, _ := json.Marshal(payload)
		if violation := compiled.Check(raw); (violation == nil) != want {
			t.Fatalf("%v and %s: %+v, want it to fit: %t", shorthand, raw, violation, want)
		}
	})
}

func compileRapid(t *rapid.T, schema any) *contract.Schema {
	raw, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := contract.Compile(raw)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}
