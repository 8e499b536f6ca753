package schemas

import (
	"maps"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of what an agent says beside its result, in bytes.
const (
	MaxErrorMessage    = 4 << 10
	MaxErrorDetails    = 16 << 10
	MaxErrorWord       = 64 // of a code or reason
	MaxProgressMessage = 1024
)

// Clip is text as valid UTF-8 of at most so many bytes.
func Clip(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// Bounded is e as it is passed on and kept, whatever an agent has said: texts are cut, and details that are no JSON or too large go,
// but for what tells whose error it is. e, which may be nil, is left as it was.
func (e *Error) Bounded() *Error {
	if e == nil {
		return nil
	}
	b := *e
	b.Code, b.Reason, b.Message = Code(Clip(string(e.Code), MaxErrorWord)), Clip(e.Reason, MaxErrorWord), Clip(e.Message, MaxErrorMessage)
	if raw, err := Encode(&b); err == nil && len(raw) <= MaxErrorDetails+MaxErrorMessage && ScanWithin(raw) == nil {
		b.Details = maps.Clone(e.Details)
		return &b
	}
	b.Details, b.Unknown = nil, nil
	for _, name := range []string{"origin", "agent_code"} {
		if raw, found := e.Details[name]; found && len(raw) <= 2*MaxErrorWord && jsontext.Value(raw).IsValid() {
			if b.Details == nil {
				b.Details = make(map[string]jsontext.Value)
			}
			b.Details[name] = raw
		}
	}
	return &b
}

// Bounded is p as it is passed on and kept, whatever an agent has said. p, which may be nil, is left as it was.
func (p *Progress) Bounded() *Progress {
	if p == nil {
		return nil
	}
	b := Progress{Fraction: p.Fraction, Message: Clip(p.Message, MaxProgressMessage)}
	if len(p.Unknown) <= MaxProgressMessage {
		b.Unknown = p.Unknown
	}
	return &b
}
