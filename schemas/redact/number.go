package redact

import (
	"slices"
	"strings"
)

// The longest number that is looked at: a card number with a zone code would be shorter.
const (
	maxDigits = 20
	maxGroups = 6
)

// number masks a telephone, identity or card number that begins here, or passes a run of digits.
func (sc *scanner) number() {
	if n := sc.numberHere(0); n > 0 {
		sc.mask(sc.pos + n)
		return
	}
	sc.copy(max(1, run(sc.rest(0), len(sc.in), isDigit)))
}

// numberHere is the length of a number that begins at an offset from here; 0 if none does.
func (sc *scanner) numberHere(offset int) int {
	rest := sc.rest(offset)
	if rest == "" || offset == 0 && !sc.startsNumber() {
		return 0
	}
	if n := numberAt(rest); n > 0 && endsNumber(rest[n:]) {
		return n
	}
	return 0
}

// startsNumber reports whether a number may begin after what was passed. Digits within hexadecimal ids are none, nor are decimals.
func (sc *scanner) startsNumber() bool {
	last := sc.last()
	switch {
	case sc.afterEscape():
		return true
	case isDigit(last):
		return false
	case last == '.':
		return !isDigit(sc.back(2)) || sc.escape == len(sc.out)-1
	case isLetter(last):
		return sc.afterWord()
	}
	return true
}

// afterWord reports whether what was passed ends in a word, such as tel: only letters, and not only those of hexadecimal digits.
func (sc *scanner) afterWord() bool {
	const longest = 16
	word := false
	for n := 1; n <= longest; n++ {
		c := sc.back(n)
		if !isLetter(c) {
			return word && !isDigit(c)
		}
		word = word || !isHex(c)
	}
	return false
}

// endsNumber reports whether a number may end before rest.
func endsNumber(rest string) bool {
	next := at(rest, 0)
	if next == '.' {
		return !isDigit(at(rest, 1))
	}
	return !isHex(next)
}

// numberAt is the length of the number at the beginning of s; 0 if there is none.
func numberAt(s string) int {
	switch {
	case s[0] == '+':
		return internationalAt(s, 1)
	case s[0] == '%':
		return internationalAt(s, len("%2B"))
	case s[0] == '(':
		return areaCodeAt(s)
	}
	digits := run(s, maxDigits, isDigit)
	if digits == 17 && (at(s, 17) == 'X' || at(s, 17) == 'x') && isIdentity(s[:18]) {
		return 18
	}
	if isPersonal(s[:digits]) {
		return digits
	}
	return groupedAt(s)
}

// isPersonal knows numbers without separators.
func isPersonal(digits string) bool {
	return isMobile(digits) || isIdentity(digits) || isOldIdentity(digits) || isCard(digits)
}

// internationalAt reads 8 to 15 digits in groups after a plus sign (E.164).
func internationalAt(s string, start int) int {
	if first := at(s, start); first < '1' || first > '9' {
		return 0
	}
	end, digits := start, 0
	for i := start; ; {
		n := run(s[i:], maxDigits, isDigit)
		if digits+n > 15 || n == 0 {
			break
		}
		digits += n
		end = i + n
		i = end + run(s[end:], 2, isPhoneSeparator)
		if i >= len(s) {
			break
		}
	}
	if digits < 8 || isDigit(at(s, end)) {
		return 0
	}
	return end
}

func isPhoneSeparator(c byte) bool { return strings.IndexByte(" -.()/", c) >= 0 }

// areaCodeAt reads (010) 6552 9988.
func areaCodeAt(s string) int {
	code := run(s[1:], 4, isDigit)
	if code < 3 || s[1] != '0' || at(s, 1+code) != ')' {
		return 0
	}
	start := 2 + code
	start += run(s[start:], 1, isBlank)
	n := run(s[start:], 9, isDigit)
	if n == 4 && isGroupSeparator(at(s, start+4)) {
		if m := run(s[start+5:], 5, isDigit); m == 4 {
			return start + 9
		}
	}
	if n == 7 || n == 8 {
		return start + n
	}
	return 0
}

func isGroupSeparator(c byte) bool { return c == ' ' || c == '-' }

// group is a run of digits: how many there are, and where it ends.
type group struct{ size, end int }

// groupedAt reads numbers written in groups with one and the same separator, the longest first: 138-0013-8000, 4111 1111 1111 1111.
func groupedAt(s string) int {
	digits, groups, separator := groupsAt(s)
	for len(groups) > 1 {
		last := groups[len(groups)-1]
		if isGrouped(digits, groups, separator) {
			return last.end
		}
		if x := at(s, last.end); (x == 'X' || x == 'x') && isIdentity(digits+"X") {
			return last.end + 1
		}
		digits, groups = digits[:len(digits)-last.size], groups[:len(groups)-1]
	}
	return 0
}

func groupsAt(s string) (digits string, groups []group, separator byte) {
	for start := 0; len(groups) < maxGroups; {
		size := run(s[start:], maxDigits, isDigit)
		if size == 0 || size == maxDigits {
			break
		}
		end := start + size
		digits, groups = digits+s[start:end], append(groups, group{size, end})
		next := at(s, end)
		if !isGroupSeparator(next) || separator != 0 && next != separator {
			break
		}
		separator, start = next, end+1
	}
	return digits, groups, separator
}

// isGrouped knows how people group: the sizes must fit, since unrelated numbers stand side by side too.
func isGrouped(digits string, groups []group, separator byte) bool {
	first, second := groups[0].size, groups[1].size
	switch {
	case isIdentity(digits):
		return true
	case isMobile(digits):
		return isMobileGrouping(groups)
	case isCard(digits):
		return first == 4 && allAtLeast(groups[:len(groups)-1], 4)
	}
	landline := len(groups) == 2 && separator == '-' && digits[0] == '0'
	return landline && (first == 3 || first == 4) && (second == 7 || second == 8)
}

// isMobileGrouping takes 138-0013-8000 and the like, with or without a country code before it.
func isMobileGrouping(groups []group) bool {
	for len(groups) > 1 && sumOf(groups) > 11 {
		groups = groups[1:]
	}
	sizes := make([]int, len(groups))
	for i, g := range groups {
		sizes[i] = g.size
	}
	return slices.ContainsFunc(mobileGroupings, func(usual []int) bool { return slices.Equal(usual, sizes) })
}

var mobileGroupings = [][]int{{11}, {3, 8}, {3, 4, 4}, {4, 4, 3}, {7, 4}}

func sumOf(groups []group) int {
	sum := 0
	for _, g := range groups {
		sum += g.size
	}
	return sum
}

func allAtLeast(groups []group, least int) bool {
	for _, g := range groups {
		if g.size < least {
			return false
		}
	}
	return true
}
