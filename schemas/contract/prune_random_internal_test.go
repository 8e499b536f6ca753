package contract

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// anyone makes schemas and values of all kinds, the same for the same seed.
type anyone struct {
	*rand.Rand
	typed bool // schemas say of which types values are
	old   bool // they are of an older draft
}

func (a anyone) schema(depth int) any {
	if depth == 0 || a.IntN(8) == 0 {
		return a.IntN(6) > 0
	}
	schema := make(map[string]any)
	for range 1 + a.IntN(4) {
		a.keyword(schema, depth-1)
	}
	return schema
}

func (a anyone) keyword(to map[string]any, depth int) {
	one := func() any { return a.schema(depth) }
	some := func() any { return []any{one(), one()} }
	named := func() any { return map[string]any{a.name(): one(), a.name(): one()} }
	keywords := []func(){
		func() { to["properties"] = named() },
		func() { to["additionalProperties"] = one() },
		func() { to["patternProperties"] = map[string]any{"^" + a.name(): one()} },
		func() { to["propertyNames"] = map[string]any{"enum": []any{a.name(), a.name(), a.name()}} },
		func() { to["required"] = []any{a.name()} },
		func() { to["maxProperties"] = a.IntN(4) },
		func() { to["items"] = one() },
		func() { to["contains"] = one() },
		func() { to["minItems"] = a.IntN(3) },
		func() { to["maxItems"] = a.IntN(4) },
		func() { to["uniqueItems"] = true },
		func() { to["enum"] = []any{a.value(0), a.constant()} },
		func() { to["const"] = a.constant() },
		func() { to["allOf"] = some() },
		func() { to["anyOf"] = some() },
		func() { to["oneOf"] = some() },
		func() { to["not"] = one() },
		func() { to["if"], to["then"], to["else"] = one(), one(), one() },
		func() { to["minimum"] = a.IntN(3) },
		func() { to["$ref"] = "#/$defs/" + string(rune('x'+a.IntN(2))) },
	}
	if a.typed {
		kinds := []any{"object", "array", "number", "string", "null", "boolean"}
		keywords = append(keywords, func() { to["type"] = kinds[a.IntN(len(kinds))] })
	}
	if a.old {
		keywords = append(keywords,
			func() { to["items"], to["additionalItems"] = some(), one() },
			func() { to["dependencies"] = map[string]any{a.name(): one(), "d": []any{a.name()}} })
	} else {
		keywords = append(keywords,
			func() { to["prefixItems"] = some() },
			func() { to["unevaluatedItems"] = one() },
			func() { to["unevaluatedProperties"] = one() },
			func() { to["dependentSchemas"] = named() },
			func() { to["dependentRequired"] = map[string]any{a.name(): []any{a.name()}} },
			func() { to["contains"], to["minContains"] = one(), a.IntN(3) })
	}
	keywords[a.IntN(len(keywords))]()
}

// constant is a scalar where costs are looked at: what a list or an object is compared with costs what is in it.
func (a anyone) constant() any {
	if a.typed {
		return a.value(2)
	}
	return a.value(0)
}

func (a anyone) name() string { return string(rune('a' + a.IntN(3))) }

func (a anyone) value(depth int) any {
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch a.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return a.IntN(2) == 0
	case 2, 3:
		return a.IntN(4)
	case 4:
		return a.name()
	case 5:
		list := make([]any, a.IntN(5))
		for i := range list {
			list[i] = a.value(depth - 1)
		}
		return list
	}
	object := make(map[string]any)
	for range a.IntN(4) {
		object[a.name()] = a.value(depth - 1)
	}
	return object
}

// document is a schema with definitions that lead nowhere else; nil if it is none that compiles.
func (a anyone) document() (text string, compiled *Schema) {
	schema, _ := a.schema(4).(map[string]any)
	if schema == nil {
		return "", nil
	}
	schema["$defs"] = map[string]any{"x": map[string]any{"properties": map[string]any{"a": true}}, "y": map[string]any{"items": a.IntN(2) == 0}}
	if a.old {
		schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	}
	raw, _ := json.Marshal(schema)
	compiled, err := Compile(raw)
	if err != nil || len(compiled.parts) == 0 {
		return "", nil
	}
	return string(raw), compiled
}

// TestAnyValueFitsPrunedAsItDoesWhole holds what is said of values against what is said of what is left of them, and what the pruning costs
// against what the check does.
func TestAnyValueFitsPrunedAsItDoesWhole(t *testing.T) {
	t.Parallel()
	fits, all := 0, 0
	for seed := range uint64(600) {
		a := anyone{rand.New(rand.NewPCG(seed, 1)), seed%2 == 0, seed%4 > 1}
		text, s := a.document()
		if s == nil {
			continue
		}
		for range 8 {
			value, _ := json.Marshal(a.value(4))
			whole, _ := decodeExact(value)
			p := newPruning(value, s.parts)
			if err := p.whole(s.parts); err != nil {
				t.Fatalf("%s is not pruned for %s: %v", value, text, err)
			}
			pruned, err := decodeExact(p.out)
			if err != nil {
				t.Fatalf("%s is pruned to %s for %s: %v", value, p.out, text, err)
			}
			got, want := s.parts[0].check(pruned, len(value)), s.parts[0].check(whole, len(value))
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s\nsays of %s %v, and of the whole %s %v", text, p.out, got, value, want)
			}
			m := meter{prices: s.parts[0].prices, left: math.MaxInt}
			m.visit(s.parts[0].compiled, whole, 0)
			if spent, most := budget(len(value))-p.left, math.MaxInt-m.left; !a.typed && spent > most {
				t.Errorf("%s\nlooks at %s for %d, and is pruned for %d", text, value, most, spent)
			}
			if all++; want == nil {
				fits++
			}
		}
	}
	if fits < all/10 || fits > all*9/10 {
		t.Errorf("of %d values %d fit: that tells little", all, fits)
	}
}
