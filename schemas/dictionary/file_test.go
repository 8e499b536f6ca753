package dictionary_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

func read(t testing.TB, name, content string) ([]schemas.Capability, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := dictionary.ReadFile(path)
	return list, err
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	const fine = `"input_schema":{},"output_schema":{},"idempotent":false`
	tests := []struct{ name, file, content, want string }{
		{"an empty list", "c.yaml", "capabilities: []\n", `[]`},
		{"nothing under capabilities", "c.yaml", "capabilities:\n", `[]`},
		{
			"the order of the file", "c.yaml",
			"capabilities:\n- {id: b, input_schema: {}, output_schema: {}}\n- {id: a, input_schema: {}, output_schema: {}}\n",
			`[{"v":1,"id":"b",` + fine + `},{"v":1,"id":"a",` + fine + `}]`,
		},
		{
			"number literals as written", "c.yml",
			"capabilities:\n- id: a\n  input_schema: {enum: [9007199254740993, 1.0, 1e2, -0, 1e400, 18446744073709551616, 0.10]}\n  output_schema: {}\n",
			`[{"v":1,"id":"a","input_schema":{"enum":[9007199254740993,1.0,1e2,-0,1e400,18446744073709551616,0.10]},"output_schema":{},"idempotent":false}]`,
		},
		{
			"what only YAML writes so", "c.yaml",
			"capabilities:\n- id: a\n  input_schema: {enum: [0x1f, 1_000, .5, +7, True, ~, 2026-11-29, yes, '5', !!str 6]}\n  output_schema: {}\n",
			`[{"v":1,"id":"a","input_schema":{"enum":[31,1000,0.5,7,true,null,"2026-11-29","yes","5","6"]},"output_schema":{},"idempotent":false}]`,
		},
		{
			"shorthand and aliases of YAML", "c.yaml",
			"capabilities:\n- {id: a, input_schema: &s {x: string, n: 'integer?'}, output_schema: *s}\n",
			`[{"v":1,"id":"a","input_schema":{"properties":{"n":{"type":"integer"},"x":{"type":"string"}},"required":["x"],"type":"object"},` +
				`"output_schema":{"properties":{"n":{"type":"integer"},"x":{"type":"string"}},"required":["x"],"type":"object"},"idempotent":false}]`,
		},
		{
			"JSON, with tabs and pairs of escapes", "c.json",
			"{\n\t\"capabilities\": [\n\t\t{\"id\": \"a\", \"description\": \"\\ud83d\\ude00\", \"input_schema\": {\"const\": 9007199254740993},\n\t\t\"output_schema\": {}, \"idempotent\": true}\n\t]\n}\n",
			`[{"v":1,"id":"a","description":"😀","input_schema":{"const":9007199254740993},"output_schema":{},"idempotent":true}]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			list, err := read(t, tt.file, tt.content)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(schemas.MustEncode(list))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadFileRefuses(t *testing.T) {
	t.Parallel()
	const head = "capabilities:\n  - id: a\n"
	const fine = "    input_schema: {}\n    output_schema: {}\n"
	tests := []struct{ name, file, content, want string }{
		{"an empty file", "c.yaml", "", "c.yaml:1: the file is empty"},
		{"no object", "c.yaml", "- id: a\n", "c.yaml:1: the file has a list under capabilities"},
		{"no list", "c.yaml", "capabilities: {}\n", "c.yaml:1: capabilities is a list"},
		{"another member", "c.yaml", "\ncapabilitys: []\n", "c.yaml:2: capabilitys is not known here; did you mean capabilities?"},
		{
			"an entry that is no object", "c.yaml", "capabilities:\n  - a\n",
			"c.yaml:2: an entry is an object with id, input_schema and output_schema",
		},
		{
			"a misspelt member", "c.yaml", head + fine + "    timeout_hints_ms: 5\n",
			"c.yaml:5: timeout_hints_ms is not known here; did you mean timeout_hint_ms?",
		},
		{"broken YAML", "c.yaml", "capabilities:\n  - id: [\n", "c.yaml:2: "},
		{"two documents", "c.yaml", head + fine + "---\n{}\n", "the file has more than one document"},
		{"a member twice", "c.yaml", head + "    id: b\n" + fine, "c.yaml:3: id is there twice"},
		{
			"a member of a schema twice", "c.yaml",
			head + "    output_schema: {}\n    input_schema:\n      type: object\n      type: array\n",
			"c.yaml:6: type is there twice",
		},
		{
			"merging", "c.yaml", head + "    input_schema:\n      <<: {type: object}\n    output_schema: {}\n",
			"c.yaml:4: merging (<<) is not understood here; use an alias for the whole value",
		},
		{
			"a number that JSON lacks", "c.yaml", head + "    input_schema: {const: .inf}\n    output_schema: {}\n",
			"c.yaml:3: JSON has no such number",
		},
		{
			"a name that is no text", "c.yaml", head + "    input_schema: {[a]: b}\n    output_schema: {}\n",
			"c.yaml:3: the name of a member is a text",
		},
		{
			"an alias within itself", "c.yaml", head + "    input_schema: &x {items: *x}\n    output_schema: {}\n",
			"c.yaml:3: this is nested too deeply",
		},
		{
			"another type", "c.yaml", head + "    timeout_hint_ms: soon\n" + fine,
			"c.yaml:3: a: /timeout_hint_ms: this field takes an integer",
		},
		{
			"no schema", "c.yaml", head + "    input_schema: {}\n",
			"c.yaml:2: a: /output_schema: output_schema is missing; {} accepts everything",
		},
		{
			"a schema that fetches", "c.yaml", head + "    output_schema: {}\n    input_schema:\n      type: object\n      properties:\n        b:\n          $ref: http://x\n",
			"c.yaml:8: a: /input_schema: the schema refers to something outside itself; only references that start with # are followed (at /properties/b/$ref)",
		},
		{
			"a misspelt schema", "c.yaml",
			head + "    output_schema: {}\n    input_schema:\n      typ: object\n      required: [a]\n",
			"c.yaml:5: a: /input_schema: a schema is either shorthand or JSON Schema, not both; move this member into properties (did you mean type?) (at /typ)",
		},
		{
			"a probe that is no input", "c.yaml",
			head + "    output_schema: {}\n    input_schema: {x: string}\n    probe: {}\n",
			"c.yaml:5: a: /probe: the probe is not an input that a accepts: payload.x is required by a",
		},
		{"an id twice", "c.yaml", head + fine + "  - id: a\n" + fine, "c.yaml:5: a is there twice"},
		{
			"an alias that is taken", "c.yaml", head + fine + "  - id: b\n" + fine + "    aliases:\n      - c\n      - A\n",
			"c.yaml:10: b: /aliases/1: the alias a belongs to a",
		},
		{"an id that is none", "c.yaml", "capabilities:\n  - id: A-b\n" + fine, "c.yaml:2: A-b: /id: "},
		{"broken JSON", "c.json", "{\n \"capabilities\": [\n ,]}", "c.json:3: this is not JSON"},
		{"JSON that ends too early", "c.json", "{\n \"capabilities\": [\n", "c.json:3: the JSON ends too early"},
		{"more than one JSON value", "c.json", "{\"capabilities\": []}\n{}", "c.json:1: more follows after the first JSON value"},
		{
			"a misspelt member in JSON", "c.json", "{\"capabilities\": [\n{\"id\": \"a\",\n\"alias\": []}]}",
			"c.json:3: alias is not known here; did you mean aliases?",
		},
		{
			"a schema that fetches in JSON", "c.json",
			"{\"capabilities\": [{\"id\": \"a\", \"output_schema\": {},\n\"input_schema\": {\"items\":\n{\"$ref\": \"x\"}}}]}",
			"c.json:3: a: /input_schema: the schema refers",
		},
		{"JSON that is not UTF-8", "c.json", "{\"\xff\": 1}", "c.json: the file is not UTF-8"},
		{"JSON nested deeply", "c.json", strings.Repeat("[", 100_000), "c.json:1: this is nested too deeply"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := read(t, tt.file, tt.content)
			if err == nil {
				t.Fatal("accepted")
			}
			if got := err.Error(); !strings.Contains(got, tt.want) {
				t.Errorf("\n got %s\nwant …%s…", got, tt.want)
			}
		})
	}
	if _, err := dictionary.ReadFile(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func FuzzReadFile(f *testing.F) {
	f.Add("capabilities:\n- &a {id: a, input_schema: {x: 'string?'}, output_schema: {enum: [0x1, .5, 1e400, ~]}, probe: {}}\n- *a\n", false)
	f.Add("capabilities:\n- {id: a, input_schema: {<<: {}}, output_schema: [1, {a: b, a: c}]}\n---\n", false)
	f.Add("{\"capabilities\": [{\"id\": \"a\", \"input_schema\": {}, \"output_schema\": {\"const\": \"\\ud83d\\ude00\"}}]}", true)
	f.Fuzz(func(t *testing.T, content string, isJSON bool) {
		name := "c.yaml"
		if isJSON {
			name = "c.json"
		}
		list, err := read(t, name, content)
		if err != nil {
			if strings.Contains(err.Error(), "internal error") {
				t.Errorf("%q: %v", content, err)
			}
			return
		}
		if _, err := dictionary.New(list); err != nil {
			t.Errorf("%q was read but is no dictionary: %v", content, err)
		}
	})
}
