package schemas

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
)

// Payload is one raw JSON value that the house carries and never interprets: a task's input, an agent's result, a chunk. Number
// literals and strings go through as written; only white space between tokens may go. Nil means absent.
//
// A Payload never shows its content: every fmt verb and every log call prints only its kind and size. To read it, convert it:
// []byte(p).
type Payload []byte

// MarshalJSONTo writes the value as it is.
func (p Payload) MarshalJSONTo(enc *jsontext.Encoder) error {
	if p == nil {
		return enc.WriteToken(jsontext.Null)
	}
	return enc.WriteValue(jsontext.Value(p))
}

// UnmarshalJSONFrom keeps a copy of the value as it is.
func (p *Payload) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*p = bytes.Clone(value)
	return nil
}

// MarshalJSON serves encoding/json, whose users meet a Payload in our Go SDK.
func (p Payload) MarshalJSON() ([]byte, error) {
	if p == nil {
		return []byte("null"), nil
	}
	return p, nil
}

// UnmarshalJSON serves encoding/json.
func (p *Payload) UnmarshalJSON(data []byte) error {
	*p = bytes.Clone(data)
	return nil
}

// Format prints the fingerprint for every verb.
func (p Payload) Format(s fmt.State, _ rune) { _, _ = fmt.Fprintf(s, "payload(%s)", p.Fingerprint()) }

// MarshalZerologObject logs the fingerprint.
func (p Payload) MarshalZerologObject(e *zerolog.Event) {
	e.Str("kind", jsonKind(jsontext.Value(p).Kind())).Int("bytes", len(p))
}

// Fingerprint says what may be said about a payload anywhere: its kind and its size in bytes.
func (p Payload) Fingerprint() string {
	if p == nil {
		return "absent"
	}
	return fmt.Sprintf("%s, %d bytes", jsonKind(jsontext.Value(p).Kind()), len(p))
}
