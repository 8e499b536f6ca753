package answer

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind says what a Line carries.
type Kind int

// The kinds of lines. Noise is everything that is not meant for us: banners, blanks, text, the agent's own log.
const (
	Noise Kind = iota
	Result
	Error
	Chunk
	Progress
)

// Line is one message of an agent on a transport that carries several.
type Line struct {
	Kind   Kind
	TaskID string         // where the agent named one
	Value  jsontext.Value // what stands under result, error, chunk or progress, as written; part of what was read
}

var kinds = map[string]Kind{"result": Result, "error": Error, "chunk": Chunk, "progress": Progress}

// Read tells a protocol line from noise: it is a JSON object whose first level has exactly one of result, error, chunk and
// progress. A byte order mark and white space around it do not count. The value is well-formed JSON; Value judges the rest.
func Read(raw []byte) Line {
	members, ok := firstLevel(Trim(raw))
	if !ok {
		return Line{}
	}
	line := Line{TaskID: text(members["task_id"])}
	for name, kind := range kinds {
		value, found := members[name]
		if !found {
			continue
		}
		if line.Kind != Noise {
			return Line{}
		}
		line.Kind, line.Value = kind, value
	}
	return line
}

// TaskID is the task_id in the beginning of a line that was too long to be kept whole; empty if it does not stand there.
func TaskID(beginning []byte) string { return Member(beginning, "task_id") }

// Member is a text or number at the first level of such a beginning.
func Member(beginning []byte, name string) string {
	dec := lenient(Trim(beginning))
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return ""
	}
	for dec.PeekKind() == '"' {
		found, err := dec.ReadToken()
		if err != nil {
			return ""
		}
		wanted := found.String() == name
		value, err := dec.ReadValue()
		if err != nil {
			return ""
		}
		if wanted {
			return text(value)
		}
	}
	return ""
}

// Under is what stands under a name at the first level of an object, as a part of it; nil where that is not so.
func Under(object []byte, name string) jsontext.Value {
	members, _ := firstLevel(Trim(object))
	return members[name]
}

var byteOrderMark = []byte("\uFEFF")

// Trim drops a byte order mark in front, and JSON's white space at both ends.
func Trim(raw []byte) []byte {
	return bytes.Trim(bytes.TrimPrefix(raw, byteOrderMark), " \t\r\n")
}

// firstLevel reads the members of one JSON object. The values are slices of raw. A name that stands twice has its last value.
func firstLevel(raw []byte) (map[string]jsontext.Value, bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	dec := lenient(raw)
	if _, err := dec.ReadToken(); err != nil {
		return nil, false
	}
	members := make(map[string]jsontext.Value)
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		end := dec.InputOffset()
		members[key] = raw[end-int64(len(value)) : end]
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, false
	}
	_, err := dec.ReadToken()
	return members, errors.Is(err, io.EOF)
}

// lenient reads whatever can be made out: telling what was meant comes first, judging it later.
func lenient(raw []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// text is the content of a JSON string, or the literal of a number: codes and ids are written as both.
func text(value jsontext.Value) string {
	switch value.Kind() {
	case '"':
		unquoted, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return ""
		}
		return string(unquoted)
	case '0':
		return string(value)
	}
	return ""
}
