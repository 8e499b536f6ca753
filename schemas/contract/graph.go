package contract

import (
	"iter"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/agentreach/agent-reach/schemas"
)

// inPlace yields the schemas that apply to the same value as s does. There is one document and every anchor is unique, so a dynamic
// reference goes where it says.
func inPlace(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		_ = yieldEach(yield, s.Ref, s.RecursiveRef, s.DynamicRef, s.Not, s.If, s.Then, s.Else) &&
			yieldEach(yield, s.AllOf...) && yieldEach(yield, s.AnyOf...) && yieldEach(yield, s.OneOf...) &&
			yieldNamed(yield, s.DependentSchemas) && yieldNamed(yield, s.Dependencies)
	}
}

// below yields the schemas that apply to members and items of the value that s applies to.
func below(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		_ = yieldEach(yield, s.PropertyNames, s.UnevaluatedProperties, s.Items2020, s.Contains, s.UnevaluatedItems) &&
			yieldAny(yield, s.AdditionalProperties) && yieldAny(yield, s.Items) && yieldAny(yield, s.AdditionalItems) &&
			yieldEach(yield, s.PrefixItems...) && yieldNamed(yield, s.Properties) && yieldNamed(yield, s.PatternProperties)
	}
}

func yieldEach(yield func(*jsonschema.Schema) bool, several ...*jsonschema.Schema) bool {
	for _, s := range several {
		if s != nil && !yield(s) {
			return false
		}
	}
	return true
}

func yieldNamed[K comparable, V any](yield func(*jsonschema.Schema) bool, named map[K]V) bool {
	for _, value := range named {
		if !yieldAny(yield, value) {
			return false
		}
	}
	return true
}

// yieldAny takes what the validator keeps where a keyword may hold a schema, a list of them, or something else.
func yieldAny(yield func(*jsonschema.Schema) bool, value any) bool {
	switch v := value.(type) {
	case *jsonschema.Schema:
		return yieldEach(yield, v)
	case []*jsonschema.Schema:
		return yieldEach(yield, v...)
	}
	return true
}

// checkExpansion refuses a schema that applies itself to one value again and again: a short chain of definitions, each naming the
// next one twice, doubles with every link.
func checkExpansion(root *jsonschema.Schema) error {
	known := make(map[*jsonschema.Schema]expansion)
	for _, s := range reachable(root) {
		e := expansionOf(s, known)
		if e.count > MaxExpansion {
			return refuse(placeOf(s), "the schema applies more than %d schemas to one value", MaxExpansion)
		}
		if e.depth > schemas.MaxDepth {
			return refuse(placeOf(s), "the schema leads through more than %d others for one value", schemas.MaxDepth)
		}
	}
	return nil
}

// expansion is how many schemas apply to one value, and through how many of them the longest way leads.
type expansion struct{ count, depth int }

func expansionOf(s *jsonschema.Schema, known map[*jsonschema.Schema]expansion) expansion {
	if e, done := known[s]; done {
		return e
	}
	known[s] = expansion{MaxExpansion + 1, 0} // a loop; the validator has refused those before
	all := expansion{count: 1}
	for inner := range inPlace(s) {
		e := expansionOf(inner, known)
		all = expansion{min(all.count+e.count, MaxExpansion+1), max(all.depth, e.depth+1)}
	}
	known[s] = all
	return all
}

// reachable lists all schemas that root leads to, the deepest definitions first.
func reachable(root *jsonschema.Schema) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	seen := make(map[*jsonschema.Schema]bool)
	var visit func(s *jsonschema.Schema)
	visit = func(s *jsonschema.Schema) {
		if seen[s] {
			return
		}
		seen[s] = true
		for inner := range inPlace(s) {
			visit(inner)
		}
		for inner := range below(s) {
			visit(inner)
		}
		all = append(all, s)
	}
	visit(root)
	return all
}

func placeOf(s *jsonschema.Schema) string {
	_, fragment, _ := strings.Cut(s.Location, "#")
	return plainPointer(fragment)
}
