package answer

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/redact"
)

// What an agent may say about its failure.
const (
	maxExcerpt = 512
	maxMessage = 1024
	maxCode    = 128
	maxDetails = 16
)

// Report is an agent's own word on what went wrong, as it was said: not yet cut or masked.
type Report struct {
	Code    string
	Message string
	Details map[string]jsontext.Value
}

// ReadReport reads what stands under error: an object with code, message and details, or a text. A text of one word is a code as
// well. It reports false for what says nothing: null, {}, "", or another kind of value.
func ReadReport(value jsontext.Value) (Report, bool) {
	if said := text(value); said != "" && value.Kind() == '"' {
		return Report{Code: oneWord(said), Message: said}, true
	}
	members, ok := firstLevel(Trim(value))
	if !ok || len(members) == 0 {
		return Report{}, false
	}
	report := Report{Code: text(members["code"]), Message: text(members["message"])}
	report.Details, _ = firstLevel(Trim(members["details"]))
	return report, true
}

// ReadBody finds the error in a whole answer: a non-empty error at the first level, with its code and message there or beside it.
// One that is a word is the code where a message stands beside it. Where the transport says that the call failed, code or message at
// the first level are one, too.
func ReadBody(body []byte, failed bool) (Report, bool) {
	members, ok := firstLevel(Trim(body))
	if !ok {
		return Report{}, false
	}
	code, message := text(members["code"]), text(members["message"])
	report, found := ReadReport(members["error"])
	if found {
		if code != "" && (report.Code == "" || members["error"].Kind() == '"') {
			report.Code = code
		}
		if report.Message == "" || report.Message == report.Code && message != "" {
			report.Message = message
		}
		return report, true
	}
	if !failed || code == "" && message == "" {
		return Report{}, false
	}
	report = Report{Code: code, Message: message}
	report.Details, _ = firstLevel(Trim(members["details"]))
	return report, true
}

// Error is the report in our words. The agent's code goes through mapping, then stands for itself if it is a standard name; else
// base decides, which is what the transport alone says. The raw code stays in details.agent_code. Base is used up.
func (r Report) Error(base *schemas.Error, mapping map[string]schemas.Code) *schemas.Error {
	e := FromAgent(base)
	if code := r.standard(mapping); code != "" && code != e.Code {
		again := code == schemas.Unavailable || code == schemas.ResourceExhausted
		e.Code, e.Reason, e.Retryable = code, "", e.Retryable && again
	}
	if r.Message != "" {
		e.Message = redact.Excerpt([]byte(r.Message), maxMessage)
	}
	for i, name := range slices.Sorted(maps.Keys(r.Details)) {
		if _, ours := e.Details[name]; i < maxDetails && !ours {
			e.With(redact.Excerpt([]byte(name), maxCode), masked(r.Details[name]))
		}
	}
	if r.Code != "" {
		e.With("agent_code", redact.Excerpt([]byte(r.Code), maxCode))
	}
	return e
}

func (r Report) standard(mapping map[string]schemas.Code) schemas.Code {
	if mapped := mapping[r.Code]; mapped.Standard() {
		return mapped
	}
	if code := schemas.Code(r.Code); code.Standard() {
		return code
	}
	return ""
}

// FromAgent marks e as something that an agent brought about.
func FromAgent(e *schemas.Error) *schemas.Error { return e.With("origin", "agent") }

// WithExcerpt adds the beginning of what the agent said, cleaned and masked, unless it said nothing.
func WithExcerpt(e *schemas.Error, said []byte) *schemas.Error {
	if said = Trim(said); len(said) == 0 {
		return e
	}
	return e.With("excerpt", redact.Excerpt(said, maxExcerpt))
}

// masked is one detail without personal data: still JSON if that is possible, a text if not.
func masked(value jsontext.Value) any {
	if value.Kind() == '"' {
		return redact.Excerpt([]byte(text(value)), maxExcerpt)
	}
	clean := redact.Excerpt(value, maxExcerpt)
	if schemas.Scan([]byte(clean)) == nil {
		return jsontext.Value(clean)
	}
	return clean
}

// oneWord is said if it looks like a code: short, without blanks.
func oneWord(said string) string {
	if len(said) > maxCode {
		return ""
	}
	for _, r := range said {
		if r <= ' ' {
			return ""
		}
	}
	return said
}
