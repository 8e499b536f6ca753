package mcp

import (
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
)

func TestWhereATextGoes(t *testing.T) {
	t.Parallel()
	in := func(name string) form { return form{as: member, name: name} }
	for _, tt := range []struct {
		name, schema string
		want         form
	}{
		{"anything", `{}`, form{as: whole}},
		{"anything, in a word", `true`, form{as: whole}},
		{"nothing", `false`, form{}},
		{"a text", `{"type":"string"}`, form{as: whole}},
		{"a text or nothing", `{"type":["string","null"]}`, form{as: whole}},
		{"one of some words", `{"enum":["low","high"]}`, form{as: whole}},
		{"one of some numbers", `{"enum":[1,2]}`, form{}},
		{"a text or an object", `{"type":["string","object"],"required":["a","b"]}`, form{as: whole}},
		{"one required text", `{"type":"object","required":["summary"],"properties":{"summary":{"type":"string"}}}`, in("summary")},
		{
			"one required text among others",
			`{"type":"object","required":["content"],"properties":{"content":{"type":"string"},"encoding":{"type":"string"}}}`,
			in("content"),
		},
		{"one required member of any kind", `{"type":"object","required":["text"]}`, in("text")},
		{"one required member of no type", `{"required":["text"],"properties":{"text":true}}`, in("text")},
		{"one required word", `{"type":"object","required":["label"],"properties":{"label":{"enum":["spam","ham"]}}}`, in("label")},
		{"one required list", `{"type":"object","required":["results"],"properties":{"results":{"type":"array"}}}`, form{}},
		{"two required texts", `{"type":"object","required":["a","b"]}`, form{}},
		{"one text that may be there", `{"type":"object","properties":{"code":{"type":"string"}}}`, in("code")},
		{"two texts that may be there", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, in("text")},
		{"one number that may be there", `{"type":"object","properties":{"n":{"type":"number"}}}`, in("text")},
		{"any object", `{"type":"object"}`, in("text")},
		{"an object whose text is none", `{"type":"object","properties":{"text":{"type":"number"},"a":{}}}`, form{}},
		{"an object without room", `{"type":"object","properties":{"n":{"type":"number"}},"additionalProperties":false}`, form{}},
		{"a list", `{"type":"array"}`, form{}},
		{"a number", `{"type":"number"}`, form{}},
	} {
		if got := formOf([]byte(tt.schema)); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestWhatATextBecomes(t *testing.T) {
	t.Parallel()
	const summary = `{"type":"object","required":["summary"],"properties":{"summary":{"type":"string"}}}`
	for _, tt := range []struct {
		name, schema, text string
		ownWords           bool
		want               string // "": a failure that says what to do
	}{
		{"words", summary, `Ships "sail".`, false, `{"summary":"Ships \"sail\"."}`},
		{"words for anything", `{}`, "Echo: hi", false, `"Echo: hi"`},
		{"no words", summary, "", false, `{"summary":""}`},
		{"JSON that fits", summary, ` {"summary":"s"}`, false, `{"summary":"s"}`},
		{"JSON for anything", `{}`, `[1.0]`, false, `[1.0]`},
		{"a number that is a text", summary, `42`, false, `{"summary":"42"}`},
		{"JSON that is a text", summary, `{"a":1}`, false, `{"summary":"{\"a\":1}"}`},
		{"JSON in words of the tool", summary, `{"Summary":"s"}`, true, `{"Summary":"s"}`},
		{"JSON that never fits", `{"type":"array"}`, `{"a":1}`, false, `{"a":1}`},
		{"bytes that are no text", summary, "a\xff", false, "{\"summary\":\"a\uFFFD\"}"},
		{"words without a place", `{"type":"array"}`, "words", false, ""},
		{"words that are none of those", `{"enum":["low","high"]}`, "middling", false, ""},
		{"words that hide behind a choice", `{"anyOf":[{"type":"array"},{"type":"number"}]}`, "words", false, ""},
	} {
		schema, err := contract.Compile([]byte(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		got, failure := texts{form: formOf(schema.Raw()), schema: schema}.result(tt.text, tt.ownWords)
		if string(got) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		if (failure == nil) != (tt.want != "") {
			t.Errorf("%s: %v", tt.name, failure)
		}
		if failure != nil && (failure.Err.Reason != schemas.ReasonNotJSON || failure.Ran != schemas.RanYes ||
			!strings.Contains(failure.Err.Message, "text_field")) {
			t.Errorf("%s: %v, ran %s", tt.name, failure.Err, failure.Ran)
		}
	}
}
