package contract

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// priceList prices all schemas of a document.
func priceList(root *jsonschema.Schema) prices {
	list := prices{schemas: make(map[*jsonschema.Schema]price), patterns: make(map[*regexp.Regexp]int)}
	for _, s := range reachable(root) {
		if p := priceOf(s); p != (price{}) {
			list.schemas[s] = p
		}
		if s.Pattern != nil {
			list.patterns[s.Pattern] = sizeOfPattern(s.Pattern)
		}
		for pattern := range s.PatternProperties {
			list.patterns[pattern] = sizeOfPattern(pattern)
		}
	}
	return list
}

func sizeOfPattern(pattern *regexp.Regexp) int {
	size, err := patternSize(pattern.String())
	if err != nil { // the survey has refused those before
		return maxPatternDetail
	}
	return size
}

func priceOf(s *jsonschema.Schema) price {
	p := price{object: (len(s.Properties) + len(s.Required) + len(s.DependentRequired) + len(s.DependentSchemas)) / 4}
	for _, constant := range slices.Concat(s.Enum, s.Constant) {
		p.any++
		switch v := constant.(type) {
		case json.Number:
			p.numbers++
			p.number += priceOfNumber(v)
		case map[string]any, []any:
			p.composite += sizeOf(v)
		}
	}
	p.any /= 4
	if s.MultipleOf != nil {
		p.number += 300
	}
	return p
}

// sizeOf prices a comparison with value.
func sizeOf(value any) int {
	size := 1
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			size += sizeOf(inner)
		}
	case []any:
		for _, inner := range v {
			size += sizeOf(inner)
		}
	case json.Number:
		size += 64 + priceOfNumber(v)
	}
	return size
}
