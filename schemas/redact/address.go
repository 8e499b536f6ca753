package redact

import "strings"

const (
	maxLocalBytes    = 64
	maxDomainBytes   = 255
	maxUserinfoBytes = 1024
)

// email masks an address around the sign here, which is size bytes long. Its local part has been passed already.
func (sc *scanner) email(size int) {
	local := 0
	for local < maxLocalBytes && isLocal(sc.back(local+1)) {
		local++
	}
	domain := domainAt(sc.rest(size))
	if local == 0 || domain == 0 {
		sc.copyEscape(size)
		return
	}
	sc.out = sc.out[:len(sc.out)-local]
	sc.mask(sc.pos + size + domain)
}

func isLocal(c byte) bool {
	return isAlnum(c) || c != 0 && strings.IndexByte("._%+-~", c) >= 0
}

// domainAt is the length of a domain with at least two labels, of which the last is a word. A dot that ends a sentence is no part
// of it.
func domainAt(s string) int {
	end := 0
	for i := 0; i < maxDomainBytes; {
		n := run(s[i:], maxDomainBytes, isLabel)
		if n == 0 {
			break
		}
		if word := run(s[i:], n, isLetter); i > 0 && word >= 2 {
			end = i + word
		}
		if i += n; at(s, i) != '.' {
			break
		}
		i++
	}
	return end
}

func isLabel(c byte) bool { return isAlnum(c) || c == '-' }

// userinfo masks user name and password of a URL whose :// begins here.
func (sc *scanner) userinfo() {
	if !strings.HasPrefix(sc.rest(0), "://") {
		sc.copy(1)
		return
	}
	sc.copy(len("://"))
	authority := prefix(sc.rest(0), run(sc.rest(0), maxUserinfoBytes, isAuthority))
	if end := strings.LastIndexByte(authority, '@'); end > 0 && authority[:end] != Masked {
		sc.mask(sc.pos + end)
	}
}

func isAuthority(c byte) bool {
	return c > ' ' && strings.IndexByte("/?#\"'`<>\\", c) < 0
}
