package contract

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/agentreach/agent-reach/schemas"
)

// Violation is why a value does not fit: of all reasons, the one nearest to the root and first by name.
type Violation struct {
	Field    string // JSON pointer in the value; it ends before a member name that may itself say too much
	Keyword  string // of JSON Schema; empty where the value could not be checked at all
	Expected string // what would be accepted, in short
	Message  string // to be read after the name of the field: "must be an integer"

	names  []string // of Field
	others []string // members that would do as well as the last of names
	within bool     // the field is some member of Field
	ofName bool     // it is the name of that member which is wrong
	by     string   // what joins Message and the name of the capability, if it belongs there
}

// sentence says what is wrong with the root ("payload") of a task of the capability.
func (v *Violation) sentence(root, capability string) string {
	text := v.subject(root) + " " + v.Message
	if v.by != "" {
		text += " " + v.by + " " + capability
	}
	return text
}

func (v *Violation) subject(root string) string {
	field := dotted(root, v.names)
	for _, other := range v.others {
		field += " or " + dotted(root, append(slices.Clone(v.names[:len(v.names)-1]), other))
	}
	switch {
	case v.ofName:
		return "the name of a member of " + field
	case v.within:
		return "a member of " + field
	}
	return field
}

func (v *Violation) refusal(code schemas.Code, reason, message string) *schemas.Error {
	refusal := schemas.NewError(code, reason, "%s", message).With("field", v.Field)
	if v.Expected != "" {
		refusal = refusal.With("expected", v.Expected)
	}
	return refusal
}

// dotted is the way to a field as a person writes it: payload.items[3].name.
func dotted(root string, names []string) string {
	var b strings.Builder
	b.WriteString(root)
	for _, name := range names {
		switch {
		case isIndex(name):
			b.WriteString("[" + name + "]")
		case isIdentifier(name):
			b.WriteString("." + name)
		default:
			fmt.Fprintf(&b, "[%q]", name)
		}
	}
	return b.String()
}

func isIndex(name string) bool {
	_, err := strconv.ParseUint(name, 10, 32)
	return err == nil
}

// unreadable is for a value that is not JSON within our limits. Its field ends where a name may say too much, as always.
func unreadable(err *schemas.Error) *Violation {
	var field string
	err.Detail("field", &field)
	names := strings.Split(field, "/")
	for i, name := range names[1:] {
		if shortIndex := isIndex(name) && len(name) <= maxNameDigits; !shortIndex && !isIdentifier(name) {
			names = names[:i+1]
			break
		}
	}
	return &Violation{Field: strings.Join(names, "/"), Message: "is not acceptable JSON: " + err.Message, Expected: "JSON"}
}

// explain chooses among all that the validator found, and words it.
func (p *part) explain(err error, value any) *Violation {
	var found *jsonschema.ValidationError
	if !errors.As(err, &found) {
		return uncheckable()
	}
	return p.word(worst(found), value)
}

// unaffordable is for values of which a check would cost too much.
func unaffordable() *Violation {
	return &Violation{Message: "is too large or too deeply nested to be checked", by: "against the schema of"}
}

// uncheckable is for values on which the validator itself gave up.
func uncheckable() *Violation {
	return &Violation{Message: "cannot be checked", by: "against the schema of"}
}

// worst is the reason nearest to the root of the value, the first by place and keyword among several: the validator goes through
// members in no order.
func worst(found *jsonschema.ValidationError) *jsonschema.ValidationError {
	var first *jsonschema.ValidationError
	eachReason(found, func(reason *jsonschema.ValidationError) {
		if first == nil || compareReasons(reason, first) < 0 {
			first = reason
		}
	})
	return first
}

func compareReasons(a, b *jsonschema.ValidationError) int {
	return cmp.Or(
		cmp.Compare(strings.Count(a.InstanceLocation, "/"), strings.Count(b.InstanceLocation, "/")),
		cmp.Compare(a.InstanceLocation, b.InstanceLocation),
		cmp.Compare(a.AbsoluteKeywordLocation, b.AbsoluteKeywordLocation),
	)
}

// eachReason goes through what was found down to what stands alone.
func eachReason(found *jsonschema.ValidationError, do func(*jsonschema.ValidationError)) {
	if standsAlone(found) {
		do(found)
		return
	}
	for _, cause := range found.Causes {
		eachReason(cause, do)
	}
}

// standsAlone reports whether found is a reason by itself: a choice of which nothing fits is one, whatever failed within.
func standsAlone(found *jsonschema.ValidationError) bool {
	return len(found.Causes) == 0 || found.Message != "" && choices[keywordOf(found)]
}

var choices = set("anyOf", "oneOf", "minContains")

// keywordOf is the keyword that refused; empty for a schema false, which has none.
func keywordOf(found *jsonschema.ValidationError) string {
	place := placeInSchema(found)
	if len(place) == 0 {
		return ""
	}
	return place[len(place)-1]
}

func placeInSchema(found *jsonschema.ValidationError) []string {
	_, fragment, _ := strings.Cut(found.AbsoluteKeywordLocation, "#")
	return namesOf(fragment)
}
