package contract

import (
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// reason is one thing that the validator found, looked up in schema and value.
type reason struct {
	keyword  string
	argument any            // what the keyword holds in the schema
	schema   map[string]any // the schema that the keyword stands in
	document any            // the whole of it
	names    []string       // the way to the value that was refused
	value    any            // that value
}

func (p *part) reason(found *jsonschema.ValidationError, value any) *reason {
	place := placeInSchema(found)
	r := &reason{keyword: keywordOf(found), names: namesOf(found.InstanceLocation), document: p.document}
	r.argument, _ = lookup(p.document, place)
	r.value, _ = lookup(value, r.names)
	if n := len(place); n >= 3 && pairKeywords[place[n-3]] {
		r.keyword, r.argument = "dependentRequired", pair{place[n-2], asText(r.argument)}
	} else if n > 0 {
		schema, _ := lookup(p.document, place[:n-1])
		r.schema = asObject(schema)
	}
	return r
}

// pairKeywords hold lists by name; the place of such a reason names an entry of a list.
var pairKeywords = set("dependencies", "dependentRequired")

// pair is a member that is there, and one that it needs.
type pair struct{ present, missing string }

// word says what is wrong in our own words.
func (p *part) word(found *jsonschema.ValidationError, value any) *Violation {
	r := p.reason(found, value)
	if r.keyword != "minContains" && len(found.Causes) > 0 {
		return p.wordChoice(found.Causes, r, value)
	}
	v := r.word()
	v.Keyword = r.keyword
	if v.names == nil {
		v.names = r.names
	}
	if underPropertyNames(found.KeywordLocation) && len(v.names) > 0 {
		v.names, v.ofName = v.names[:len(v.names)-1], true
	}
	return p.placed(v, value)
}

// placed fills in Field, as far as its names may be said: those of the schema, and plain identifiers.
func (p *part) placed(v *Violation, value any) *Violation {
	for i, name := range v.names {
		if _, list := value.([]any); !list && !p.known[name] && !isIdentifier(name) {
			v.names, v.others, v.within = v.names[:i], nil, true
			break
		}
		value, _ = member(value, name)
	}
	v.Field = pointerOf(v.names)
	return v
}

// What a member name that the schema does not mention may have, if a message is to say it.
const (
	maxNameBytes  = 64
	maxNameDigits = 5
)

// isIdentifier reports whether a member name that the schema does not mention looks like a name, not like data.
func isIdentifier(name string) bool {
	if name == "" || len(name) > maxNameBytes || strings.ContainsRune("-0123456789", rune(name[0])) {
		return false
	}
	digits := 0
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == '-':
		case '0' <= c && c <= '9':
			digits++
		default:
			return false
		}
	}
	return digits <= maxNameDigits
}

// underPropertyNames reports whether a path of keywords leads through propertyNames, and not through a member of that name.
func underPropertyNames(path string) bool {
	tokens := strings.Split(path, "/")
	for i, token := range tokens {
		if token == "propertyNames" && (i == 0 || !namedSchemas[tokens[i-1]]) {
			return true
		}
	}
	return false
}

// firstMissing is the first required member that the value lacks.
func (r *reason) firstMissing() string {
	object := asObject(r.value)
	required, _ := r.argument.([]any)
	for _, name := range required {
		if _, found := object[asText(name)]; !found {
			return asText(name)
		}
	}
	return ""
}

// firstUnwanted is the first member by name that neither properties nor patternProperties list.
func (r *reason) firstUnwanted() string {
	listed := asObject(r.schema["properties"])
	patterns := asObject(r.schema["patternProperties"])
	var unwanted []string
	for name := range asObject(r.value) {
		if _, found := listed[name]; !found && !matchesAny(patterns, name) {
			unwanted = append(unwanted, name)
		}
	}
	if len(unwanted) == 0 {
		return ""
	}
	return slices.Min(unwanted)
}

func matchesAny(patterns map[string]any, name string) bool {
	for pattern := range patterns {
		if matched, err := regexp.MatchString(pattern, name); err == nil && matched {
			return true
		}
	}
	return false
}

// typeOfMember is what the schema says of a member's type; "a value" if it says nothing.
func (r *reason) typeOfMember(name string) string {
	holders := []map[string]any{r.schema}
	if len(r.names) == 0 {
		holders = append(holders, asObject(r.document))
	}
	for _, holder := range holders {
		inner, found := asObject(holder["properties"])[name]
		if types := typesOf(r.document, inner); found && len(types) > 0 {
			return orList(types)
		}
	}
	return "a value"
}

// typesOf reads type, following a few references.
func typesOf(document, schema any) []string {
	const maxReferences = 4
	for range maxReferences {
		object := asObject(schema)
		if types := typeList(object["type"]); len(types) > 0 {
			return types
		}
		target, found := strings.CutPrefix(asText(object["$ref"]), "#")
		if !found {
			return nil
		}
		schema, _ = lookup(document, namesOf(target))
	}
	return nil
}

// typeList is what the keyword type holds, one name or several.
func typeList(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		names := make([]string, len(v))
		for i, name := range v {
			names[i] = asText(name)
		}
		return names
	}
	return nil
}

// orList is "a, b or c".
func orList(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func asText(value any) string {
	text, _ := value.(string)
	return text
}

// asObject is the value as an object, nil if it is none.
func asObject(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}
