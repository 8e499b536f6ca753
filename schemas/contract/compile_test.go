package contract_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
)

func TestCompile(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, schema, raw string }{
		{"everything, as an object", `{}`, `{}`},
		{"everything, as true", ` true`, `true`},
		{"nothing", `false`, `false`},
		{
			"members are sorted, numbers stay", `{"type":"number","maximum":1.50,"enum":[1e2,9007199254740993]}`,
			`{"enum":[1e2,9007199254740993],"maximum":1.50,"type":"number"}`,
		},
		{
			"shorthand", `{"rules":"array","diff":"string"}`,
			`{"properties":{"diff":{"type":"string"},"rules":{"type":"array"}},"required":["diff","rules"],"type":"object"}`,
		},
		{"shorthand with an optional member", `{"a":"integer?"}`, `{"properties":{"a":{"type":"integer"}},"type":"object"}`},
		{
			"shorthand with names near keywords", `{"note":"string","cost":"number","form":"object?","item":"array?"}`,
			`{"properties":{"cost":{"type":"number"},"form":{"type":"object"},"item":{"type":"array"},"note":{"type":"string"}},` +
				`"required":["cost","note"],"type":"object"}`,
		},
		{"a local reference", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, ""},
		{"a reference to an escaped name", `{"$ref":"#/$defs/a~1b%25","$defs":{"a/b%":{"type":"string"}}}`, ""},
		{"a reference to an anchor", `{"$ref":"#a","$defs":{"x":{"$anchor":"a","type":"string"}}}`, ""},
		{
			"a reference to an anchor of draft 7",
			`{"$schema":"http://json-schema.org/draft-07/schema#","allOf":[{"$ref":"#a"}],"definitions":{"x":{"$id":"#a","type":"string"}}}`,
			"",
		},
		{"a dynamic reference", `{"type":"object","$dynamicAnchor":"n","properties":{"c":{"$dynamicRef":"#n"}}}`, ""},
		{"a reference to a property", `{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, ""},
		{"a tree", `{"type":"object","properties":{"children":{"items":{"$ref":"#"}}}}`, ""},
		{
			"its own address",
			`{"$id":"https://example.org/a.json","type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`,
			"",
		},
		{"each standard draft", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`, ""},
		{
			"draft 2019-09",
			`{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","properties":{"a":{"$recursiveRef":"#"}}}`,
			"",
		},
		{
			"draft 7 as converters write it",
			`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/F","definitions":{"F":{"type":"object"}}}`,
			"",
		},
		{"draft 6", `{"$schema":"http://json-schema.org/draft-06/schema","contains":{"type":"string"}}`, ""},
		{
			"draft 4",
			`{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x/y","minimum":1,"exclusiveMinimum":true}`, "",
		},
		{
			"members whose names are keywords",
			`{"properties":{"$ref":{"type":"string"},"$id":{"type":"string"},"$schema":{},"pattern":{}},"required":["$ref"]}`,
			"",
		},
		{
			"constants that look like references",
			`{"enum":[{"$ref":"http://x"}],"default":{"$id":"x"},"examples":[{"pattern":"("}]}`, "",
		},
		{"unknown keywords beside known ones", `{"type":"object","x-order":1,"x-type":"string","example":{"a":1}}`, ""},
		{"a member of which only the description is known", `{"properties":{"a":{"description":"anything"}}}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			compiled, err := contract.Compile([]byte(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			if tt.raw != "" && string(compiled.Raw()) != tt.raw {
				t.Errorf("Raw()\n got %s\nwant %s", compiled.Raw(), tt.raw)
			}
			again, err := contract.Compile(compiled.Raw())
			if err != nil {
				t.Fatalf("Raw() does not compile: %v", err)
			}
			if diff := cmp.Diff(string(compiled.Raw()), string(again.Raw())); diff != "" {
				t.Errorf("Raw() is not stable:\n%s", diff)
			}
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	const outside = "only references that start with #"
	tests := []struct{ name, schema, pointer, message string }{
		{"nothing", ``, "", ""},
		{"what is not JSON", `{`, "", ""},
		{"a member twice", `{"type":"object","type":"array"}`, "/type", "twice"},
		{"null", `null`, "", "an object, true or false"},
		{"a list", `[]`, "", "an object, true or false"},
		{"a type alone", `"string"`, "", `{"type": …}`},
		{"a type alone, deeper", `{"properties":{"a":"string"}}`, "/properties/a", `{"type": …}`},

		{"a misspelt keyword that could be shorthand", `{"typ":"object"}`, "/typ", "did you mean type"},
		{"misspelt keywords", `{"typ":"object","requred":["a"]}`, "/requred", "did you mean required"},
		{
			"a misspelt keyword, deeper", `{"type":"object","properties":{"a":{"typ":"string"}}}`, "/properties/a",
			"did you mean type",
		},
		{"a misspelt type in shorthand", `{"a":"strng"}`, "/a", "did you mean the type string"},
		{"an unknown type in shorthand", `{"a":"text"}`, "/a", "the types are array, boolean"},
		{"shorthand with a schema in it", `{"a":"string","b":{"type":"object"}}`, "/b", "from names to types"},
		{"shorthand beside a keyword", `{"type":"object","a":"string"}`, "/a", "not both"},
		{"shorthand beside an annotation", `{"description":"x","a":"string"}`, "/a", "not both"},
		{"shorthand beside a keyword, deeper", `{"items":{"type":"object","a":"string"}}`, "/items/a", "not both"},
		{"names of members that are all annotations", `{"title":"string","description":"string"}`, "", "accepts everything"},
		{"definitions alone", `{"$defs":{"a":{"type":"string"}}}`, "", "accepts everything"},
		{"a type that does not exist", `{"type":"strng"}`, "/type", "type takes array, boolean"},
		{"a keyword with something else in it", `{"required":"a"}`, "/required", "not what required takes"},

		{"a remote reference", `{"$ref":"http://127.0.0.9/x"}`, "/$ref", outside},
		{"a file", `{"$ref":"file:///etc/passwd"}`, "/$ref", outside},
		{"a relative file", `{"$ref":"other.json#/a"}`, "/$ref", outside},
		{"a reference that nothing uses", `{"type":"object","$defs":{"a":{"$ref":"http://x"}}}`, "/$defs/a/$ref", outside},
		{
			"a reference in the definitions of an older draft",
			`{"type":"object","definitions":{"a b":{"items":[{"$ref":"http://x"}]}}}`, "/definitions/a b/items/0/$ref",
			outside,
		},
		{"a dynamic reference", `{"properties":{"a":{"$dynamicRef":"http://x"}}}`, "/properties/a/$dynamicRef", outside},
		{"a recursive reference", `{"$recursiveRef":"http://x"}`, "/$recursiveRef", outside},
		{"a reference that is no text", `{"$ref":1}`, "/$ref", outside},
		{"an empty reference", `{"$ref":""}`, "/$ref", outside},
		{"an address with a relative reference", `{"$id":"http://x/y","$ref":"z"}`, "/$ref", outside},
		{"an address within", `{"properties":{"a":{"$id":"z","$ref":"#/$defs/a"}}}`, "/properties/a/$id", "only the whole schema"},
		{
			"an address within, in draft 4",
			`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"id":"z","type":"string"}}}`,
			"/properties/a/id", "only the whole schema",
		},
		{"a draft of one's own", `{"$schema":"http://127.0.0.9/draft","type":"object"}`, "/$schema", "standard drafts"},
		{
			"a draft by another scheme", `{"$schema":"file://json-schema.org/draft/2020-12/schema","type":"object"}`,
			"/$schema", "standard drafts",
		},
		{
			"a draft within", `{"properties":{"a":{"$schema":"http://json-schema.org/draft-07/schema#"}}}`,
			"/properties/a/$schema", "only the whole schema",
		},
		{"a reference to nothing", `{"$ref":"#/$defs/a"}`, "/$ref", "does not have"},
		{"a reference to an unknown anchor", `{"$ref":"#a"}`, "/$ref", "does not have"},
		{"a reference to what is no schema", `{"$ref":"#/x-stuff/a","x-stuff":{"a":{}}}`, "/$ref", "does not have"},
		{"an anchor twice", `{"$anchor":"a","items":{"$anchor":"a"}}`, "/items/$anchor", "twice"},

		{"a reference to itself", `{"$ref":"#"}`, "/$ref", "without end"},
		{
			"references in a ring", `{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#/$defs/a"}}}}`,
			"/allOf/0/$ref", "without end",
		},
		{"a dynamic reference to itself", `{"$dynamicAnchor":"a","if":{"$dynamicRef":"#a"}}`, "/if/$dynamicRef", "without end"},

		{"a pattern with look-ahead", `{"properties":{"a":{"pattern":"^(?=x)"}}}`, "/properties/a/pattern", "RE2"},
		{"a pattern with a back-reference", `{"pattern":"(a)\\1"}`, "/pattern", "RE2"},
		{"a name pattern that does not compile", `{"patternProperties":{"(":{}}}`, "/patternProperties/(", "RE2"},
		{
			"a pattern that is too large",
			`{"pattern":"([a-z]{500}){2}[a-z]{1000}[a-z]{1000}[a-z]{1000}[a-z]{1000}[a-z]{1000}[a-z]{1000}[a-z]{1000}[a-z]{1000}[a-z]{1000}"}`,
			"/pattern", "limit",
		},
		{"a pattern that is too long", `{"pattern":"` + strings.Repeat("a", 2000) + `"}`, "/pattern", "limit"},
		{"a number that no validator can take", `{"properties":{"a":{"maximum":1e1000001}}}`, "/properties/a/maximum", "±1000"},
		{"a length beyond all lengths", `{"minLength":1e999}`, "/minLength", "limit"},
		{"a length beyond 64 bits", `{"maxItems":99999999999999999999}`, "/maxItems", "limit"},

		{"too many bytes", `{"description":"` + strings.Repeat("x", contract.MaxBytes) + `"}`, "", "65536 is the limit"},
		{"too deep", strings.Repeat(`{"items":`, 70) + `{}` + strings.Repeat(`}`, 70), "", "nested deeper than 64"},
		{"too many schemas", `{"anyOf":[` + strings.Repeat(`{},`, contract.MaxSubschemas) + `{}]}`, "", "more than 1000 schemas"},
		{"a long way of references", chain(100, `{"$ref":"#/$defs/a%d"}`), "", "leads through more than 64"},
		{
			"definitions that double with every link",
			chain(24, `{"allOf":[{"$ref":"#/$defs/a%[1]d"},{"$ref":"#/$defs/a%[1]d"}]}`), "",
			"more than 1000 schemas to one value",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := contract.Compile([]byte(tt.schema))
			var refused *schemas.Error
			if !errors.As(err, &refused) {
				t.Fatalf("error %v", err)
			}
			var pointer string
			if !refused.Detail("pointer", &pointer) || refused.Code != schemas.InvalidArgument || refused.Reason != contract.ReasonBadSchema {
				t.Errorf("refused with %+v", refused)
			}
			if tt.pointer != "" && pointer != tt.pointer || !strings.Contains(refused.Message, tt.message) {
				t.Errorf("pointer %q, message %q; want %q, …%s…", pointer, refused.Message, tt.pointer, tt.message)
			}
		})
	}
}

// chain is a schema of n definitions, each of the form of link, which names the next one.
func chain(n int, link string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%d":%s,`, i, fmt.Sprintf(link, i+1))
	}
	fmt.Fprintf(&b, `"a%d":{"type":"string"}}}`, n)
	return b.String()
}
