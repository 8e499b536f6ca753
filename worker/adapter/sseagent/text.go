package sseagent

import (
	"strings"
	"unicode/utf8"

	"github.com/agentreach/agent-reach/schemas"
)

// wholeCharacters is how many bytes of text can go without a character being cut.
func wholeCharacters(text []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		at := len(text) - back
		if !utf8.RuneStart(text[at]) {
			continue
		}
		if utf8.FullRune(text[at:]) {
			return len(text)
		}
		return at
	}
	return len(text)
}

// quoted is text as a JSON string.
func quoted(text []byte) schemas.Payload {
	return schemas.MustEncode(strings.ToValidUTF8(string(text), "\uFFFD"))
}
