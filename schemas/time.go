package schemas

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Version is the wire version of a message. The zero value is written as 1, the version that this code speaks.
type Version int

// CurrentVersion is the wire version that this code speaks.
const CurrentVersion Version = 1

// MarshalJSONTo writes the version, 1 where none was set.
func (v Version) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteToken(jsontext.Int(int64(max(v, CurrentVersion))))
}

// Understood reports whether this code can read a message of that version; an absent one counts as the first.
func (v Version) Understood() bool { return v >= 0 && v <= CurrentVersion }

// VersionIn is the version of a message that could not be read; an absent one, and one that is no number, counts as the first.
func VersionIn(body []byte) Version {
	var m struct {
		V Version `json:"v"`
	}
	if Decode(body, &m) != nil {
		return CurrentVersion
	}
	return m.V
}

// Time is a moment as the wire has it: RFC 3339, UTC, milliseconds. The zero value is an absent moment.
type Time struct{ time.Time }

// At is t as the wire has it, cut to whole milliseconds.
func At(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return Time{t.UTC().Truncate(time.Millisecond)}
}

// String is the wire form; empty for the zero value.
func (t Time) String() string { return string(t.append(nil)) }

// MarshalJSONTo writes the wire form.
func (t Time) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(append(t.append(append(enc.AvailableBuffer(), '"')), '"'))
}

// append writes RFC 3339 in UTC with exactly three decimals: the standard form without them, which is written fast, and then those.
func (t Time) append(to []byte) []byte {
	if t.IsZero() {
		return to
	}
	to = t.UTC().AppendFormat(to, time.RFC3339)
	return appendMilliseconds(append(to[:len(to)-1], '.'), t)
}

// appendMilliseconds writes what follows the decimal point.
func appendMilliseconds(to []byte, t Time) []byte {
	ms := t.Nanosecond() / int(time.Millisecond)
	return append(to, byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z')
}

// errNotTime is what a decoder says of anything but an RFC 3339 time that is still one in UTC.
var errNotTime = errors.New("not an RFC 3339 time")

// UnmarshalJSONFrom reads any RFC 3339 time and keeps whole milliseconds in UTC. Null is an absent moment.
func (t *Time) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case 'n':
		*t = Time{}
		return nil
	case '"':
		return t.parse(token.String())
	}
	return errNotTime
}

func (t *Time) parse(text string) error {
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || !strict(text) {
		return errNotTime
	}
	if year := parsed.UTC().Year(); year < 0 || year > 9999 {
		return errNotTime
	}
	*t = At(parsed)
	return nil
}

// momentOf reads the wire form, as this house writes it; any other does not fit.
func momentOf(text []byte) (t Time, fits bool) {
	const form = "2006-01-02T15:04:05.000Z"
	if len(text) != len(form) {
		return t, false
	}
	var parts [7]int // of the time, from the year to the millisecond
	part := 0
	for i := range len(form) {
		switch digit := isDigit(form[i]); {
		case digit && isDigit(text[i]):
			parts[part] = 10*parts[part] + int(text[i]-'0')
		case digit || text[i] != form[i]:
			return t, false
		default:
			part++
		}
	}
	year, month, day, hour, minute, second := parts[0], time.Month(parts[1]), parts[2], parts[3], parts[4], parts[5]
	t = Time{time.Date(year, month, day, hour, minute, second, parts[6]*int(time.Millisecond), time.UTC)}
	return t, t.Month() == month && t.Day() == day && hour < 24 && minute < 60 && second < 60
}

// strict refuses what time.Parse lets through beside RFC 3339: an hour of one digit, a comma for the point.
func strict(text string) bool {
	return text[len("2006-01-02T15")] == ':' && !strings.Contains(text, ",")
}

// MarshalJSON serves encoding/json.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// UnmarshalJSON serves encoding/json.
func (t *Time) UnmarshalJSON(data []byte) error {
	return t.UnmarshalJSONFrom(jsontext.NewDecoder(bytes.NewReader(data)))
}

// Milliseconds is d in the unit of every _ms field, rounded down.
func Milliseconds(d time.Duration) int64 { return d.Milliseconds() }

// Duration is the value of an _ms field.
func Duration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
