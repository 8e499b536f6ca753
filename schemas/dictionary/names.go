package dictionary

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxIntentBytes bounds what is normalised; no id or alias is longer.
const maxIntentBytes = 512

// Normalise writes an intent as ids are written: words in lower case, joined by _. WebSearch, web-search, "Web search" and the
// full-width ｗｅｂ＿ｓｅａｒｃｈ are web_search. An id stays as it is.
func Normalise(intent string) string {
	if len(intent) > maxIntentBytes {
		return ""
	}
	runes := []rune(strings.TrimSpace(norm.NFKC.String(intent)))
	var b strings.Builder
	for i, r := range runes {
		if startsWord(runes, i) {
			b.WriteByte('_')
		}
		if isSeparator(r) {
			r = '_'
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return norm.NFKC.String(b.String())
}

// startsWord reports whether a word begins at i without a separator before it: the S of webSearch, the second S of HTTPSearch.
func startsWord(runes []rune, i int) bool {
	if i == 0 || !unicode.IsUpper(runes[i]) {
		return false
	}
	before := runes[i-1]
	if unicode.IsLower(before) || unicode.IsDigit(before) {
		return true
	}
	return unicode.IsUpper(before) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

func isSeparator(r rune) bool { return r == '-' || r == '.' || r == '/' || unicode.IsSpace(r) }
