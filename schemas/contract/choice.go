package contract

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// branch is one form of a choice: why it does not fit, first and all of it.
type branch struct {
	first *reason
	found *jsonschema.ValidationError // of first
	all   []*reason
}

// maxReasons bounds how many reasons of one form are looked up.
const maxReasons = 100

// wordChoice explains why none of several forms fits. Where the value plainly means one of them, that one's reason is the answer.
func (p *part) wordChoice(causes []*jsonschema.ValidationError, choice *reason, value any) *Violation {
	branches := make([]branch, len(causes))
	for i, cause := range causes {
		branches[i] = p.branch(cause, value)
	}
	v := oneMember(branches, choice)
	if v == nil {
		v = oneType(branches, choice)
	}
	if v == nil {
		if meant := onlyMeant(branches, choice); meant != nil {
			return p.word(meant, value)
		}
		v = &Violation{Message: "fits none of the forms accepted", by: "by", names: choice.names}
	}
	v.Keyword = choice.keyword
	return p.placed(v, value)
}

func (p *part) branch(cause *jsonschema.ValidationError, value any) branch {
	b := branch{found: worst(cause)}
	b.first = p.reason(b.found, value)
	eachReason(cause, func(found *jsonschema.ValidationError) {
		if len(b.all) < maxReasons {
			b.all = append(b.all, p.reason(found, value))
		}
	})
	return b
}

// oneMember is for choices between members, one of which must be there; nil for others.
func oneMember(branches []branch, choice *reason) *Violation {
	names := make([]string, len(branches))
	for i, b := range branches {
		if len(b.all) > 1 || b.first.keyword != "required" || !slices.Equal(b.first.names, choice.names) {
			return nil
		}
		names[i] = b.first.firstMissing()
	}
	return &Violation{
		Message: "is required", by: "by", Expected: orList(names),
		names: append(slices.Clone(choice.names), names[0]), others: names[1:],
	}
}

// oneType is for choices between types; nil for others.
func oneType(branches []branch, choice *reason) *Violation {
	var types []string
	for _, b := range branches {
		if !b.first.wrongType(choice) {
			return nil
		}
		types = append(types, typeList(b.first.argument)...)
	}
	slices.Sort(types)
	v := mustHaveType(slices.Compact(types))
	v.names = choice.names
	return v
}

// onlyMeant is the reason of the only branch that the value's type, or a constant in it, does not rule out; nil if there are more.
func onlyMeant(branches []branch, choice *reason) *jsonschema.ValidationError {
	var meant *jsonschema.ValidationError
	for _, b := range branches {
		if slices.ContainsFunc(b.all, func(r *reason) bool { return r.wrongType(choice) || r.wrongMark(choice) }) {
			continue
		}
		if meant != nil {
			return nil
		}
		meant = b.found
	}
	return meant
}

// wrongType reports whether the value chosen for has another type altogether.
func (r *reason) wrongType(choice *reason) bool {
	return r.keyword == "type" && len(r.names) == len(choice.names)
}

// wrongMark reports whether the value, or one of its members, is not the constant that marks a form.
func (r *reason) wrongMark(choice *reason) bool {
	return (r.keyword == "const" || r.keyword == "enum") && len(r.names) <= len(choice.names)+1
}
