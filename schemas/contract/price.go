package contract

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Prices are in units of about 100 ns, the cost of the dearest outcome: a violation that is built and thrown away.
const (
	priceOfVisit  = 10         // one schema applied to one value
	budgetBase    = 300_000    // what every check may cost
	budgetPerByte = 8          // what each byte of the value adds
	budgetMost    = 10_000_000 // about a second
)

// prices is what a document's schemas cost beyond the visit itself.
type prices struct {
	schemas  map[*jsonschema.Schema]price
	patterns map[*regexp.Regexp]int // instructions
}

// price is what one schema adds for values of a kind.
type price struct {
	any       int
	number    int // and for each of numbers, reading the value once more
	numbers   int
	composite int
	object    int
}

// affordable walks schema and value as the validator will, without checking anything, and reports whether the work stays in
// proportion to the value. Where the validator could stop earlier, the walk does not; where it is about to multiply, the walk
// runs out of budget first.
func (p prices) affordable(s *jsonschema.Schema, value any, size int) bool {
	m := meter{prices: p, left: budget(size)}
	m.visit(s, value, 0)
	return m.left >= 0
}

// budget is what a check of a value of so many bytes may cost.
func budget(size int) int { return min(budgetBase+budgetPerByte*size, budgetMost) }

type meter struct {
	prices
	left int
}

// visit pays for one schema applied to one value and all that follows from it. Way is the number of schemas passed to get here; the
// text of a violation names each of them.
func (m *meter) visit(s *jsonschema.Schema, value any, way int) {
	if s == nil || m.left < 0 {
		return
	}
	own := m.schemas[s]
	m.left -= priceOfVisit + way*way/16 + own.any
	if s.Always != nil || !mayHaveType(s.Types, value) {
		return
	}
	way++
	switch v := value.(type) {
	case map[string]any:
		m.left -= own.composite + own.object + len(v)
		m.members(s, v, way)
	case []any:
		m.left -= own.composite + len(v)
		m.items(s, v, way)
	case string:
		m.left -= len(v)/16 + m.matching(s.Pattern, v)
	case json.Number:
		m.left -= own.number + (1+own.numbers)*priceOfNumber(v)
	}
	m.inPlace(s, value, way)
}

// inPlace pays for the schemas that apply to the same value.
func (m *meter) inPlace(s *jsonschema.Schema, value any, way int) {
	for inner := range inPlace(s) {
		m.visit(inner, value, way)
	}
}

func (m *meter) members(s *jsonschema.Schema, object map[string]any, way int) {
	for name, value := range object {
		if m.left < 0 {
			return
		}
		inner, listed := s.Properties[name]
		m.visit(inner, value, way)
		m.visit(s.PropertyNames, name, way)
		for pattern, inner := range s.PatternProperties {
			m.left -= m.matching(pattern, name)
			m.visit(inner, value, way)
		}
		if rest, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && !listed {
			m.visit(rest, value, way)
		}
		m.visit(s.UnevaluatedProperties, value, way)
	}
}

func (m *meter) items(s *jsonschema.Schema, items []any, way int) {
	if s.UniqueItems {
		m.compareAll(items)
	}
	for i, item := range items {
		if m.left < 0 {
			return
		}
		m.visit(itemSchema(s, i), item, way)
		m.visit(s.Contains, item, way)
		m.visit(s.UnevaluatedItems, item, way)
	}
}

// itemSchema is the schema of the item at i, by the keywords of any draft.
func itemSchema(s *jsonschema.Schema, i int) *jsonschema.Schema {
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		return items
	case []*jsonschema.Schema:
		if i < len(items) {
			return items[i]
		}
		rest, _ := s.AdditionalItems.(*jsonschema.Schema)
		return rest
	}
	if i < len(s.PrefixItems) {
		return s.PrefixItems[i]
	}
	return s.Items2020
}

// compareAll pays for uniqueItems: up to 20 items are compared each with each, more are hashed.
func (m *meter) compareAll(items []any) {
	times := 2
	if len(items) <= 20 {
		times = len(items)
	}
	m.compare(items, times)
}

func (m *meter) compare(value any, times int) {
	m.left -= times
	if m.left < 0 {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			m.compare(inner, times)
		}
	case []any:
		for _, inner := range v {
			m.compare(inner, times)
		}
	case string:
		m.left -= times * len(v) / 64
	case json.Number:
		m.left -= times * priceOfNumber(v)
	}
}

func (m *meter) matching(pattern *regexp.Regexp, text string) int {
	if pattern == nil {
		return 0
	}
	return 1 + len(text)*m.patterns[pattern]/16
}

// priceOfNumber is that of reading a literal exactly: a large exponent makes a large fraction.
func priceOfNumber(literal json.Number) int {
	price := 2 + len(literal)/8
	if strings.ContainsAny(string(literal), "eE") {
		price += 60
	}
	return price
}

func mayHaveType(types []string, value any) bool {
	if len(types) == 0 {
		return true
	}
	is := typeOf(value)
	for _, t := range types {
		if t == is || t == "integer" && is == "number" {
			return true
		}
	}
	return false
}

func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}
