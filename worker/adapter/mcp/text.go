package mcp

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
	"github.com/agentreach/agent-reach/worker"
)

// Expect says what the results of capabilities are, by their output schemas: it decides what a tool's text becomes that is no
// JSON. Call it before Handle. Of a capability that it is not told of, such a text is a failure, unless there is a TextField. A
// schema that the house cannot hold is taken as none.
func (a *Agent) Expect(outputs map[string]jsontext.Value) {
	a.texts = make(map[string]texts, len(outputs))
	for capability, raw := range outputs {
		if schema, err := contract.Compile(raw); err == nil {
			a.texts[capability] = texts{form: formOf(schema.Raw()), schema: schema}
		}
	}
}

// texts is what the texts of one capability become.
type texts struct {
	form   form
	schema *contract.Schema // of its results; nil accepts everything
}

// textsOf has a text go where the configuration says, or else where the capability's schema has room for it.
func (a *Agent) textsOf(capability string) texts {
	if a.cfg.TextField != "" {
		return texts{form: form{as: member, name: a.cfg.TextField}}
	}
	return a.texts[capability]
}

// form is where a text goes that is no JSON.
type form struct {
	as   place
	name string // of the member
}

type place int

const (
	nowhere place = iota // the result has no room for it, or nobody knows
	whole                // it is the result
	member               // it is a member of the result
)

// textMember is where a text goes in an object that says nothing of its members.
const textMember = "text"

// outline is what formOf looks at: the root of a schema.
type outline struct {
	Type       jsontext.Value            `json:"type"`
	Enum       []jsontext.Value          `json:"enum"`
	Required   []string                  `json:"required"`
	Properties map[string]jsontext.Value `json:"properties"`
	Additional jsontext.Value            `json:"additionalProperties"`
}

// formOf decides where a text goes in a result of this schema: into the one member that is required or the only one that is
// declared, if that may be a text; else it is the result, if that may be a text; else into "text" of an object with room for it.
func formOf(schema []byte) form {
	var o outline
	if string(schema) == "true" {
		return form{as: whole}
	}
	if schemas.Decode(schema, &o) != nil {
		return form{}
	}
	name := o.onlyMember()
	switch {
	case name != "" && o.room(name):
		return form{as: member, name: name}
	case o.textual() && len(o.Required)+len(o.Properties) == 0:
		return form{as: whole}
	case o.may("object") && len(o.Required)+len(o.Enum) == 0 && o.room(textMember):
		return form{as: member, name: textMember}
	case o.Type != nil && o.textual():
		return form{as: whole}
	}
	return form{}
}

// onlyMember is the one that is required, or where none is, the one that is declared; "" where there is no such one.
func (o *outline) onlyMember() string {
	if len(o.Required) == 1 && o.may("object") {
		return o.Required[0]
	}
	if len(o.Required) == 0 && len(o.Properties) == 1 && o.may("object") {
		for name := range o.Properties {
			return name
		}
	}
	return ""
}

// room reports whether a member may be a text.
func (o *outline) room(name string) bool {
	declared, found := o.Properties[name]
	if !found {
		return string(o.Additional) != "false"
	}
	var property outline
	if schemas.Decode(declared, &property) != nil {
		return string(declared) == "true"
	}
	return property.textual()
}

// textual reports whether the value may be a text.
func (o *outline) textual() bool {
	isText := func(v jsontext.Value) bool { return v.Kind() == '"' }
	return o.may("string") && (len(o.Enum) == 0 || slices.ContainsFunc(o.Enum, isText))
}

// may reports whether the value may be of a type.
func (o *outline) may(name string) bool {
	var one string
	var several []string
	switch {
	case o.Type == nil:
		return true
	case schemas.Decode(o.Type, &one) == nil:
		return one == name
	}
	return schemas.Decode(o.Type, &several) == nil && slices.Contains(several, name)
}

// result is the JSON that a text is, or else the text where it belongs. JSON that the capability does not take is a text, too, if
// the capability takes that, and unless the tool has words of its own for its results. What fits nothing is not made to fit: JSON
// is left to who checks all results, and a text is a failure.
func (t texts) result(text string, ownWords bool) (schemas.Payload, *worker.Failure) {
	asJSON, failure := valued([]byte(text))
	if failure == nil && (ownWords || t.schema.Check(asJSON) == nil) {
		return asJSON, nil
	}
	if placed := t.form.put(text); placed != nil && t.schema.Check(placed) == nil {
		return placed, nil
	}
	if failure != nil {
		failure.Err.Message += remedy
	}
	return asJSON, failure
}

// remedy is what the owner of a worker can do about a text.
const remedy = "; it is a text, for which the capability's result has no place that is known: name the member that it is " +
	"(text_field in worker.yaml, or --text-field)"

// put is nil where there is no place.
func (f form) put(text string) schemas.Payload {
	text = strings.ToValidUTF8(text, "\uFFFD")
	switch f.as {
	case whole:
		return schemas.MustEncode(text)
	case member:
		return schemas.MustEncode(map[string]string{f.name: text})
	}
	return nil
}
