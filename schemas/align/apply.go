package align

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
)

// apply is value with its words replaced. What is no JSON stays as it is, and is somebody else's to refuse.
func (n *node) apply(value []byte) []byte {
	if n == nil || len(n.members) == 0 && n.elements == nil && n.value == nil {
		return value
	}
	w := &walk{dec: jsontext.NewDecoder(bytes.NewBuffer(value)), from: value}
	if err := w.value(n); err != nil || len(w.edits) == 0 {
		return value
	}
	return w.edited()
}

// walk goes through a value and notes what is to be replaced in it.
type walk struct {
	dec   *jsontext.Decoder
	from  []byte
	edits []edit
}

// edit replaces the bytes from begin to end.
type edit struct {
	begin, end int
	with       []byte
}

func (w *walk) edited() []byte {
	out := make([]byte, 0, len(w.from)+len(w.from)/8)
	at := 0
	for _, e := range w.edits {
		out = append(append(out, w.from[at:e.begin]...), e.with...)
		at = e.end
	}
	return append(out, w.from[at:]...)
}

// replace notes that what was read last is to be written as with.
func (w *walk) replace(raw, with []byte) {
	end := int(w.dec.InputOffset())
	w.edits = append(w.edits, edit{begin: end - len(raw), end: end, with: with})
}

func (w *walk) value(n *node) error {
	switch kind := w.dec.PeekKind(); {
	case n == nil:
		return w.dec.SkipValue()
	case kind == '{' && len(n.members) > 0:
		return w.object(n)
	case kind == '[' && n.elements != nil:
		return w.list(n)
	}
	raw, err := w.dec.ReadValue()
	if err != nil || n.value == nil {
		return err
	}
	if with, ok := n.value(raw); ok {
		w.replace(raw, with)
	}
	return nil
}

func (w *walk) object(n *node) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for w.dec.PeekKind() != '}' {
		raw, err := w.dec.ReadValue()
		if err != nil {
			return err
		}
		name, _ := unquote(raw)
		m, found := n.members[name]
		if found && m.name != name {
			w.replace(raw, schemas.MustEncode(m.name))
		}
		if err := w.value(m.node); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

func (w *walk) list(n *node) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for w.dec.PeekKind() != ']' {
		if err := w.value(n.elements); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// unquote is the text that a JSON string stands for; false for any other value.
func unquote(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return string(text), err == nil
}
