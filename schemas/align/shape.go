package align

import (
	"slices"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// shape is one schema within its document.
type shape struct{ root, node any }

// maxSteps bounds how many references one schema may hide behind.
const maxSteps = 32

// meant is the schema that describes the value: references followed, a choice with null or a list of one looked through.
func (s shape) meant() shape {
	for range maxSteps {
		inner, found := s.inner()
		if !found {
			break
		}
		s.node = inner
	}
	return s
}

func (s shape) inner() (any, bool) {
	object := s.object()
	if ref, ok := object["$ref"].(string); ok {
		return s.lookUp(ref)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		forms, _ := object[keyword].([]any)
		forms = slices.DeleteFunc(slices.Clone(forms), isNull)
		if len(forms) == 1 {
			return forms[0], true
		}
	}
	return nil, false
}

func isNull(form any) bool {
	object, _ := form.(map[string]any)
	return object["type"] == "null"
}

func (s shape) object() map[string]any {
	object, _ := s.node.(map[string]any)
	return object
}

// lookUp follows a reference within the document. Anchors are not looked for.
func (s shape) lookUp(ref string) (any, bool) {
	pointer, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil, false
	}
	at := s.root
	for step := range strings.SplitSeq(pointer, "/") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = object[unescape(step)]; !ok {
			return nil, false
		}
	}
	return at, true
}

func (s shape) at(node any) shape { return shape{root: s.root, node: node}.meant() }

// members are the members that the schema of an object names.
func (s shape) members() map[string]shape {
	properties, _ := s.object()["properties"].(map[string]any)
	all := make(map[string]shape, len(properties))
	for name, node := range properties {
		all[name] = s.at(node)
	}
	return all
}

// elements is the schema of each element of a list.
func (s shape) elements() (shape, bool) {
	items, found := s.object()["items"].(map[string]any)
	return s.at(items), found
}

// constants are the texts that the value may be, where the schema lists them.
func (s shape) constants() []string {
	listed, _ := s.object()["enum"].([]any)
	if one, found := s.object()["const"]; found {
		listed = []any{one}
	}
	var texts []string
	for _, value := range listed {
		if text, ok := value.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// typed reports whether a value of the schema may be of this type, and says so.
func (s shape) typed(name string) bool {
	switch t := s.object()["type"].(type) {
	case string:
		return t == name
	case []any:
		return slices.Contains(t, any(name))
	}
	return false
}

// epochs are the formats by which schemas tell what unit a number counts in.
var epochs = map[string]schemas.TimeForm{
	"epoch": schemas.TimeSeconds, "epoch-seconds": schemas.TimeSeconds, "unix-time": schemas.TimeSeconds,
	"unixtime": schemas.TimeSeconds, "unix-timestamp": schemas.TimeSeconds,
	"epoch-ms": schemas.TimeMillis, "epoch-millis": schemas.TimeMillis, "epoch-milliseconds": schemas.TimeMillis,
	"unix-time-ms": schemas.TimeMillis, "unix-millis": schemas.TimeMillis,
}

// millis are how the names of members end that count milliseconds.
var millis = []string{"_ms", "Ms", "_millis", "Millis", "_milliseconds", "Milliseconds"}

// form is how the schema says that an instant is given; a number is one only where the other side says that it is.
func (s shape) form(name string) schemas.TimeForm {
	format, _ := s.object()["format"].(string)
	whole := s.typed("integer")
	switch {
	case s.typed("string") && format == "date-time":
		return schemas.TimeText
	case !whole && !s.typed("number"):
		return ""
	case epochs[format] == schemas.TimeMillis, slices.ContainsFunc(millis, func(end string) bool { return strings.HasSuffix(name, end) }):
		return schemas.TimeMillis
	case whole:
		return schemas.TimeSeconds
	}
	return schemas.TimeFraction
}

// forms are the two forms of one instant; empty where it has one form, or is none.
func forms(place string, capability, agent shape) (from, to schemas.TimeForm) {
	name := place[strings.LastIndex(place, "/")+1:]
	from, to = capability.form(name), agent.form(name)
	if from == "" || to == "" || (from == schemas.TimeText) == (to == schemas.TimeText) {
		return "", ""
	}
	return from, to
}
