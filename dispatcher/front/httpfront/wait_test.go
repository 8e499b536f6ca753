package httpfront

import (
	"math"
	"testing"
	"time"
)

func TestHowLongAnythingLastsWhereNobodySaysOtherwise(t *testing.T) {
	t.Parallel()
	c := Config{}.withDefaults()
	if c.WaitMax != time.Minute || c.KeepAlive != 15*time.Second || c.Limits.PayloadBytes != 128<<20 {
		t.Errorf("a wait lasts %v, a stream is silent for %v, a payload has %d bytes", c.WaitMax, c.KeepAlive, c.Limits.PayloadBytes)
	}
}

func TestParseWait(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"30s", 30 * time.Second, true},
		{"1m30s", 90 * time.Second, true},
		{"250ms", 250 * time.Millisecond, true},
		{"0", 0, true},
		{"10", 10 * time.Second, true},
		{"0.5", 500 * time.Millisecond, true},
		{"1e2", 100 * time.Second, true},
		{"99999999999999999999", math.MaxInt64, true},
		{"1e400", 0, false},
		{"", 0, false},
		{"-1", 0, false},
		{"-5s", 0, false},
		{"soon", 0, false},
		{"NaN", 0, false},
		{"Inf", 0, false},
		{"0x10", 0, false},
		{"1_000", 0, false},
		{"10 s", 0, false},
	}
	for _, tt := range tests {
		got, err := parseWait(tt.text)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%q: %v, %v", tt.text, got, err)
		}
	}
}

func TestParsePrefer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		lines   []string
		want    time.Duration
		applied string
		found   bool
	}{
		{"nothing", nil, 0, "", false},
		{"a wait", []string{"wait=10"}, 10 * time.Second, "wait=10", true},
		{"a quoted wait", []string{`wait="10"`}, 10 * time.Second, "wait=10", true},
		{"blanks and another case", []string{" Wait = 10 "}, 10 * time.Second, "wait=10", true},
		{"with a parameter", []string{"wait=10; x=y"}, 10 * time.Second, "wait=10", true},
		{"among others", []string{"handling=lenient, respond-async, wait=10"}, 10 * time.Second, "wait=10", true},
		{"in the second line", []string{"respond-async", "wait=10"}, 10 * time.Second, "wait=10", true},
		{"the first counts", []string{"wait=10, wait=20"}, 10 * time.Second, "wait=10", true},
		{"a wait of nothing", []string{"wait=0"}, 0, "wait=0", true},
		{"respond-async alone", []string{"respond-async"}, 0, "respond-async", true},
		{"a wait that is none is ignored", []string{"wait=soon"}, 0, "", false},
		{"so is a negative one", []string{"wait=-1"}, 0, "", false},
		{"and what is not a wait", []string{"waiting=10"}, 0, "", false},
	}
	for _, tt := range tests {
		wait, applied, found := parsePrefer(tt.lines)
		if wait != tt.want || applied != tt.applied || found != tt.found {
			t.Errorf("%s: %v, %q, %v", tt.name, wait, applied, found)
		}
	}
}

func FuzzParseWait(f *testing.F) {
	for _, seed := range []string{"30s", "10", "0.5", "-1", "1e400", "NaN", "1h1h", "9223372036854775807ns", "µs"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if wait, err := parseWait(text); wait < 0 || err != nil && wait != 0 {
			t.Errorf("%q: %v, %v", text, wait, err)
		}
	})
}

func FuzzParsePrefer(f *testing.F) {
	for _, seed := range []string{"wait=10", "respond-async, wait=1;a=b", `wait="`, ",,=;", "wait=99999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		wait, applied, found := parsePrefer([]string{line})
		if wait < 0 || found != (applied != "") {
			t.Errorf("%q: %v, %q, %v", line, wait, applied, found)
		}
		if again, _, _ := parsePrefer([]string{applied}); again != wait {
			t.Errorf("%q: what was applied, %q, reads as %v, not %v", line, applied, again, wait)
		}
	})
}
