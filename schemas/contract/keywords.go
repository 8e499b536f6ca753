package contract

// The keywords of all drafts together, by what they hold. A document is read by all of them, whatever its own draft: that is
// stricter, and leaves no corner unseen.
var (
	oneSchema = set("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
		"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties")
	listOfSchemas  = set("allOf", "anyOf", "items", "oneOf", "prefixItems")
	namedSchemas   = set("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")
	storedSchemas  = set("$defs", "definitions") // asserted only where something refers to them
	anchorKeywords = set("$anchor", "$dynamicAnchor")
	countKeywords  = set("maxContains", "maxItems", "maxLength", "maxProperties",
		"minContains", "minItems", "minLength", "minProperties")

	referenceKeywords = set("$dynamicRef", "$recursiveRef", "$ref")

	otherAssertions = set("const", "dependentRequired", "enum", "exclusiveMaximum", "exclusiveMinimum", "format", "maximum",
		"minimum", "multipleOf", "pattern", "required", "type", "uniqueItems")
	annotations = set("$comment", "$id", "$recursiveAnchor", "$schema", "$vocabulary", "contentEncoding", "contentMediaType",
		"contentSchema", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly")
)

// assertions are the keywords that can refuse a value; keywords are all.
var (
	assertions = without(union(oneSchema, listOfSchemas, namedSchemas, countKeywords, referenceKeywords, otherAssertions),
		union(storedSchemas, annotations))
	keywords = union(assertions, storedSchemas, anchorKeywords, annotations)
)

// drafts are the names of the standard drafts, without scheme and fragment.
var drafts = set("json-schema.org/schema", "json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema",
	"json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-04/schema")

var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

func set(names ...string) map[string]bool {
	s := make(map[string]bool, len(names))
	for _, name := range names {
		s[name] = true
	}
	return s
}

func union(sets ...map[string]bool) map[string]bool {
	all := make(map[string]bool)
	for _, s := range sets {
		for name := range s {
			all[name] = true
		}
	}
	return all
}

func without(s, less map[string]bool) map[string]bool {
	rest := make(map[string]bool)
	for name := range s {
		if !less[name] {
			rest[name] = true
		}
	}
	return rest
}
