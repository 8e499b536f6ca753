package align

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// convert gives an instant, a JSON value in one form, in another; false where it is none, or the other form cannot hold it exactly.
func convert(from, to schemas.TimeForm, raw []byte) ([]byte, bool) {
	at, ok := instant(from, raw)
	if !ok {
		return nil, false
	}
	return written(to, at)
}

const (
	textMillis = "2006-01-02T15:04:05.000Z"
	textNanos  = "2006-01-02T15:04:05.999999999Z"
)

// finest is a text with more digits of a second than an instant here can hold.
var finest = regexp.MustCompile(`\.\d{10}`)

// number is a literal that is read exactly; nothing is known to write an instant with an exponent.
var number = regexp.MustCompile(`^-?\d{1,15}(\.\d{1,9})?$`)

func instant(form schemas.TimeForm, raw []byte) (time.Time, bool) {
	if form == schemas.TimeText {
		text, ok := unquote(raw)
		if !ok || finest.MatchString(text) {
			return time.Time{}, false
		}
		at, err := time.Parse(time.RFC3339Nano, text)
		return at, err == nil
	}
	if !number.Match(raw) || string(raw) == "-0" {
		return time.Time{}, false
	}
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(string(raw), "-"), ".")
	if fraction != "" && form != schemas.TimeFraction {
		return time.Time{}, false
	}
	at := elapsed(form, whole, fraction, raw[0] == '-')
	return at, at.Year() >= 0 && at.Year() <= 9999
}

// elapsed is so many seconds or milliseconds after 1970, or before it.
func elapsed(form schemas.TimeForm, whole, fraction string, before bool) time.Time {
	n, _ := strconv.ParseInt(whole, 10, 64)
	nanos, _ := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	if before {
		n, nanos = -n, -nanos
	}
	if form == schemas.TimeMillis {
		return time.UnixMilli(n).UTC()
	}
	return time.Unix(n, nanos).UTC()
}

func written(form schemas.TimeForm, at time.Time) ([]byte, bool) {
	seconds, nanos := at.Unix(), at.Nanosecond()
	switch form {
	case schemas.TimeText:
		layout := textMillis
		if nanos%int(time.Millisecond) != 0 {
			layout = textNanos
		}
		return strconv.AppendQuote(nil, at.UTC().Format(layout)), true
	case schemas.TimeSeconds:
		return strconv.AppendInt(nil, seconds, 10), nanos == 0
	case schemas.TimeMillis:
		return strconv.AppendInt(nil, at.UnixMilli(), 10), nanos%int(time.Millisecond) == 0
	}
	return fractional(seconds, nanos), true
}

// fractional is seconds with as many decimals as they need.
func fractional(seconds int64, nanos int) []byte {
	if nanos == 0 {
		return strconv.AppendInt(nil, seconds, 10)
	}
	var out []byte
	if seconds < 0 { // the fraction of an instant counts forwards, that of a number away from zero
		seconds, nanos = -seconds-1, int(time.Second)-nanos
		out = append(out, '-')
	}
	out = strconv.AppendInt(out, seconds, 10)
	digits := strconv.Itoa(int(time.Second) + nanos)[1:]
	return append(append(out, '.'), strings.TrimRight(digits, "0")...)
}
