package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// word makes the message of a reason that stands alone.
func (r *reason) word() *Violation {
	if r.argument == false && r.keyword != "const" {
		return r.unwanted()
	}
	if say, ok := wordings[r.keyword]; ok {
		return say(r)
	}
	return &Violation{Message: "is not of the form accepted", by: "by"}
}

// wordings say what each keyword asks for.
var wordings = map[string]func(*reason) *Violation{
	"required":          (*reason).missing,
	"dependentRequired": (*reason).missingBeside,

	"type":  func(r *reason) *Violation { return mustHaveType(typeList(r.argument)) },
	"const": func(r *reason) *Violation { return mustBe(brief(r.argument), brief(r.argument)) },
	"enum":  func(r *reason) *Violation { return mustBe(briefList(r.argument), briefList(r.argument)) },
	"format": func(r *reason) *Violation {
		return mustBe(asText(r.argument), "of the format "+brief(r.argument))
	},
	"pattern": func(r *reason) *Violation {
		return &Violation{Message: "must match the pattern " + brief(r.argument), Expected: brief(r.argument)}
	},

	"minimum":          bound("at least"),
	"maximum":          bound("at most"),
	"exclusiveMinimum": bound("more than"),
	"exclusiveMaximum": bound("less than"),
	"multipleOf":       bound("a multiple of"),

	"minLength":     amount("at least", "characters"),
	"maxLength":     amount("at most", "characters"),
	"minItems":      amount("at least", "items"),
	"maxItems":      amount("at most", "items"),
	"minProperties": amount("at least", "members"),
	"maxProperties": amount("at most", "members"),
	"minContains":   amount("at least", "items of the form accepted"),
	"maxContains":   amount("at most", "items of the form accepted"),

	"uniqueItems": func(*reason) *Violation {
		return &Violation{Message: "must not hold an item twice", Expected: "different items"}
	},
	"additionalItems": func(*reason) *Violation { return &Violation{Message: "has more items than accepted", by: "by"} },
	"not":             func(*reason) *Violation { return &Violation{Message: "is of a form not accepted", by: "by"} },
	"oneOf": func(*reason) *Violation {
		return &Violation{Message: "fits more than one form; exactly one is accepted", by: "by"}
	},
}

func mustBe(expected, text string) *Violation {
	return &Violation{Message: "must be " + text, Expected: expected}
}

func bound(relation string) func(*reason) *Violation {
	return func(r *reason) *Violation {
		text := relation + " " + brief(r.argument)
		return mustBe(text, text)
	}
}

// amount asks for a number of things; the first word of things is a plural.
func amount(relation, things string) func(*reason) *Violation {
	return func(r *reason) *Violation {
		number, ok := r.argument.(json.Number)
		if !ok {
			number = "1" // of contains alone
		}
		text := fmt.Sprintf("%s %s %s", relation, number, things)
		if number == "1" {
			text = relation + " 1 " + strings.Replace(things, "s", "", 1)
		}
		return &Violation{Message: "must have " + text, Expected: text}
	}
}

func (r *reason) missing() *Violation {
	name := r.firstMissing()
	return &Violation{
		Message: "is required", by: "by", Expected: r.typeOfMember(name), names: append(slices.Clone(r.names), name),
	}
}

func (r *reason) missingBeside() *Violation {
	both, _ := r.argument.(pair)
	return &Violation{
		Message: "is required where " + both.present + " is given", Expected: "a value",
		names: append(slices.Clone(r.names), both.missing),
	}
}

// unwanted is about a member or an item for which the schema says false.
func (r *reason) unwanted() *Violation {
	v := &Violation{Message: "is not accepted", by: "by", names: r.names}
	switch r.keyword {
	case "additionalProperties":
		v.names = append(slices.Clone(r.names), r.firstUnwanted())
		v.Expected = briefNames(asObject(r.schema["properties"]))
	case "unevaluatedProperties":
		v.Expected = briefNames(asObject(r.schema["properties"]))
	case "additionalItems":
		return wordings["additionalItems"](r)
	}
	return v
}

// What a message quotes of a schema is short.
const (
	maxBrief      = 80
	maxBriefNames = 12
)

// brief is a constant of the schema.
func brief(constant any) string {
	raw, err := marshal(constant)
	if err != nil {
		return "what the schema says"
	}
	text := strings.TrimSpace(string(raw))
	if len(text) > maxBrief {
		return "what the schema says"
	}
	return strings.Trim(text, `"`)
}

func briefList(constants any) string {
	list, _ := constants.([]any)
	texts := make([]string, 0, len(list))
	for _, constant := range list[:min(len(list), maxBriefNames)] {
		texts = append(texts, brief(constant))
	}
	if len(list) > maxBriefNames {
		return fmt.Sprintf("one of %s and %d others", strings.Join(texts, ", "), len(list)-maxBriefNames)
	}
	return orList(texts)
}

func briefNames(object map[string]any) string {
	names := slices.Sorted(maps.Keys(object))
	if len(names) > maxBriefNames {
		names = append(names[:maxBriefNames], "…")
	}
	return strings.Join(names, ", ")
}

func mustHaveType(types []string) *Violation {
	texts := make([]string, len(types))
	for i, t := range types {
		texts[i] = articles[t]
	}
	return mustBe(orList(types), orList(texts))
}

var articles = map[string]string{
	"array": "an array", "boolean": "true or false", "integer": "an integer", "null": "null", "number": "a number",
	"object": "an object", "string": "a string",
}
