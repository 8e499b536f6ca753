package dispatcher

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

// formatMember is the member of a message's metadata that says in which format its result would be welcome: a type of JSON
// ("object"), or a media type or format that schemas name ("text/markdown").
const formatMember = "output_format"

// fitting measures how the payload of one task goes together with the contracts of agents. Nothing of the payload is read before an
// agent's contract asks for it. A nil fitting finds that all fit: of the payload nothing is known.
type fitting struct {
	entry   *dictionary.Entry
	payload schemas.Payload
	format  string
	members []string
	read    bool       // members are known
	object  bool       // the payload is one
	usual   *score.Fit // of agents without schemas of their own
}

// fittingOf prepares for a message; nil where there is nothing to measure by.
func (d *Dispatcher) fittingOf(m *schemas.ReachMessage) *fitting {
	entry, known := d.dictionary.Load().Entry(m.Capability)
	switch {
	case !known:
		return nil
	case m.Payload != nil:
		object := jsontext.Value(m.Payload).Kind() == jsontext.KindBeginObject
		return &fitting{entry: entry, payload: m.Payload, object: object, format: welcomeFormat(m.Metadata)}
	case m.Assignment != nil && m.Assignment.Shape != nil:
		shape := m.Assignment.Shape
		return &fitting{entry: entry, members: shape.Members, read: true, object: shape.Object, format: shape.Format}
	}
	return nil
}

// Bounds of a shape. A payload of more members has none, and fits every agent alike while it waits.
const (
	maxShapeMembers = 64
	maxShapeBytes   = 2 << 10
)

// shape is what a fitting knows of its payload, in little room; nil if that is too little.
func (f *fitting) shape() *schemas.Shape {
	if f == nil {
		return nil
	}
	shape := &schemas.Shape{Object: f.object, Format: f.format}
	if f.object {
		shape.Members = slices.Clone(f.names())
		slices.Sort(shape.Members)
	}
	bytes := len(shape.Format)
	for _, name := range shape.Members {
		bytes += len(name)
	}
	if len(shape.Members) > maxShapeMembers || bytes > maxShapeBytes {
		return nil
	}
	return shape
}

// keepShape notes in a message that is about to wait what its agents will be ranked by: the index keeps no payload. Where all agents
// that are there go by the dictionary alone, it tells none from another. The caller holds the lock.
func (d *Dispatcher) keepShape(m *schemas.ReachMessage) {
	m.Assignment.Shape = nil
	agents := d.view.roster.byCapability[m.Capability]
	if d.isLarge(m) || len(agents) > 0 && !slices.ContainsFunc(agents, func(a *agent) bool { return len(a.narrow) > 0 }) {
		return
	}
	m.Assignment.Shape = d.fittingOf(m).shape()
}

func welcomeFormat(metadata jsontext.Value) string {
	if len(metadata) == 0 {
		return ""
	}
	var members map[string]jsontext.Value
	var format string
	if schemas.Decode(metadata, &members) == nil && members[formatMember].Kind() == jsontext.KindString {
		_ = schemas.Decode(members[formatMember], &format) // a text that was decoded once
	}
	return format
}

// of is how an agent with these schemas of its own fits.
func (f *fitting) of(own narrow) score.Fit {
	if f == nil {
		return score.Fit{}
	}
	if own.input != nil || own.output != nil {
		return f.measure(own)
	}
	if f.usual == nil {
		usual := f.measure(own)
		f.usual = &usual
	}
	return *f.usual
}

func (f *fitting) measure(own narrow) score.Fit {
	var fit contract.Fit
	if f.object && (f.entry.Input.Declares() || own.input.Declares()) {
		fit = contract.FitOf(f.names(), f.entry.Input, own.input)
	}
	return score.Fit{
		Required: fit.Required, Present: fit.Present, Optional: fit.Optional, Declared: fit.Declared, OtherOutput: f.otherOutput(own),
	}
}

// names are those of the payload's members.
func (f *fitting) names() []string {
	if f.read {
		return f.members
	}
	f.read = true
	dec := jsontext.NewDecoder(bytes.NewBuffer(f.payload)) // which is read where it lies
	for _, err := dec.ReadToken(); err == nil && dec.PeekKind() == '"'; err = dec.SkipValue() {
		name, _ := dec.ReadToken() // a text
		f.members = append(f.members, name.String())
	}
	return f.members
}

// otherOutput reports whether the agent states another format than the one asked for. What its own schema does not say, the
// dictionary's does.
func (f *fitting) otherOutput(own narrow) bool {
	if f.format == "" {
		return false
	}
	yields, said := own.output.Yields(f.format)
	if !said {
		yields, said = f.entry.Output.Yields(f.format)
	}
	return said && !yields
}
