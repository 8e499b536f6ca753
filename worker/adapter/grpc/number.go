package grpc

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// asNumbers is a message in JSON whose 64-bit integers are numbers. What it does not understand stays as it is: in the types that
// have a JSON of their own, a text is a text.
func asNumbers(raw []byte, message protoreflect.MessageDescriptor) []byte {
	w := &rewriter{from: jsontext.NewDecoder(bytes.NewReader(raw)), out: make([]byte, 0, len(raw))}
	if !w.value(kindOf{message: message}) {
		return raw
	}
	return w.out
}

// kindOf is what a JSON value is of: a message, a 64-bit integer, a map, lists of these, or something else.
type kindOf struct {
	message protoreflect.MessageDescriptor
	integer bool
	mapped  *kindOf // of a map's values
}

func kindOfField(field protoreflect.FieldDescriptor) kindOf {
	if field == nil {
		return kindOf{}
	}
	if field.IsMap() {
		inner := kindOfField(field.MapValue())
		return kindOf{mapped: &inner}
	}
	var kind kindOf
	switch field.Kind() {
	case protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.Sint64Kind, protoreflect.Fixed64Kind,
		protoreflect.Sfixed64Kind:
		kind.integer = true
	case protoreflect.MessageKind, protoreflect.GroupKind:
		kind.message = field.Message()
		kind.integer = wrapped[kind.message.FullName()]
	}
	return kind
}

// wrapped are the messages whose JSON is that of a 64-bit integer.
var wrapped = map[protoreflect.FullName]bool{"google.protobuf.Int64Value": true, "google.protobuf.UInt64Value": true}

// own reports whether a type has a JSON of its own, in which fields are not fields.
func own(message protoreflect.MessageDescriptor) bool {
	return message == nil || message.ParentFile().Package() == "google.protobuf"
}

// rewriter copies JSON token by token.
type rewriter struct {
	from *jsontext.Decoder
	out  []byte
}

// value copies one value of that kind, and reports whether all went well.
func (w *rewriter) value(kind kindOf) bool {
	switch w.from.PeekKind() {
	case '{':
		return w.object(kind)
	case '[':
		return w.array(kind)
	}
	raw, err := w.from.ReadValue()
	if err != nil {
		return false
	}
	if kind.integer && raw.Kind() == '"' {
		raw = raw[1 : len(raw)-1]
	}
	w.out = append(w.out, raw...)
	return true
}

func (w *rewriter) object(kind kindOf) bool {
	if kind.mapped == nil && own(kind.message) {
		raw, err := w.from.ReadValue()
		w.out = append(w.out, raw...)
		return err == nil
	}
	_, _ = w.from.ReadToken()
	w.out = append(w.out, '{')
	for first := true; w.from.PeekKind() == '"'; first = false {
		if !first {
			w.out = append(w.out, ',')
		}
		name, err := w.from.ReadValue()
		if err != nil {
			return false
		}
		w.out = append(append(w.out, name...), ':')
		if !w.value(kind.member(name)) {
			return false
		}
	}
	w.out = append(w.out, '}')
	_, err := w.from.ReadToken()
	return err == nil
}

// member is what stands under a name: one of a map's values, or a field.
func (k kindOf) member(name jsontext.Value) kindOf {
	if k.mapped != nil {
		return *k.mapped
	}
	unquoted, err := jsontext.AppendUnquote(nil, name)
	if err != nil {
		return kindOf{}
	}
	return kindOfField(k.message.Fields().ByTextName(string(unquoted)))
}

func (w *rewriter) array(kind kindOf) bool {
	_, _ = w.from.ReadToken()
	w.out = append(w.out, '[')
	for first := true; w.from.PeekKind() != ']'; first = false {
		if !first {
			w.out = append(w.out, ',')
		}
		if !w.value(kind) {
			return false
		}
	}
	w.out = append(w.out, ']')
	_, err := w.from.ReadToken()
	return err == nil
}
