package redact

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maskJSON masks the names, strings and numbers of a valid JSON text, each by itself, and whole values beside the names of secrets.
// White space and everything else stays as written.
func maskJSON(s string) string {
	m := jsonMasker{in: s, out: make([]byte, 0, len(s)+16)}
	for m.pos < len(m.in) {
		m.step()
	}
	return string(m.out)
}

type jsonMasker struct {
	in  string
	pos int
	out []byte
}

func (m *jsonMasker) step() {
	c := m.in[m.pos]
	switch {
	case c == '"':
		m.text()
	case c == '-' || isDigit(c):
		m.number()
	default:
		m.copy(1)
	}
}

func (m *jsonMasker) copy(n int) {
	m.out = append(m.out, m.in[m.pos:m.pos+n]...)
	m.pos += n
}

func (m *jsonMasker) replace(n int, with string) {
	m.out = append(m.out, with...)
	m.pos += n
}

const maskedString = `"` + Masked + `"`

func (m *jsonMasker) text() {
	n := stringLength(m.in[m.pos:])
	literal := m.in[m.pos : m.pos+n]
	plain := unquote(literal)
	m.replace(n, maskString(literal, plain))
	blanks := run(m.in[m.pos:], len(m.in), isJSONBlank)
	if at(m.in, m.pos+blanks) == ':' && kindOf(plain, false) != notSecret {
		m.copy(blanks + 1)
		m.copy(run(m.in[m.pos:], len(m.in), isJSONBlank))
		m.secret()
	}
}

// secret masks the value here, of whatever type, unless it says that there is none.
func (m *jsonMasker) secret() {
	n := valueLength(m.in[m.pos:])
	switch m.in[m.pos : m.pos+n] {
	case "null", "true", "false", `""`:
		m.copy(n)
	default:
		m.replace(n, maskedString)
	}
}

func (m *jsonMasker) number() {
	n := max(1, run(m.in[m.pos:], len(m.in), isNumberByte))
	if literal := m.in[m.pos : m.pos+n]; run(literal, n, isDigit) == n && isPersonal(literal) {
		m.replace(n, maskedString)
		return
	}
	m.copy(n)
}

func isNumberByte(c byte) bool {
	return isDigit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}
func isJSONBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// maskString is the literal itself if nothing in it is masked.
func maskString(literal, plain string) string {
	masked := Mask(plain)
	if masked == plain {
		return literal
	}
	return quote(masked)
}

func unquote(literal string) string {
	if strings.IndexByte(literal, '\\') < 0 {
		return strings.ToValidUTF8(literal[1:len(literal)-1], "\uFFFD")
	}
	var plain string
	_ = json.Unmarshal([]byte(literal), &plain) // the text is valid JSON
	return plain
}

func quote(plain string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(plain) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// stringLength is the length of the string literal at the beginning of s.
func stringLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// valueLength is the length of the value at the beginning of s.
func valueLength(s string) int {
	depth := 0
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '"':
			i += stringLength(s[i:])
		case c == '{' || c == '[':
			depth++
			i++
		case c == '}' || c == ']':
			depth--
			i++
		case depth == 0:
			return i + run(s[i:], len(s), func(c byte) bool { return isAlnum(c) || isNumberByte(c) })
		default:
			i++
		}
		if depth == 0 {
			return i
		}
	}
	return len(s)
}
