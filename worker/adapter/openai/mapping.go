package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"text/template"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
)

// mapping is a JSON value whose strings are templates. What they make are strings again, whatever is in it.
type mapping struct{ pieces []piece }

// piece is a part of the JSON that stays as it is, and the string after it; the last piece has none.
type piece struct {
	before []byte
	text   *template.Template
}

// newMapping is nil for no JSON. It tries every template once, so that a mistyped name is found now.
func newMapping(raw jsontext.Value) (*mapping, error) {
	if raw == nil {
		return nil, nil
	}
	if err := schemas.Scan(raw); err != nil {
		return nil, fmt.Errorf("result is no JSON: %w", err)
	}
	m, err := cutAtStrings(raw)
	if err != nil {
		return nil, err
	}
	if _, err := m.fill(written{Usage: map[string]any{}, Payload: map[string]any{}}); err != nil {
		return nil, err
	}
	return m, nil
}

func cutAtStrings(raw jsontext.Value) (*mapping, error) {
	m := new(mapping)
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	for from := int64(0); ; {
		literal, err := nextString(dec)
		if errors.Is(err, io.EOF) {
			m.pieces = append(m.pieces, piece{before: raw[from:]})
			return m, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read result: %w", err)
		}
		unquoted, err := jsontext.AppendUnquote(nil, literal)
		if err != nil {
			return nil, fmt.Errorf("read result: %w", err)
		}
		text, err := template.New("result").Funcs(helpers).Parse(string(unquoted))
		if err != nil {
			return nil, fmt.Errorf("parse template: %w", err)
		}
		end := dec.InputOffset()
		m.pieces = append(m.pieces, piece{before: raw[from : end-int64(len(literal))], text: text})
		from = end
	}
}

// nextString is the next string that is a value, and not the name of one.
func nextString(dec *jsontext.Decoder) (jsontext.Value, error) {
	for {
		within, count := dec.StackIndex(dec.StackDepth())
		isName := within == '{' && count%2 == 0
		if dec.PeekKind() == '"' && !isName {
			return dec.ReadValue()
		}
		if _, err := dec.ReadToken(); err != nil {
			return nil, err
		}
	}
}

func (m *mapping) fill(seen written) (schemas.Payload, error) {
	var out bytes.Buffer
	for _, p := range m.pieces {
		out.Write(p.before)
		if p.text == nil {
			break
		}
		text, err := fill(p.text, seen)
		if err != nil {
			return nil, err
		}
		out.Write(quoted(text))
	}
	return out.Bytes(), nil
}
