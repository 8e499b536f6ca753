package schemas_test

import (
	stdjson "encoding/json"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

func TestTimeIsWrittenInOneForm(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("", 3600)
	tests := []struct {
		name string
		time time.Time
		want string
	}{
		{"three decimals, always", time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC), "2026-11-29T10:00:00.000Z"},
		{"finer parts are cut, not rounded", time.Date(2026, 11, 29, 10, 0, 0, 1_999_999, time.UTC), "2026-11-29T10:00:00.001Z"},
		{"in UTC", time.Date(2026, 11, 29, 11, 0, 0, 0, berlin), "2026-11-29T10:00:00.000Z"},
		{"before 1970", time.Date(1969, 12, 31, 23, 59, 59, 999_900_000, time.UTC), "1969-12-31T23:59:59.999Z"},
		{"none", time.Time{}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := schemas.At(tt.time).String(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTimeIsReadFromRFC3339(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"our form", `"2026-11-29T10:00:00.123Z"`, "2026-11-29T10:00:00.123Z"},
		{"no decimals", `"2026-11-29T10:00:00Z"`, "2026-11-29T10:00:00.000Z"},
		{"nine decimals", `"2026-11-29T10:00:00.123456789Z"`, "2026-11-29T10:00:00.123Z"},
		{"another zone", `"2026-11-29T11:00:00+01:00"`, "2026-11-29T10:00:00.000Z"},
		{"null is no time", `null`, ""},
		{"the last moment with four digits", `"9999-12-31T23:59:59.999Z"`, "9999-12-31T23:59:59.999Z"},
		{"a year of five digits in UTC", `"9999-12-31T23:59:59-00:01"`, "refused"},
		{"a year before the first in UTC", `"0000-01-01T00:00:00+00:01"`, "refused"},
		{"a comma for the point", `"2026-11-29T10:00:00,5Z"`, "refused"},
		{"an hour of one digit", `"2026-11-29T1:00:00Z"`, "refused"},
		{"no zone", `"2026-11-29T10:00:00"`, "refused"},
		{"a day alone", `"2026-11-29"`, "refused"},
		{"February 30th", `"2026-02-30T10:00:00Z"`, "refused"},
		{"seconds since 1970", `1795946400`, "refused"},
		{"nothing", `""`, "refused"},
		{"an object", `{}`, "refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var message schemas.ReachMessage
			got := "refused"
			if schemas.Accept([]byte(`{"expires_at":`+tt.text+`}`), &message) == nil {
				got = message.ExpiresAt.String()
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			var std struct{ T schemas.Time }
			got = "refused"
			if stdjson.Unmarshal([]byte(`{"T":`+tt.text+`}`), &std) == nil {
				got = std.T.String()
			}
			if got != tt.want {
				t.Errorf("encoding/json got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAbsentTimesAreNotWritten(t *testing.T) {
	t.Parallel()
	for name, typ := range wireTypes {
		text := schemas.MustEncode(newOf(typ))
		if err := schemas.Decode(text, newOf(typ)); err != nil {
			t.Errorf("an empty %s is written as %s: %v", name, text, err)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, written string
		understood          bool
	}{
		{"absent is the first", `{}`, `{"v":1,"id":""}`, true},
		{"the first", `{"v":1}`, `{"v":1,"id":""}`, true},
		{"zero is none", `{"v":0}`, `{"v":1,"id":""}`, true},
		{"a newer one stays what it is", `{"v":2}`, `{"v":2,"id":""}`, false},
		{"below zero", `{"v":-1}`, `{"v":1,"id":""}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var ref schemas.CapabilityRef
			if err := schemas.Accept([]byte(tt.text), &ref); err != nil {
				t.Fatal(err)
			}
			if got := string(schemas.MustEncode(&ref)); got != tt.written {
				t.Errorf("written as %s, want %s", got, tt.written)
			}
			if got := ref.V.Understood(); got != tt.understood {
				t.Errorf("understood: %t", got)
			}
		})
	}
}

func TestMillisecondsAndDuration(t *testing.T) {
	t.Parallel()
	if got := schemas.Milliseconds(1500*time.Millisecond + 999*time.Microsecond); got != 1500 {
		t.Errorf("1.500999 s is %d ms", got)
	}
	if got := schemas.Duration(1500); got != 1500*time.Millisecond {
		t.Errorf("1500 ms is %s", got)
	}
}
