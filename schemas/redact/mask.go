package redact

import (
	"encoding/json"
	"strings"
)

// Masked stands where something was taken out.
const Masked = "***"

// maxPasses bounds how often a text is read again because something in it was masked. In practice the second pass finds nothing.
const maxPasses = 8

// Mask takes personal data and secrets out of a text. What is JSON stays JSON.
func Mask[T ~string | ~[]byte](text T) string {
	masked := string(text)
	for range maxPasses {
		before := masked
		if masked = maskOnce(before); masked == before {
			break
		}
	}
	return masked
}

func maskOnce(s string) string {
	if looksLikeJSON(s) {
		return maskJSON(s)
	}
	return maskText(s, len(s))
}

func looksLikeJSON(s string) bool {
	trimmed := strings.TrimLeft(s, " \t\r\n")
	return trimmed != "" && strings.IndexByte(`{["`, trimmed[0]) >= 0 && json.Valid([]byte(s))
}

// maskText masks what begins before limit and drops the rest.
func maskText(s string, limit int) string {
	sc := scanner{in: s, out: make([]byte, 0, len(s)+len(Masked))}
	for sc.pos < limit {
		sc.step()
	}
	return string(sc.out)
}

// scanner goes through a text once. What it has passed is in out, masked; decisions look back there, so that they are the same when
// the masked text is read again.
type scanner struct {
	in     string
	pos    int
	out    []byte
	escape int // length of out after the latest escape sequence: what follows it begins anew
}

// step takes one thing: something to mask, a run of digits, or one byte.
func (sc *scanner) step() {
	c := sc.in[sc.pos]
	switch {
	case isHex(c) && !isAlnum(sc.last()) && startsWithUUID(sc.rest(0)):
		sc.copy(uuidBytes)
	case isDigit(c), c == '+', c == '(':
		sc.number()
	case isLetter(c):
		sc.word()
	case c == '@':
		sc.email(1)
	case c == '%':
		sc.percent()
	case c == '\x1b':
		sc.copyEscape(max(1, colourAt(sc.rest(0))))
	case c == ':':
		sc.userinfo()
	case c == '-':
		sc.privateKey()
	default:
		sc.copy(1)
	}
}

// copy passes n bytes on as they are.
func (sc *scanner) copy(n int) {
	sc.out = append(sc.out, sc.in[sc.pos:sc.pos+n]...)
	sc.pos += n
}

// mask replaces everything up to end.
func (sc *scanner) mask(end int) {
	sc.out = append(sc.out, Masked...)
	sc.pos = end
}

// rest is what has not been passed, from an offset on.
func (sc *scanner) rest(offset int) string { return sc.in[min(sc.pos+offset, len(sc.in)):] }

// last is the byte passed before; 0 at the start.
func (sc *scanner) last() byte { return sc.back(1) }

// back is the nth byte before this position in what was passed; 0 before the start.
func (sc *scanner) back(n int) byte {
	if n > len(sc.out) {
		return 0
	}
	return sc.out[len(sc.out)-n]
}

const uuidBytes = 36

// startsWithUUID knows task ids, which hold enough digits to look like anything.
func startsWithUUID(s string) bool {
	if len(s) < uuidBytes || isAlnum(at(s, uuidBytes)) {
		return false
	}
	for i := range uuidBytes {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (s[i] == '-') || !dash && !isHex(s[i]) {
			return false
		}
	}
	return true
}

// copyEscape passes on an escape sequence.
func (sc *scanner) copyEscape(n int) {
	sc.copy(n)
	sc.escape = len(sc.out)
}

// afterEscape reports whether the latest escape sequence ends here.
func (sc *scanner) afterEscape() bool { return sc.escape > 0 && sc.escape == len(sc.out) }

// percent treats %40 as @ and %2B as +, as they stand in URLs, and passes on other bytes in percent-encoding.
func (sc *scanner) percent() {
	rest := sc.rest(0)
	switch {
	case strings.HasPrefix(rest, "%40"):
		sc.email(3)
	case strings.EqualFold(prefix(rest, 3), "%2B"):
		sc.number()
	case sc.numberHere(1) == 0 && isHex(at(rest, 1)) && isHex(at(rest, 2)):
		sc.copyEscape(3)
	default:
		sc.copyEscape(1)
	}
}

// backslash passes on the letter of an escape sequence, or the four digits of \u0020 too.
func (sc *scanner) backslash() {
	rest := sc.rest(0)
	if rest[0] == 'u' && run(rest[1:], 4, isHex) == 4 {
		sc.copyEscape(5)
		return
	}
	sc.copyEscape(1)
}

func prefix(s string, n int) string { return s[:min(n, len(s))] }

func at(s string, i int) byte {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i]
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isAlnum(c byte) bool  { return isDigit(c) || isLetter(c) }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }
func isBlank(c byte) bool  { return c == ' ' || c == '\t' }

// run counts the leading bytes of s that are in class, up to limit.
func run(s string, limit int, class func(byte) bool) int {
	n := 0
	for n < len(s) && n < limit && class(s[n]) {
		n++
	}
	return n
}
