package contract

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// wordChoice explains why none of several forms fits. Where the value plainly means one of them, that one's reason is the answer.
func (p *part) wordChoice(branches []*jsonschema.ValidationError, choice *reason, value any) *Violation {
	reasons := make([]*reason, len(branches))
	for i, branch := range branches {
		reasons[i] = p.reason(worst(branch), value)
	}
	v := wordAlternatives(reasons, choice)
	if v == nil {
		if meant := meantBranch(branches, reasons, choice); meant != nil {
			return p.word(worst(meant), value)
		}
		v = &Violation{Message: "fits none of the forms accepted", by: "by"}
	}
	v.Keyword = choice.keyword
	if v.names == nil {
		v.names = choice.names
	}
	return p.placed(v, value)
}

// wordAlternatives is for choices between members to give, or between types; nil for others.
func wordAlternatives(reasons []*reason, choice *reason) *Violation {
	var names, types []string
	kinds := 0
	for _, r := range reasons {
		if !slices.Equal(r.names, choice.names) {
			return nil
		}
		switch r.keyword {
		case "required":
			names = append(names, r.firstMissing())
		case "type":
			types = append(types, typeList(r.argument)...)
			kinds++
		}
	}
	switch len(reasons) {
	case len(names):
		return &Violation{
			Message: "is required", by: "by", Expected: orList(names), names: append(slices.Clone(choice.names), names[0]),
			others: names[1:],
		}
	case kinds:
		return mustHaveType(slices.Compact(types))
	}
	return nil
}

// meantBranch is the only branch that the value's type, or a constant in it, does not rule out.
func meantBranch(branches []*jsonschema.ValidationError, reasons []*reason, choice *reason) *jsonschema.ValidationError {
	var meant *jsonschema.ValidationError
	for i, r := range reasons {
		wrongKind := r.keyword == "type" && len(r.names) == len(choice.names)
		wrongMark := (r.keyword == "const" || r.keyword == "enum") && len(r.names) <= len(choice.names)+1
		if wrongKind || wrongMark {
			continue
		}
		if meant != nil {
			return nil
		}
		meant = branches[i]
	}
	return meant
}
