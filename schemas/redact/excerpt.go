package redact

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// ExcerptBytes is the length of an excerpt where none is asked for.
	ExcerptBytes = 512

	// lookahead is how far beyond an excerpt it is read: what begins within it and ends after it is still recognised.
	lookahead = 512
)

// Excerpt is the beginning of what an agent said, at most max bytes (0: ExcerptBytes) of one line of valid UTF-8: masked, blanks for
// line breaks, without control characters, terminal colours and marks that change the direction of writing.
func Excerpt(raw []byte, max int) string {
	max = cmp.Or(max, ExcerptBytes)
	text := clean(string(raw[:min(len(raw), max+lookahead)]))
	if len(raw) <= max {
		return cut(Mask(text), max)
	}
	return cut(Mask(maskText(text, min(max, len(text)))), max)
}

// clean keeps what can be shown on a line.
func clean(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		if n := colourAt(s); n > 0 {
			s = s[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case r == utf8.RuneError && size == 1, unicode.IsControl(r), unicode.Is(unicode.Cf, r):
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}

// colourAt is the length of an ANSI control sequence at the beginning of s.
func colourAt(s string) int {
	const escape = "\x1b["
	if !strings.HasPrefix(s, escape) {
		return 0
	}
	n := len(escape) + run(s[len(escape):], 32, func(c byte) bool { return ' ' <= c && c <= '?' })
	return min(n+1, len(s))
}

// cut shortens s to at most max bytes of whole characters.
func cut(s string, max int) string { return strings.ToValidUTF8(s[:min(max, len(s))], "") }
