package contract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
)

func compile(t testing.TB, schema string) *contract.Schema {
	t.Helper()
	compiled, err := contract.Compile([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

const summarize = `{
	"type": "object",
	"required": ["text"],
	"properties": {
		"text": {"type": "string", "maxLength": 40},
		"max_sentences": {"type": "integer", "minimum": 1, "maximum": 9},
		"level": {"enum": ["low", "high", 3]},
		"mode": {"const": "fast"},
		"tags": {"type": "array", "items": {"type": ["string", "null"]}, "uniqueItems": true, "minItems": 1},
		"at": {"type": "string", "format": "date-time"},
		"code": {"type": "string", "pattern": "^[A-Z]+$"},
		"ratio": {"exclusiveMinimum": 0, "exclusiveMaximum": 1.5, "multipleOf": 0.1},
		"words": {"additionalProperties": {"type": "integer"}},
		"closed": {"properties": {"a": {}, "b": {}}, "patternProperties": {"^x-": {}}, "additionalProperties": false},
		"names": {"propertyNames": {"maxLength": 3}},
		"never": false,
		"place": {"$ref": "#/$defs/place"},
		"either": {"anyOf": [{"type": "string"}, {"type": "array"}]},
		"shape": {"oneOf": [
			{"properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"]},
			{"properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"]}
		]},
		"form": {"anyOf": [{"type": "string", "minLength": 2}, {"type": "object", "required": ["x"]}]},
		"both": {"oneOf": [{"minimum": 1}, {"minimum": 2}]},
		"has": {"contains": {"const": 1}},
		"no": {"not": {"type": "string"}},
		"pair": {"prefixItems": [{"type": "string"}], "items": false, "maxItems": 2},
		"a b": {"type": "string"}
	},
	"dependentRequired": {"level": ["mode"]},
	"$defs": {"place": {"type": "object", "required": ["city"], "properties": {"city": {"$ref": "#/$defs/name"}}}, "name": {"type": "string"}}
}`

func TestCheckInput(t *testing.T) {
	t.Parallel()
	const ok = ""
	tests := []struct{ name, payload, message, field, expected string }{
		{"all is well", `{"text":"a","max_sentences":3,"tags":["x",null],"new":{"field":1}}`, ok, "", ""},
		{"a required member is missing", `{}`, "payload.text is required by summarize", "/text", "string"},
		{
			"a required member below", `{"text":"a","place":{}}`, "payload.place.city is required by summarize",
			"/place/city", "string",
		},
		{"another type", `[]`, "payload must be an object", "", "object"},
		{"another type of a member", `{"text":1}`, "payload.text must be a string", "/text", "string"},
		{
			"not an integer", `{"text":"a","max_sentences":1.5}`, "payload.max_sentences must be an integer",
			"/max_sentences", "integer",
		},
		{"an integer with a fraction of zero", `{"text":"a","max_sentences":1.0}`, ok, "", ""},
		{"an integer with an exponent", `{"text":"a","max_sentences":30e-1}`, ok, "", ""},
		{"too small", `{"text":"a","max_sentences":0}`, "payload.max_sentences must be at least 1", "/max_sentences", "at least 1"},
		{
			"too large", `{"text":"a","max_sentences":1e400}`, "payload.max_sentences must be at most 9", "/max_sentences",
			"at most 9",
		},
		{"not more than", `{"text":"a","ratio":0}`, "payload.ratio must be more than 0", "/ratio", "more than 0"},
		{"not less than", `{"text":"a","ratio":1.5}`, "payload.ratio must be less than 1.5", "/ratio", "less than 1.5"},
		{"not a multiple", `{"text":"a","ratio":0.25}`, "payload.ratio must be a multiple of 0.1", "/ratio", "a multiple of 0.1"},
		{"a multiple, exactly", `{"text":"a","ratio":0.3}`, ok, "", ""},
		{
			"too long", `{"text":"` + strings.Repeat("x", 41) + `"}`, "payload.text must have at most 40 characters", "/text",
			"at most 40 characters",
		},
		{"too few", `{"text":"a","tags":[]}`, "payload.tags must have at least 1 item", "/tags", "at least 1 item"},
		{
			"another type of an item", `{"text":"a","tags":["x",7]}`, "payload.tags[1] must be a string or null", "/tags/1",
			"string or null",
		},
		{"an item twice", `{"text":"a","tags":["x","x"]}`, "payload.tags must not hold an item twice", "/tags", "different items"},
		{
			"none of the constants", `{"text":"a","mode":"fast","level":"mid"}`, "payload.level must be low, high or 3",
			"/level", "low, high or 3",
		},
		{"another constant", `{"text":"a","mode":"slow"}`, "payload.mode must be fast", "/mode", "fast"},
		{
			"needed beside another", `{"text":"a","level":"low"}`, "payload.mode is required where level is given", "/mode",
			"a value",
		},
		{"another format", `{"text":"a","at":"yesterday"}`, "payload.at must be of the format date-time", "/at", "date-time"},
		{"another pattern", `{"text":"a","code":"abc"}`, "payload.code must match the pattern ^[A-Z]+$", "/code", "^[A-Z]+$"},
		{
			"a member that is not wanted", `{"text":"a","closed":{"a":1,"x-y":2,"c":3}}`,
			"payload.closed.c is not accepted by summarize", "/closed/c", "a, b",
		},
		{"a member that is never wanted", `{"text":"a","never":1}`, "payload.never is not accepted by summarize", "/never", ""},
		{
			"an item that is not wanted", `{"text":"a","pair":["x",1]}`, "payload.pair[1] is not accepted by summarize",
			"/pair/1", "",
		},
		{
			"a name that is not wanted", `{"text":"a","names":{"long":1}}`,
			"the name of a member of payload.names must have at most 3 characters", "/names", "at most 3 characters",
		},
		{
			"one of two types", `{"text":"a","either":1}`, "payload.either must be an array or a string", "/either",
			"array or string",
		},
		{
			"one of two forms, by its mark", `{"text":"a","shape":{"kind":"circle"}}`,
			"payload.shape.radius is required by summarize", "/shape/radius", "number",
		},
		{
			"one of two forms, by its type", `{"text":"a","form":"x"}`, "payload.form must have at least 2 characters",
			"/form", "at least 2 characters",
		},
		{
			"none of two forms", `{"text":"a","shape":{"kind":"line"}}`,
			"payload.shape fits none of the forms accepted by summarize", "/shape", "",
		},
		{
			"more than one form", `{"text":"a","both":3}`,
			"payload.both fits more than one form; exactly one is accepted by summarize", "/both", "",
		},
		{
			"an item that must be there", `{"text":"a","has":[2]}`,
			"payload.has must have at least 1 item of the form accepted", "/has", "at least 1 item of the form accepted",
		},
		{"a form that must not be", `{"text":"a","no":"x"}`, "payload.no is of a form not accepted by summarize", "/no", ""},
		{"a name with a blank, from the schema", `{"text":"a","a b":1}`, `payload["a b"] must be a string`, "/a b", "string"},
		{
			"a name that the schema does not know", `{"text":"a","words":{"sail":"x"}}`,
			"payload.words.sail must be an integer", "/words/sail", "integer",
		},
		{
			"a name that may be personal", `{"text":"a","words":{"13800138000":"x"}}`,
			"a member of payload.words must be an integer", "/words", "integer",
		},
		{
			"the first of several, whatever the order", `{"text":"a","max_sentences":"x","tags":1,"at":2}`,
			"payload.at must be a string", "/at", "string",
		},
		{"nearest to the root first", `{"place":{"city":1},"text":2}`, "payload.text must be a string", "/text", "string"},
		{"not JSON", `{"text":`, "payload is not acceptable JSON: not valid JSON at byte 8", "/text", "JSON"},
		{
			"a member twice, whose name may be personal", `{"text":"a","words":{"13800138000":1,"13800138000":2}}`,
			"payload is not acceptable JSON: an object has the same member twice", "/words", "JSON",
		},
		{"an absent payload", ``, "payload is not acceptable JSON: not a JSON value", "", "JSON"},
		{
			"a number beyond all", `{"text":1e1000001}`,
			"payload is not acceptable JSON: a number has an exponent beyond ±1000", "/text", "JSON",
		},
	}
	schema := compile(t, summarize)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refused := schema.CheckInput("summarize", []byte(tt.payload))
			if tt.message == ok {
				if refused != nil {
					t.Fatalf("refused: %v", refused)
				}
				return
			}
			if refused == nil {
				t.Fatal("accepted")
			}
			var field, expected string
			refused.Detail("field", &field)
			refused.Detail("expected", &expected)
			got := []string{string(refused.Code), refused.Reason, refused.Message, field, expected}
			want := []string{string(schemas.InvalidArgument), schemas.ReasonInputSchema, tt.message, tt.field, tt.expected}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWordsForEveryKeyword(t *testing.T) {
	t.Parallel()
	const draft7 = `"$schema":"http://json-schema.org/draft-07/schema#",`
	many := strings.Repeat(`"x",`, 20) + `"x"`
	tests := []struct{ name, schema, value, field, message, expected string }{
		{"items beyond those listed", `{` + draft7 + `"items":[true],"additionalItems":false}`, `[1,2]`, "", "has more items than accepted", ""},
		{"what is left over", `{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"a":1,"b":2}`, "/b", "is not accepted", "a"},
		{"nothing at all", `false`, `1`, "", "is not accepted", ""},
		{"the constant false", `{"const":false}`, `true`, "", "must be false", "false"},
		{"many constants", `{"enum":[` + many + `]}`, `1`, "", "must be one of " + strings.Repeat("x, ", 11) + "x and 9 others", ""},
		{"a long constant", `{"const":"` + strings.Repeat("x", 100) + `"}`, `1`, "", "must be what the schema says", "what the schema says"},
		{"a needed member of an older draft", `{` + draft7 + `"dependencies":{"a":["b"]}}`, `{"a":1}`, "/b", "is required where a is given", "a value"},
		{"few members", `{"minProperties":2}`, `{}`, "", "must have at least 2 members", "at least 2 members"},
		{"many members", `{"maxProperties":1}`, `{"a":1,"b":2}`, "", "must have at most 1 member", "at most 1 member"},
		{"few of a form", `{"contains":true,"minContains":2}`, `[1]`, "", "must have at least 2 items of the form accepted", ""},
		{"many of a form", `{"contains":true,"maxContains":1}`, `[1,2]`, "", "must have at most 1 item of the form accepted", ""},
		{"a format that is a pattern", `{"format":"regex"}`, `"("`, "", "must be of the format regex", "regex"},
		{
			"many names", `{"properties":{` + names(20) + `},"additionalProperties":false}`, `{"x":1}`, "/x", "is not accepted",
			"m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, …",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			violation := compile(t, tt.schema).Check([]byte(tt.value))
			if violation == nil {
				t.Fatal("accepted")
			}
			if violation.Field != tt.field || violation.Message != tt.message || tt.expected != "" && violation.Expected != tt.expected {
				t.Errorf("field %q, message %q, expected %q", violation.Field, violation.Message, violation.Expected)
			}
		})
	}
}

func names(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"m%d":{}`, i+10)
	}
	return strings.Join(list, ",")
}

func TestAlternativesAreNamed(t *testing.T) {
	t.Parallel()
	schema := compile(t, `{"type":"object","anyOf":[{"required":["audio_url"]},{"required":["audio_base64"]}]}`)
	refused := schema.CheckInput("transcribe", []byte(`{"language":"de"}`))
	if want := "payload.audio_url or payload.audio_base64 is required by transcribe"; refused == nil || refused.Message != want {
		t.Errorf("refused with %v", refused)
	}
	if refused := schema.CheckInput("transcribe", []byte(`{"audio_base64":"x"}`)); refused != nil {
		t.Errorf("refused with %v", refused)
	}
}

func TestCheckOutput(t *testing.T) {
	t.Parallel()
	refused := compile(t, `{"summary":"string"}`).CheckOutput("summarize", []byte(`{"summary":null}`))
	want := schemas.NewError(schemas.Internal, schemas.ReasonOutputSchema,
		"the agent broke its contract: result.summary must be a string").With("field", "/summary").With("expected", "string")
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Error(diff)
	}
}

func TestNilAcceptsEverything(t *testing.T) {
	t.Parallel()
	var none *contract.Schema
	if violation := none.Check([]byte(`{`)); violation != nil {
		t.Errorf("violation %+v", violation)
	}
	if raw := none.Raw(); raw != nil {
		t.Errorf("raw %s", raw)
	}
}

func TestBoth(t *testing.T) {
	t.Parallel()
	wide, narrow := compile(t, `{"text":"string"}`), compile(t, `{"properties":{"text":{"maxLength":3}}}`)
	tests := []struct {
		name    string
		schema  *contract.Schema
		payload string
		keyword string
	}{
		{"both fit", contract.Both(wide, narrow), `{"text":"abc"}`, ""},
		{"the narrower does not", contract.Both(wide, narrow), `{"text":"abcd"}`, "maxLength"},
		{"the wider does not", contract.Both(wide, narrow), `{}`, "required"},
		{"the narrower alone", contract.Both(nil, narrow), `{}`, ""},
		{"the wider alone", contract.Both(wide, nil), `{"text":"abcd"}`, ""},
		{"neither", contract.Both(nil, nil), `1`, ""},
		{"both of both", contract.Both(contract.Both(wide, narrow), narrow), `{"text":"abcd"}`, "maxLength"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			violation := tt.schema.Check([]byte(tt.payload))
			if got := keywordOf(violation); got != tt.keyword {
				t.Errorf("violation %+v, want %q", violation, tt.keyword)
			}
		})
	}
	if got := contract.Both(wide, narrow).Raw(); string(got) != string(wide.Raw()) {
		t.Errorf("raw %s", got)
	}
}

func keywordOf(violation *contract.Violation) string {
	if violation == nil {
		return ""
	}
	return violation.Keyword
}

// Numbers are compared exactly: a float64 would take each of these for its neighbour.
func TestNumbersAreExact(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, schema, value string
		fits                bool
	}{
		{"the number itself", `{"const":9007199254740993}`, `9007199254740993`, true},
		{"its neighbour", `{"const":9007199254740993}`, `9007199254740992`, false},
		{"beyond 64 bits", `{"maximum":18446744073709551615}`, `18446744073709551616`, false},
		{
			"a decimal of 40 digits", `{"enum":[0.1234567890123456789012345678901234567890]}`,
			`0.1234567890123456789012345678901234567891`, false,
		},
		{"the same number, written otherwise", `{"const":100}`, `1.00e2`, true},
		{"two neighbours are different items", `{"uniqueItems":true}`, `[9007199254740993,9007199254740992]`, true},
		{"a large exponent", `{"minimum":1e999}`, `1e1000`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if violation := compile(t, tt.schema).Check([]byte(tt.value)); (violation == nil) != tt.fits {
				t.Errorf("violation %+v", violation)
			}
		})
	}
}

// Whatever the draft, format is asserted and content is not.
func TestFormatAndContentAreTheSameInAllDrafts(t *testing.T) {
	t.Parallel()
	for _, draft := range []string{
		"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema", "http://json-schema.org/draft-07/schema#",
		"http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-04/schema#",
	} {
		schema := compile(t, `{"$schema":"`+draft+`","properties":{"f":{"format":"ipv4"},
			"c":{"type":"string","contentEncoding":"base64","contentMediaType":"application/json"}}}`)
		if violation := schema.Check([]byte(`{"f":"no"}`)); keywordOf(violation) != "format" {
			t.Errorf("%s: format: %+v", draft, violation)
		}
		if violation := schema.Check([]byte(`{"c":"%%"}`)); violation != nil {
			t.Errorf("%s: content: %+v", draft, violation)
		}
	}
}
