package contract

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"pgregory.net/rapid"
)

// counter counts how often the validator applies a schema to a value, to the end.
type counter struct{ visits int }

func (c *counter) Compile(jsonschema.CompilerContext, map[string]any) (jsonschema.ExtSchema, error) {
	return c, nil
}

func (c *counter) Validate(jsonschema.ValidationContext, any) error {
	c.visits++
	return nil
}

// The price is known before the work is done, so it must never be too low: however schema and value are made, the validator does no
// more visits than were paid for.
func TestThePriceCoversTheWork(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(schemaOf(3).Draw(t, "schema"))
		if err != nil {
			t.Fatal(err)
		}
		value := valueOf(4).Draw(t, "value")
		work := &counter{}
		compiled, err := compileWith(work, raw)
		if err != nil {
			t.Skip("does not compile")
		}
		paid := meter{prices: priceList(compiled), left: budgetMost}
		paid.visit(compiled, value, 0)
		if paid.left < 0 {
			t.Skip("not affordable")
		}
		_ = compiled.Validate(value)
		if most := (budgetMost - paid.left) / priceOfVisit; work.visits > most {
			t.Fatalf("%s and %v: %d visits, paid for %d", raw, value, work.visits, most)
		}
	})
}

// broken is a validator with a fault.
type broken struct{}

func (broken) Compile(jsonschema.CompilerContext, map[string]any) (jsonschema.ExtSchema, error) {
	return broken{}, nil
}

func (broken) Validate(jsonschema.ValidationContext, any) error { panic("a fault of the validator") }

func TestAPanicOfTheValidatorIsAViolation(t *testing.T) {
	t.Parallel()
	compiled, err := compileWith(broken{}, []byte(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	s := &Schema{parts: []*part{{compiled: compiled, prices: priceList(compiled)}}}
	refused := s.CheckInput("echo", []byte(`{}`))
	if want := "payload cannot be checked against the schema of echo"; refused == nil || refused.Message != want {
		t.Errorf("refused with %v", refused)
	}
}

func compileWith(extension jsonschema.ExtCompiler, raw []byte) (*jsonschema.Schema, error) {
	compiler := newCompiler()
	compiler.RegisterExtension("test", jsonschema.MustCompileString("test.json", `{}`), extension)
	if err := compiler.AddResource(location, bytes.NewReader(raw)); err != nil {
		return nil, err
	}
	return compiler.Compile(location)
}

var memberNames = rapid.SampledFrom([]string{"a", "b", "c"})

// schemaOf makes schemas that refer to each other and to themselves, with a few keywords of every kind.
func schemaOf(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		schema := make(map[string]any)
		if depth == 3 {
			schema["$defs"] = map[string]any{"d": schemaOf(depth-1).Draw(t, "d"), "e": schemaOf(depth-1).Draw(t, "e")}
		}
		for range rapid.IntRange(1, 3).Draw(t, "keywords") {
			addKeyword(t, schema, depth)
		}
		return schema
	})
}

func addKeyword(t *rapid.T, schema map[string]any, depth int) {
	if depth == 0 {
		schema["type"] = rapid.SampledFrom([]string{"string", "array", "object", "integer"}).Draw(t, "type")
		return
	}
	inner := schemaOf(depth - 1)
	keyword := rapid.SampledFrom([]string{
		"$ref", "not", "if", "then", "else", "items", "contains", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "propertyNames",
		"allOf", "anyOf", "oneOf", "prefixItems", "properties", "patternProperties", "dependentSchemas",
	}).Draw(t, "keyword")
	switch {
	case keyword == "$ref":
		schema[keyword] = rapid.SampledFrom([]string{"#", "#/$defs/d", "#/$defs/e"}).Draw(t, "target")
	case oneSchema[keyword]:
		schema[keyword] = inner.Draw(t, keyword)
	case listOfSchemas[keyword]:
		schema[keyword] = rapid.SliceOfN(inner, 1, 3).Draw(t, keyword)
	default:
		schema[keyword] = rapid.MapOfN(memberNames, inner, 1, 2).Draw(t, keyword)
	}
}

func valueOf(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kind := rapid.IntRange(0, 3).Draw(t, "kind")
		switch {
		case kind == 0 || depth == 0:
			return rapid.SampledFrom([]any{"x", json.Number("1"), true, nil}).Draw(t, "scalar")
		case kind == 1:
			items := rapid.SliceOfN(valueOf(depth-1), 0, 3).Draw(t, "items")
			return items
		}
		return rapid.MapOfN(memberNames, valueOf(depth-1), 0, 3).Draw(t, "members")
	})
}
