package redact

import (
	"fmt"
	"strings"
)

// maxFingerprinted bounds how much of a payload is looked at.
const maxFingerprinted = 64 << 10

// Fingerprint says of a payload what a log may say: its kind, its size, and how many fields or items of which kinds it has. It
// names no field and no value: "object, 78 bytes, 2 fields (1 string, 1 number)". Of more than 64 KiB only the beginning is counted.
func Fingerprint(raw []byte) string {
	if len(raw) == 0 {
		return "absent"
	}
	s := strings.TrimLeft(string(raw[:min(len(raw), maxFingerprinted)]), " \t\r\n")
	kind := kindOfJSON(at(s, 0))
	text := fmt.Sprintf("%s, %d bytes", kind, len(raw))
	things := map[string]string{"object": "field", "array": "item"}[kind]
	if things == "" {
		return text
	}
	return text + ", " + countKinds(s, kind == "object").text(things, len(raw) > maxFingerprinted)
}

var jsonKinds = []string{"string", "number", "boolean", "null", "object", "array", notJSON}

const notJSON = "not JSON"

func kindOfJSON(c byte) string {
	switch {
	case c == '"':
		return "string"
	case c == '-' || isDigit(c):
		return "number"
	case c == 't' || c == 'f':
		return "boolean"
	case c == 'n':
		return "null"
	case c == '{':
		return "object"
	case c == '[':
		return "array"
	}
	return notJSON
}

// counts is how many values of each kind there are on the first level.
type counts map[string]int

// countKinds goes through an object or an array. It trusts that s is JSON; what is not is counted somehow.
func countKinds(s string, object bool) counts {
	kinds := make(counts)
	depth := 0
	value := !object // a value may begin here
	for i := 0; i < len(s); {
		c := s[i]
		if depth == 1 && value && !isJSONBlank(c) && c != ']' {
			kinds[kindOfJSON(c)]++
			value = false
		}
		switch c {
		case '"':
			i += stringLength(s[i:])
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ':':
			value = value || depth == 1 && object
		case ',':
			value = value || depth == 1 && !object
		}
		i++
	}
	return kinds
}

func (c counts) text(things string, more bool) string {
	total := 0
	var parts []string
	for _, kind := range jsonKinds {
		if n := c[kind]; n > 0 {
			total += n
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	text := fmt.Sprint(total)
	if more {
		text = "at least " + text
	}
	if text += " " + things; total != 1 {
		text += "s"
	}
	if total == 0 {
		return text
	}
	return text + " (" + strings.Join(parts, ", ") + ")"
}
