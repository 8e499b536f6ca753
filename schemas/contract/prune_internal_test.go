package contract

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhatNoSchemaLooksAtIsNotDecoded(t *testing.T) {
	t.Parallel()
	many := "[" + strings.Repeat("1,", 20) + `{"deep":[2]}]`
	nulls := "[" + strings.Repeat("null,", 20) + "null]"
	tests := []struct{ name, schema, value, want string }{
		{"a member that is only a list", `{"properties":{"a":{"type":"array"}}}`, `{"a":MANY,"b":MANY,"c":{"d":1}}`, `{"a":[],"b":null,"c":null}`},
		{"a list that is counted", `{"properties":{"a":{"minItems":3}}}`, `{"a":MANY}`, `{"a":NULLS}`},
		{"elements that are looked at", `{"properties":{"a":{"items":{"type":["number","object"]}}}}`, `{"a":MANY}`, `{"a":MANY~}`},
		{"elements that are compared", `{"properties":{"a":{"uniqueItems":true}}}`, `{"a":MANY}`, `{"a":MANY}`},
		{"a constant", `{"enum":[{"a":[1]},2]}`, `{"a":MANY}`, `{"a":MANY}`},
		{"the first elements", `{"prefixItems":[true,{"type":"string"}]}`, `[[1],"x",MANY,MANY]`, `[null,"x"]`},
		{"by a pattern", `{"patternProperties":{"^a":{"type":"array"}}}`, `{"a":MANY,"b":[1]}`, `{"a":[],"b":[]}`},
		{"by what is left over", `{"properties":{"a":true},"additionalProperties":{"type":"array"}}`, `{"b":MANY,"a":[1]}`, `{"b":[],"a":null}`},
		{"names alone", `{"maxProperties":2,"propertyNames":{"maxLength":3}}`, `{"a":MANY,"b":"x"}`, `{"a":null,"b":null}`},
		{"through a reference", `{"$ref":"#/$defs/x","$defs":{"x":{"properties":{"a":{"properties":{"deep":{"type":"array"}}}}}}}`, `{"a":{"deep":MANY,"b":1}}`, `{"a":{"deep":[],"b":null}}`},
		{"through a choice", `{"anyOf":[{"required":["a"]},{"properties":{"b":{"type":"array"}}}]}`, `{"a":MANY,"b":MANY}`, `{"a":null,"b":[]}`},
		{"whatever it is", `{"type":"array"}`, `MANY`, `[]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := Compile([]byte(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			fill := strings.NewReplacer("MANY~", "["+strings.Repeat("1,", 20)+`{"deep":null}]`, "MANY", many, "NULLS", nulls)
			value := fill.Replace(tt.value)
			got, err := prune([]byte(value), s.parts)
			if err != nil || string(got) != fill.Replace(tt.want) {
				t.Errorf("left is %.200s, %v", got, err)
			}
		})
	}
}

func TestAValueThatNoCheckCanAffordIsNotDecoded(t *testing.T) {
	t.Parallel()
	s, err := Compile([]byte(`{"properties":{"a":{"items":{"type":"number"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	value := []byte(`{"a":[` + strings.Repeat("1,", budgetMost/priceOfVisit) + `1]}`)
	if violation := s.Check(value); violation == nil || violation.Message != unaffordable().Message {
		t.Errorf("checked: %+v", violation)
	}
}

// What is said of a value is the same whether it was pruned or not.
func TestPrunedValuesFitAsWholeOnesDo(t *testing.T) {
	t.Parallel()
	many := "[" + strings.Repeat("1,", 20) + "1]"
	values := []string{
		`{"a":MANY}`, `{"a":"x","m":MANY}`, `[MANY,1,"x"]`, `{"a":1,"b":"x","m":[MANY]}`, `{"b":{"a":MANY,"b":2},"a":[]}`, `MANY`, `{"m":MANY,"abc":null}`,
	}
	for _, schema := range []string{
		`{"type":"object","required":["a"]}`, `{"properties":{"a":{"type":"string"}}}`, `{"items":{"type":"number"}}`, `{"contains":{"type":"string"}}`,
		`{"maxItems":5}`, `{"minItems":3}`, `{"additionalProperties":false,"properties":{"a":{},"m":{}}}`, `{"not":{"required":["m"]}}`,
		`{"if":{"required":["b"]},"then":{"properties":{"b":{"type":"object"}}},"else":{"properties":{"a":{"minItems":1}}}}`,
		`{"prefixItems":[{"type":"array"},{"type":"number"}],"items":false}`, `{"unevaluatedProperties":false,"properties":{"a":true}}`,
		`{"dependentRequired":{"m":["a"]}}`, `{"patternProperties":{"^a":{"type":["array","null"]}}}`, `{"propertyNames":{"maxLength":2}}`,
		`{"properties":{"a":{"uniqueItems":true}}}`, `{"const":{"a":1}}`, `false`, `{"oneOf":[{"required":["a"]},{"type":"array"}]}`,
	} {
		s, err := Compile([]byte(schema))
		if err != nil {
			t.Fatal(schema, err)
		}
		for _, value := range values {
			value = strings.ReplaceAll(value, "MANY", many)
			whole, err := decodeExact([]byte(value))
			if err != nil {
				t.Fatal(err)
			}
			left, err := prune([]byte(value), s.parts)
			if err != nil {
				t.Fatal(err)
			}
			pruned, err := decodeExact(left)
			if err != nil {
				t.Fatal(err)
			}
			got, want := s.parts[0].check(pruned, len(value)), s.parts[0].check(whole, len(value))
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s says of %s %v, and %v of the whole %s", schema, left, got, want, value)
			}
		}
	}
}
