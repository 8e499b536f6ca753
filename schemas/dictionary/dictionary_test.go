package dictionary_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

func starter(t testing.TB) *dictionary.Dictionary {
	t.Helper()
	d, err := dictionary.New(dictionary.Starter())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// capability is an entry that is fine, with changes.
func capability(id string, changes ...func(*schemas.Capability)) schemas.Capability {
	c := schemas.Capability{ID: id, InputSchema: []byte(`{}`), OutputSchema: []byte(`true`)}
	for _, change := range changes {
		change(&c)
	}
	return c
}

func aliases(names ...string) func(*schemas.Capability) {
	return func(c *schemas.Capability) { c.Aliases = names }
}

func details(t testing.TB, err error) (code schemas.Code, field, pointer, message string) {
	t.Helper()
	var e *schemas.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v", err)
	}
	e.Detail("field", &field)
	e.Detail("pointer", &pointer)
	return e.Code, field, pointer, e.Message
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	got, err := dictionary.Prepare(schemas.Capability{
		ID: "code_review", InputSchema: []byte(` {"rules": "array?", "diff": "string"} `), OutputSchema: []byte(`{ }`),
		Probe: schemas.Payload(`{"rules":[1.0], "diff":"\u0041"}`), Aliases: []string{"Review"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"v":1,"id":"code_review",` +
		`"input_schema":{"properties":{"diff":{"type":"string"},"rules":{"type":"array"}},"required":["diff"],"type":"object"},` +
		`"output_schema":{},"idempotent":false,"probe":{"diff":"A","rules":[1.0]},"aliases":["Review"]}`
	if diff := cmp.Diff(want, string(schemas.MustEncode(got))); diff != "" {
		t.Error(diff)
	}
	again, err := dictionary.Prepare(got)
	if diff := cmp.Diff(string(schemas.MustEncode(got)), string(schemas.MustEncode(again))); diff != "" || err != nil {
		t.Errorf("not stable: %v\n%s", err, diff)
	}
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	type c = schemas.Capability
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprintf("alias_%d", i)
	}
	tests := []struct {
		name           string
		change         func(*c)
		field, pointer string
	}{
		{"an id that is none", func(c *c) { c.ID = "Echo" }, "/id", ""},
		{"no input schema", func(c *c) { c.InputSchema = nil }, "/input_schema", ""},
		{"no output schema", func(c *c) { c.OutputSchema = nil }, "/output_schema", ""},
		{
			"a schema that does not compile", func(c *c) { c.OutputSchema = []byte(`{"items":{"$ref":"x"}}`) },
			"/output_schema", "/items/$ref",
		},
		{
			"a probe that is no input",
			func(c *c) { c.InputSchema, c.Probe = []byte(`{"a":"string"}`), schemas.Payload(`{}`) }, "/probe", "",
		},
		{
			"a probe that is too large", func(c *c) { c.Probe = schemas.Payload(`"` + strings.Repeat("x", 70_000) + `"`) },
			"/probe", "",
		},
		{"a description that is too long", func(c *c) { c.Description = strings.Repeat("x", 5000) }, "/description", ""},
		{"a negative hint", func(c *c) { c.TimeoutHintMS = -1 }, "/timeout_hint_ms", ""},
		{"a hint beyond a week", func(c *c) { c.TimeoutHintMS = 1 << 40 }, "/timeout_hint_ms", ""},
		{"too many aliases", func(c *c) { c.Aliases = many }, "/aliases", ""},
		{"an alias that says nothing", func(c *c) { c.Aliases = []string{"x", " "} }, "/aliases/1", ""},
		{"an alias with control characters", func(c *c) { c.Aliases = []string{"a\x00b"} }, "/aliases/0", ""},
		{"an alias twice, in two spellings", func(c *c) { c.Aliases = []string{"two-words", "twoWords"} }, "/aliases/1", ""},
		{"too many tags", func(c *c) { c.Tags = many[:33] }, "/tags", ""},
		{"a tag that is too long", func(c *c) { c.Tags = []string{strings.Repeat("x", 65)} }, "/tags/0", ""},
		{"a mapping to no code", func(c *c) { c.ErrorMapping = map[string]schemas.Code{"E1": "BROKEN"} }, "/error_mapping", ""},
		{"another version", func(c *c) { c.V = 2 }, "/v", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := dictionary.Prepare(capability("echo", tt.change))
			code, field, pointer, message := details(t, err)
			if code != schemas.InvalidArgument || field != tt.field || pointer != tt.pointer || message == "" {
				t.Errorf("%s, field %q, pointer %q: %s", code, field, pointer, message)
			}
		})
	}
}

func TestNamesAreUniqueInTheWholeDictionary(t *testing.T) {
	t.Parallel()
	base := []schemas.Capability{capability("web_search", aliases("search", "look-up")), capability("echo")}
	tests := []struct {
		name  string
		added schemas.Capability
		field string
	}{
		{"an id that is an alias", capability("search"), "/id"},
		{"an alias that is an id", capability("find", aliases("echo")), "/aliases/0"},
		{"an alias that is an id in another spelling", capability("find", aliases("x", "WebSearch")), "/aliases/1"},
		{"an alias of another", capability("find", aliases("lookUp")), "/aliases/0"},
	}
	d, err := dictionary.New(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := d.With(tt.added)
			if code, field, _, message := details(t, err); code != schemas.AlreadyExists || field != tt.field {
				t.Errorf("%s, field %q: %s", code, field, message)
			}
			if _, err := dictionary.New(append(base[:2:2], tt.added)); err == nil {
				t.Error("New takes it")
			}
		})
	}
	if _, err := dictionary.New([]schemas.Capability{capability("echo"), capability("echo")}); err == nil {
		t.Error("New takes an id twice")
	}
}

func TestWithAndWithoutMakeAnother(t *testing.T) {
	t.Parallel()
	empty, err := dictionary.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	one, err := empty.With(capability("find", aliases("search")))
	if err != nil {
		t.Fatal(err)
	}
	other, err := one.With(capability("find", aliases("look"), func(c *schemas.Capability) { c.Description = "new" }))
	if err != nil {
		t.Fatal(err)
	}
	none := other.Without("find").Without("never_there")
	for _, tt := range []struct {
		name          string
		d             *dictionary.Dictionary
		entries       int
		search, looks bool
	}{
		{"empty", empty, 0, false, false},
		{"one", one, 1, true, false},
		{"replaced", other, 1, false, true},
		{"removed", none, 0, false, false},
	} {
		_, search := tt.d.Resolve("search")
		_, looks := tt.d.Resolve("look")
		if got := len(tt.d.List()); got != tt.entries || search != tt.search || looks != tt.looks {
			t.Errorf("%s: %d entries, search %t, look %t", tt.name, got, search, looks)
		}
	}
	if entry, found := other.Entry("find"); !found || entry.Description != "new" {
		t.Errorf("entry %+v", entry)
	}
	if _, found := other.Entry("look"); found {
		t.Error("an alias is an entry")
	}
}

func TestTheDictionaryIsBounded(t *testing.T) {
	t.Parallel()
	entries := make([]schemas.Capability, 0, dictionary.MaxEntries+1)
	for i := range dictionary.MaxEntries + 1 {
		entries = append(entries, capability(fmt.Sprintf("c%d", i)))
	}
	_, err := dictionary.New(entries)
	if code, _, _, message := details(t, err); code != schemas.ResourceExhausted || schemas.AsError(err).Retryable {
		t.Errorf("%s: %s", code, message)
	}
}

func TestTheDictionaryIsBoundedInBytesToo(t *testing.T) {
	t.Parallel()
	probed := func(id string) schemas.Capability {
		return capability(id, func(c *schemas.Capability) {
			c.Probe = fmt.Appendf(nil, "%q", strings.Repeat("x", dictionary.MaxProbeBytes-2))
		})
	}
	words, err := dictionary.New(nil)
	for i := 0; err == nil && i <= dictionary.MaxBytes/dictionary.MaxProbeBytes; i++ {
		var next *dictionary.Dictionary
		if next, err = words.With(probed(fmt.Sprintf("c%d", i))); err == nil {
			words = next
		}
	}
	if code, _, _, message := details(t, err); code != schemas.ResourceExhausted || schemas.AsError(err).Retryable {
		t.Fatalf("%s: %s", code, message)
	}
	if _, err := words.With(probed("c0")); err != nil {
		t.Errorf("an entry is not replaced by one of its size: %v", err)
	}
	if _, err := words.Without("c0").With(probed("another")); err != nil {
		t.Errorf("what was taken out still counts: %v", err)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	d := starter(t)
	tests := []struct{ intent, want string }{
		{"web_search", "web_search"},
		{"Web-Search", "web_search"},
		{"webSearch", "web_search"},
		{"WebSearch", "web_search"},
		{"WEB_SEARCH", "web_search"},
		{" web search ", "web_search"},
		{"web/search", "web_search"},
		{"ｗｅｂ＿ｓｅａｒｃｈ", "web_search"},
		{"ＷｅｂＳｅａｒｃｈ", "web_search"},
		{"countWords", "text_stats"},
		{"text.statistics", "text_stats"},
		{"search_web", ""},
		{"", ""},
		{strings.Repeat("web_search", 1000), ""},
	}
	for _, tt := range tests {
		if got, found := d.Resolve(tt.intent); got != tt.want || found != (tt.want != "") {
			t.Errorf("Resolve(%.40q) = %q, %t; want %q", tt.intent, got, found, tt.want)
		}
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	d := starter(t)
	tests := []struct {
		name, id, message string
		nearest           []string
	}{
		{
			"words in another order", "search_web", "search_web is not a capability; did you mean web_search?",
			[]string{"web_search"},
		},
		{"a misspelling", "summrize", "summrize is not a capability; did you mean summarize?", []string{"summarize"}},
		{"an alias", "count_words", "count_words is not a capability; did you mean text_stats?", []string{"text_stats"}},
		{"near an alias", "text_statistic", "text_statistic is not a capability; did you mean text_stats?", []string{"text_stats"}},
		{
			"several", "code", "code is not a capability; did you mean code_review or code_generate or code_review_lite?",
			[]string{"code_review", "code_generate", "code_review_lite"},
		},
		{
			"no name at all", "Web Search!\n", `"Web Search!\n" is not a capability; did you mean web_search?`,
			[]string{"web_search"},
		},
		{"nothing near", "frobnicate", "frobnicate is not a capability; there are code_generate, code_review, code_review_lite, doc_write, echo, " +
			"file_read, image_describe, risk_assessment, summarize, test_run, text_stats, transcribe, translate, web_search", []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refused := d.Unknown(tt.id)
			var near, available []string
			refused.Detail("nearest", &near)
			refused.Detail("available", &available)
			if diff := cmp.Diff(tt.nearest, near); diff != "" || refused.Message != tt.message {
				t.Errorf("%s\n%s", refused.Message, diff)
			}
			if refused.Code != schemas.InvalidArgument || refused.Reason != schemas.ReasonUnknownCapability || len(available) != 14 {
				t.Errorf("refused with %+v", refused)
			}
		})
	}
	if message := (&dictionary.Dictionary{}).Unknown("echo").Message; message != "echo is not a capability; the dictionary is empty" {
		t.Error(message)
	}
}

func TestNotFound(t *testing.T) {
	t.Parallel()
	d := starter(t)
	tests := []struct{ name, intent, message string }{
		{"a misspelling", "summrize", `"summrize" is not a capability; did you mean "summarize"? (reach capability list)`},
		{
			"another spelling of a neighbour", "SearchWeb",
			`"SearchWeb" is not a capability; did you mean "web_search"? (reach capability list)`,
		},
		{"nothing near", "frobnicate", `"frobnicate" is not a capability (reach capability list)`},
		{"something hostile", "a\x1b[31m\u202e\"", `"a\x1b[31m\u202e\"" is not a capability (reach capability list)`},
		{
			"something long", strings.Repeat("é", 1000),
			`"` + strings.Repeat("é", 32) + `…" is not a capability (reach capability list)`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := d.NotFound(tt.intent); got.Message != tt.message || got.Code != schemas.NotFound {
				t.Errorf("%s\n got %s\nwant %s", got.Code, got.Message, tt.message)
			}
		})
	}
}

// A dictionary of the largest size must not make a bad name expensive, nor an error large.
func TestUnknownIsBounded(t *testing.T) {
	t.Parallel()
	entries := make([]schemas.Capability, 0, 2000)
	for i := range 2000 {
		entries = append(entries, capability(fmt.Sprintf("capability_with_a_long_name_%d", i)))
	}
	d, err := dictionary.New(entries)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(schemas.MustEncode(d.Unknown("capability_with_a_long_nmae"))); got > 16<<10 {
		t.Errorf("the error has %d bytes", got)
	}
}
