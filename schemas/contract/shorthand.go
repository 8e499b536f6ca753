package contract

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/agentreach/agent-reach/schemas/nearest"
)

// expand turns shorthand into the schema that it stands for and refuses what is neither: a misspelt keyword must not become a
// schema that accepts everything.
func expand(document any) (any, error) {
	object, ok := document.(map[string]any)
	if !ok || len(object) == 0 {
		return document, nil
	}
	if hasAny(object, keywords) {
		return document, cmp.Or(checkUnmixed("", object), checkAsserts(object))
	}
	if err := checkShorthand(object); err != nil {
		return nil, err
	}
	return expandMembers(object), nil
}

func expandMembers(object map[string]any) any {
	properties := make(map[string]any, len(object))
	required := make([]any, 0, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		kind, optional := strings.CutSuffix(object[name].(string), "?")
		properties[name] = map[string]any{"type": kind}
		if !optional {
			required = append(required, name)
		}
	}
	expanded := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		expanded["required"] = required
	}
	return expanded
}

func checkAsserts(object map[string]any) error {
	if hasAny(object, assertions) {
		return nil
	}
	return refuse("", "the schema accepts everything; write {} or true if that is meant, "+
		"and properties if these are names of members")
}

// checkUnmixed refuses types by name beside keywords: such a member would be ignored without a word.
func checkUnmixed(at string, object map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !keywords[name] && isType(object[name]) && !strings.HasPrefix(name, "x-") {
			return refuse(pointerTo(at, name), "%s", "a schema is either shorthand or JSON Schema, not both; "+
				"move this member into properties"+suggestKeyword(name))
		}
	}
	return nil
}

func checkShorthand(object map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !isType(object[name]) {
			return refuse(pointerTo("", name), "%s", notShorthand(name, object[name]))
		}
	}
	if name := soleName(object); name != "" && nearest.Edits(strings.ToLower(name), "type") <= 1 {
		return refuse(pointerTo("", name), "this is no keyword of JSON Schema; did you mean type? "+
			"If it is the name of a member, put it into properties")
	}
	return nil
}

func notShorthand(name string, value any) string {
	message := "this is neither a keyword of JSON Schema nor shorthand" + suggestKeyword(name)
	text, ok := value.(string)
	if !ok {
		return message + "; shorthand goes from names to types"
	}
	if near, found := nearest.Name(strings.TrimSuffix(text, "?"), typeNames); found {
		return message + " (did you mean the type " + near + "?)"
	}
	return message + "; the types are " + strings.Join(typeNames, ", ")
}

func suggestKeyword(name string) string {
	if near, found := nearest.Name(name, keywordNames); found {
		return " (did you mean " + near + "?)"
	}
	return ""
}

var keywordNames = slices.Sorted(maps.Keys(keywords))

func soleName(object map[string]any) string {
	if len(object) != 1 {
		return ""
	}
	for name := range object {
		return name
	}
	return ""
}

func isType(value any) bool {
	text, ok := value.(string)
	return ok && slices.Contains(typeNames, strings.TrimSuffix(text, "?"))
}

func hasAny(object map[string]any, names map[string]bool) bool {
	for name := range object {
		if names[name] {
			return true
		}
	}
	return false
}
