package redact

import (
	"slices"
	"strings"
	"time"
)

// isMobile knows mainland mobile numbers: eleven digits from 13 to 19, with or without the country code or a leading 0.
func isMobile(digits string) bool {
	for _, code := range []string{"0086", "86", "0"} {
		if len(digits) == len(code)+11 && strings.HasPrefix(digits, code) {
			digits = digits[len(code):]
			break
		}
	}
	return len(digits) == 11 && digits[0] == '1' && digits[1] >= '3'
}

// isIdentity knows the 18 characters of an identity number: region, date of birth, serial number, check digit (GB 11643).
func isIdentity(s string) bool {
	if len(s) != 18 || !isRegion(s) || !isDate(s[6:14]) {
		return false
	}
	weights := [17]int{7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2}
	sum := 0
	for i, weight := range weights {
		if !isDigit(s[i]) {
			return false
		}
		sum += weight * int(s[i]-'0')
	}
	check := "10X98765432"[sum%11]
	return s[17] == check || check == 'X' && s[17] == 'x'
}

// isOldIdentity knows those of before 1999: two digits for the year, no check digit.
func isOldIdentity(s string) bool {
	return len(s) == 15 && isRegion(s) && isDate("19"+s[6:12])
}

var regions = strings.Fields("11 12 13 14 15 21 22 23 31 32 33 34 35 36 37 41 42 43 44 45 46 50 51 52 53 54 " +
	"61 62 63 64 65 71 81 82 83 91")

func isRegion(s string) bool { return slices.Contains(regions, s[:2]) }

func isDate(s string) bool {
	date, err := time.Parse("20060102", s)
	return err == nil && date.Year() >= 1900 && date.Year() < 2100
}

// isCard knows payment cards by the range of their issuer, their length and their check digit (ISO/IEC 7812).
func isCard(digits string) bool {
	if len(digits) < 13 || len(digits) > 19 {
		return false
	}
	for _, r := range cardRanges {
		if n := len(r.from); r.from <= digits[:n] && digits[:n] <= r.to {
			return slices.Contains(r.lengths, len(digits)) && passesLuhn(digits)
		}
	}
	return false
}

// cardRanges are what the numbers of an issuer begin with, and how long they are.
var cardRanges = []struct {
	from, to string
	lengths  []int
}{
	{"2200", "2204", []int{16, 17, 18, 19}}, // Mir
	{"2221", "2720", []int{16}},             // Mastercard
	{"30", "30", []int{14, 16}},             // Diners
	{"34", "34", []int{15}},                 // American Express
	{"3528", "3589", []int{16, 17, 18, 19}}, // JCB
	{"36", "36", []int{14, 16}},
	{"37", "37", []int{15}},
	{"38", "39", []int{14, 16}},
	{"4", "4", []int{13, 16, 19}},       // Visa
	{"50", "50", []int{16, 17, 18, 19}}, // Maestro
	{"51", "55", []int{16}},             // Mastercard
	{"56", "58", []int{16, 17, 18, 19}}, // Maestro
	{"60", "69", []int{16, 17, 18, 19}}, // Discover, UnionPay, RuPay, Maestro
	{"81", "81", []int{16, 17, 18, 19}}, // UnionPay
}

func passesLuhn(digits string) bool {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}
