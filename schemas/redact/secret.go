package redact

import (
	"encoding/base64"
	"strings"
)

const (
	maxNameBytes   = 64 // of which kindOf takes notice
	maxRunBytes    = 256
	maxBlanks      = 8
	minTokenBytes  = 8
	maxSchemeBytes = 32
)

// word handles what begins with a letter: a name with a secret after it, a scheme with credentials, a token of known form.
func (sc *scanner) word() {
	rest := sc.rest(0)
	letters := run(rest, len(rest), isLetter)
	if isAlnum(sc.last()) && !sc.afterEscape() {
		sc.copy(letters)
		return
	}
	start, end := 0, 0
	if !sc.withinName() {
		start, end = secretAt(rest, sc.isFlag(), sc.isQuery())
	}
	if end == 0 {
		start, end = credentialsAt(rest)
	}
	if end > 0 {
		sc.copy(start)
		sc.mask(sc.pos + end - start)
		return
	}
	if n := tokenAt(rest); n > 0 {
		sc.mask(sc.pos + n)
		return
	}
	if sc.last() == '\\' {
		sc.backslash()
		return
	}
	sc.copy(letters)
}

// withinName reports whether a name that has been looked at goes on here: Token of Reach-Token.
func (sc *scanner) withinName() bool {
	return isName(sc.last()) && isAlnum(sc.back(2)) && !sc.afterEscape()
}

func (sc *scanner) isFlag() bool  { return sc.last() == '-' && sc.back(2) == '-' }
func (sc *scanner) isQuery() bool { return sc.last() == '?' || sc.last() == '&' }

// secretAt finds the value beside the name of a secret at the beginning of s: token=…, "password": "…", Authorization: …
func secretAt(s string, flag, query bool) (start, end int) {
	n := run(s, maxRunBytes, isName)
	start, quoted := separatorAt(s, n, flag)
	if start == 0 {
		return 0, 0
	}
	kind := kindOf(s[:n], query)
	if kind == notSecret {
		return 0, 0
	}
	return valueAt(s, start, kind, quoted)
}

func isName(c byte) bool { return isAlnum(c) || c == '_' || c == '-' || c == '.' }

type kind int

const (
	notSecret kind = iota
	oneWord        // the value ends with the word
	wholeLine      // the value may have blanks in it, as headers have
)

var (
	headerNames = strings.Fields("authorization proxyauthorization cookie setcookie")
	queryNames  = strings.Fields("key sig code")
	endings     = strings.Fields("token secret password passwd passphrase pwd psk apikey accesskey accesskeyid secretkey " +
		"privatekey signingkey encryptionkey authkey sharedkey accountkey hmackey credential credentials signature jwt")
	harmless = strings.Fields("reachtoken fencingtoken pagetoken nextpagetoken")
)

// kindOf knows names of secrets by their end, however they are written: api_key, X-Api-Key, apiKey.
func kindOf(name string, query bool) kind {
	plain := plainName(name)
	switch {
	case endsInOneOf(plain, harmless):
		return notSecret
	case endsInOneOf(plain, headerNames):
		return wholeLine
	case endsInOneOf(plain, endings):
		return oneWord
	}
	for _, known := range queryNames {
		if query && plain == known {
			return oneWord
		}
	}
	return notSecret
}

// plainName is the end of a name in lower-case letters and digits alone.
func plainName(name string) string {
	var plain [maxNameBytes]byte
	n := 0
	for i := max(0, len(name)-maxNameBytes); i < len(name); i++ {
		if c := name[i]; isAlnum(c) {
			plain[n] = toLower(c)
			n++
		}
	}
	return string(plain[:n])
}

func toLower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func endsInOneOf(name string, endings []string) bool {
	for _, ending := range endings {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}

// separatorAt passes what stands between name and value from i on: a closing quote, blanks, : or =, blanks. It gives the start of
// the value, 0 if there is no separator, and whether the name was quoted. After a flag, a blank will do.
func separatorAt(s string, i int, flag bool) (start int, quoted bool) {
	i += run(s[i:], maxBlanks, isQuote)
	quoted = i > 0 && isQuote(s[i-1])
	blanks := run(s[i:], maxBlanks, isBlank)
	i += blanks
	switch {
	case at(s, i) == ':' || at(s, i) == '=':
		i++
		if at(s, i) == '>' {
			i++
		}
	case strings.EqualFold(prefix(s[i:], 3), "%3d"), strings.EqualFold(prefix(s[i:], 3), "%3a"):
		i += 3
	case !flag || blanks == 0:
		return 0, false
	}
	return i + run(s[i:], maxBlanks, isBlank), quoted
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' || c == '\\' }

// valueAt finds where the value from start on begins and ends. Quotes and brackets stay where they are.
func valueAt(s string, start int, k kind, quotedName bool) (int, int) {
	if escapes := run(s[start:], maxBlanks, func(c byte) bool { return c == '\\' }); isQuote(at(s, start+escapes)) {
		open := start + escapes
		return notTrivial(s, open+1, closingQuote(s, open+1, s[open], escapes))
	}
	if at(s, start) == '[' {
		return notTrivial(s, start+1, untilAny(s, start+1, "]\n"))
	}
	switch {
	case k == wholeLine && !quotedName:
		return notTrivial(s, start, untilAny(s, start, "\r\n\"'`<>"))
	case quotedName:
		return notTrivial(s, start, untilAny(s, start, " \t\r\n,}]\"'`"))
	}
	return notTrivial(s, start, untilAny(s, start, " \t\r\n&\"'`<>\\"))
}

// notTrivial leaves alone what says that there is no secret, or that it has been masked.
func notTrivial(s string, start, end int) (int, int) {
	switch s[start:end] {
	case "", Masked, "null", "nil", "true", "false", "<nil>":
		return 0, 0
	}
	return start, end
}

func untilAny(s string, start int, ends string) int {
	if n := strings.IndexAny(s[start:], ends); n >= 0 {
		return start + n
	}
	return len(s)
}

// closingQuote finds the quote that ends what an opening one with so many backslashes before it has begun; the end of s if it is
// not there.
func closingQuote(s string, start int, quote byte, escapes int) int {
	backslashes := 0
	for i := start; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			backslashes++
			continue
		case s[i] == quote && (backslashes == escapes || escapes == 0 && backslashes%2 == 0):
			return i - escapes
		}
		backslashes = 0
	}
	return len(s)
}

// credentialsAt finds what follows a scheme of HTTP authentication.
func credentialsAt(s string) (start, end int) {
	n := run(s, maxSchemeBytes, isLetter)
	scheme := strings.ToLower(s[:n])
	blanks := run(s[n:], maxBlanks, isBlank)
	if blanks == 0 || scheme != "bearer" && scheme != "basic" {
		return 0, 0
	}
	start = n + blanks
	size := run(s[start:], len(s), isTokenByte)
	token := s[start : start+size]
	if scheme == "basic" && !isBasic(token) || scheme == "bearer" && !isBearer(token) {
		return 0, 0
	}
	return start, start + size
}

func isTokenByte(c byte) bool { return isAlnum(c) || strings.IndexByte("-._~+/=", c) >= 0 && c != 0 }

// isBearer tells tokens from words: "bearer of bad news".
func isBearer(token string) bool {
	return len(token) >= minTokenBytes || strings.ContainsAny(token, "0123456789")
}

func isBasic(token string) bool {
	decoded, err := base64.StdEncoding.DecodeString(token)
	return err == nil && strings.Contains(string(decoded), ":")
}

// shortestToken is the least that any of tokenForms has.
const shortestToken = 13

// tokenForms are tokens that say what they are: a beginning, and how many more bytes there are at least.
var tokenForms = []struct {
	begin string
	least int
}{
	{"eyJ", 16}, // JSON Web Token
	{"sk-", 16},
	{"sk_live_", 8},
	{"sk_test_", 8},
	{"rk_live_", 8},
	{"whsec_", 8},
	{"ghp_", 16},
	{"gho_", 16},
	{"ghs_", 16},
	{"ghu_", 16},
	{"ghr_", 16},
	{"github_pat_", 16},
	{"glpat-", 16},
	{"xoxb-", 8},
	{"xoxp-", 8},
	{"xoxa-", 8},
	{"hf_", 16},
	{"npm_", 16},
	{"AKIA", 16},
	{"ASIA", 16},
	{"AIza", 30},
	{"LTAI", 12},
}

// tokenAt is the length of a token of known form at the beginning of s.
func tokenAt(s string) int {
	if run(s, shortestToken, isTokenByte) < shortestToken {
		return 0
	}
	for _, form := range tokenForms {
		if !strings.HasPrefix(s, form.begin) {
			continue
		}
		if n := run(s, len(s), isTokenByte); n >= len(form.begin)+form.least {
			return n
		}
		return 0
	}
	return seedAt(s)
}

// seedAt is the length of an nkey seed: S, the kind of key, 56 characters of base32.
func seedAt(s string) int {
	const size = 58
	n := run(s, size+1, func(c byte) bool { return 'A' <= c && c <= 'Z' || '2' <= c && c <= '7' })
	if n != size || s[0] != 'S' || !strings.ContainsRune("UAOCNX", rune(s[1])) {
		return 0
	}
	return size
}

const (
	keyBegin = "-----BEGIN "
	keyEnd   = "-----END "
)

// privateKey masks a private key in PEM, whole or cut off.
func (sc *scanner) privateKey() {
	rest := sc.rest(0)
	if !strings.HasPrefix(rest, keyBegin) || !strings.Contains(prefix(rest, 64), "PRIVATE KEY") {
		sc.copy(1)
		return
	}
	end := len(rest)
	if n := strings.Index(rest, keyEnd); n >= 0 {
		end = n + len(keyEnd) + run(rest[n+len(keyEnd):], 64, func(c byte) bool { return c != '\n' && c != '\\' && c != '"' })
	}
	sc.mask(sc.pos + end)
}
