package schemas_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

// Numbers that a decoder to float64 would change, or could not take.
var numbers = []string{
	"9007199254740993", "9223372036854775807", "18446744073709551615", "0.1", "1.0", "1e2", "1E+2", "-0", "0.10",
	"1234567890123456789012345678901234567890", "0.1234567890123456789012345678901234567890", "1e400", "-1e-400",
}

func TestNumbersStayAsWritten(t *testing.T) {
	t.Parallel()
	for _, number := range numbers {
		t.Run(number, func(t *testing.T) {
			t.Parallel()
			for _, text := range []string{
				`{"v":1,"capability":"echo","payload":` + number + `}`,
				`{"v":1,"capability":"echo","payload":{"a":[` + number + `]}}`,
				`{"v":1,"capability":"echo","metadata":{"a":` + number + `}}`,
				`{"v":1,"capability":"echo","hops":[{"hop":"routed","by":"d","detail":{"a":` + number + `}}]}`,
				`{"v":1,"capability":"echo","strange":` + number + `}`,
			} {
				var message schemas.ReachMessage
				if err := schemas.Accept([]byte(text), &message); err != nil {
					t.Fatalf("accept %s: %v", text, err)
				}
				if got := string(schemas.MustEncode(&message)); got != text {
					t.Errorf("encoded again\n got %s\nwant %s", got, text)
				}
			}
		})
	}
}

func TestScan(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	digits := func(n int) string { return strings.Repeat("7", n) }
	type refusal struct{ Reason, Field string }
	tests := []struct {
		name, text string
		want       *refusal
	}{
		{"an object", `{"a":{"b":[1,"x",null,true]}}`, nil},
		{"a lone value", ` "x" `, nil},
		{"a lone number", `1`, nil},
		{"null", `null`, nil},
		{"as deep as allowed", nested(schemas.MaxDepth), nil},
		{"one deeper", nested(schemas.MaxDepth + 1), &refusal{schemas.ReasonTooDeep, strings.Repeat("/0", schemas.MaxDepth)}},
		{"far deeper", nested(100_000), &refusal{schemas.ReasonTooDeep, strings.Repeat("/0", schemas.MaxDepth)}},
		{"as many digits as allowed", `{"n":-` + digits(schemas.MaxNumberDigits) + `}`, nil},
		{"one digit more", `{"n":-` + digits(schemas.MaxNumberDigits+1) + `}`, &refusal{schemas.ReasonBadNumber, "/n"}},
		{"digits after the point count", `[0.` + digits(schemas.MaxNumberDigits) + `]`, &refusal{schemas.ReasonBadNumber, "/0"}},
		{"the largest power", `[1e1000,1E-1000,1e+1000]`, nil},
		{"a larger power", `[0,1e1001]`, &refusal{schemas.ReasonBadNumber, "/1"}},
		{"a smaller power", `{"a":{"b":1e-1001}}`, &refusal{schemas.ReasonBadNumber, "/a/b"}},
		{"a power that no integer holds", `1e99999999999999999999`, &refusal{schemas.ReasonBadNumber, ""}},
		{"an alarming number in a string is text", `"1e1000001"`, nil},
		{"a member twice", `{"a":{"b":1,"b":2}}`, &refusal{schemas.ReasonDuplicateName, "/a/b"}},
		{"a member twice in two spellings", `{"a":1,"\u0061":2}`, &refusal{schemas.ReasonDuplicateName, "/a"}},
		{"bytes that are not UTF-8", "{\"a\":\"\xff\"}", &refusal{schemas.ReasonNotJSON, "/a"}},
		{"half of a surrogate pair", `{"a":"\ud800"}`, &refusal{schemas.ReasonNotJSON, "/a"}},
		{"a control character in a string", "[\"\x01\"]", &refusal{schemas.ReasonNotJSON, "/0"}},
		{"a byte order mark", "\ufeff{}", &refusal{schemas.ReasonNotJSON, ""}},
		{"nothing", ``, &refusal{schemas.ReasonNotJSON, ""}},
		{"blanks alone", " \n", &refusal{schemas.ReasonNotJSON, ""}},
		{"a text cut off", `{"a":[1,`, &refusal{schemas.ReasonNotJSON, "/a"}},
		{"two values", `{} {}`, &refusal{schemas.ReasonNotJSON, ""}},
		{"a value and a bracket", `{}]`, &refusal{schemas.ReasonNotJSON, ""}},
		{"a comment", `{"a":1 /* one */}`, &refusal{schemas.ReasonNotJSON, ""}},
		{"a trailing comma", `[1,]`, &refusal{schemas.ReasonNotJSON, ""}},
		{"NaN", `[NaN]`, &refusal{schemas.ReasonNotJSON, "/0"}},
		{"a leading zero", `[01]`, &refusal{schemas.ReasonNotJSON, ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got *refusal
			if err := schemas.Scan([]byte(tt.text)); err != nil {
				e := refused(t, err)
				got = &refusal{e.Reason, fieldOf(e)}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Scan (-want +got):\n%s", diff)
			}
		})
	}
}

// refused is err as what every refusal of input must be.
func refused(t *testing.T, err error) *schemas.Error {
	t.Helper()
	e := schemas.AsError(err)
	if e == nil || e.Code != schemas.InvalidArgument {
		t.Fatalf("got %v, want INVALID_ARGUMENT", err)
	}
	return e
}

func fieldOf(e *schemas.Error) string {
	var field string
	if !e.Detail("field", &field) {
		return "(no field)"
	}
	return field
}

func TestAcceptSaysWhatBelongsWhere(t *testing.T) {
	t.Parallel()
	type refusal struct{ Field, Message string }
	tests := []struct {
		name, text string
		into       any
		want       refusal
	}{
		{"a string for an integer", `{"timeout_ms":"soon"}`, new(schemas.ReachMessage), refusal{
			"/timeout_ms", "this field takes an integer of at most 64 bits",
		}},
		{"a fraction for an integer", `{"attempt":1.5}`, new(schemas.ReachMessage), refusal{
			"/attempt", "this field takes an integer of at most 64 bits",
		}},
		{"a negative sequence", `{"tasks":[{"sequence":-1}]}`, new(schemas.Receipt), refusal{
			"/tasks/0/sequence", "this field takes a positive integer of at most 64 bits",
		}},
		{"a number that no float holds", `{"load_avg":1e400}`, new(schemas.Heartbeat), refusal{
			"/load_avg", "this field takes a number of double precision",
		}},
		{"an object for a string", `{"capability":{}}`, new(schemas.ReachMessage), refusal{
			"/capability", "this field takes a string",
		}},
		{"a string for a list", `{"tags":"notes"}`, new(schemas.ReachMessage), refusal{
			"/tags", "this field takes an array",
		}},
		{"a string for a boolean", `{"fail_fast":"yes"}`, new(schemas.ReachMessage), refusal{
			"/fail_fast", "this field takes true or false",
		}},
		{"no time", `{"expires_at":"tomorrow"}`, new(schemas.ReachMessage), refusal{
			"/expires_at", "this field takes an RFC 3339 time",
		}},
		{"a list for a message", `[]`, new(schemas.ReachMessage), refusal{"", "this field takes an object"}},
		{"a number for an offer", `{"capabilities":["a",3]}`, new(schemas.Registration), refusal{
			"/capabilities/1", "this field takes an object",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := refused(t, schemas.Accept([]byte(tt.text), tt.into))
			if diff := cmp.Diff(tt.want, refusal{fieldOf(e), e.Message}); diff != "" {
				t.Errorf("Accept (-want +got):\n%s", diff)
			}
			if e.Reason != schemas.ReasonWrongType {
				t.Errorf("reason %s", e.Reason)
			}
		})
	}
}

func TestAcceptQuotesNoInput(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, text := range []string{
		`{"timeout_ms":"hunter2"}`, `{"expires_at":"hunter2"}`, `{"payload":{"a":"hunter2`, `hunter2`, `{"a":hunter2}`, `{"v":"hunter2"}`,
		`{} hunter2`,
	} {
		e := refused(t, schemas.Accept([]byte(text), new(schemas.ReachMessage)))
		if all := string(schemas.MustEncode(e)) + e.Error(); strings.Contains(all, secret) {
			t.Errorf("%s: the refusal quotes it: %s", text, all)
		}
	}
}

func TestAcceptBoundsThePointer(t *testing.T) {
	t.Parallel()
	text := `{"` + strings.Repeat("é", 5000) + `":[1,]}`
	e := refused(t, schemas.Accept([]byte(text), new(schemas.ReachMessage)))
	if size := len(schemas.MustEncode(e)); size > 500 {
		t.Errorf("the refusal has %d bytes", size)
	}
}

func TestNamesOfMembersAreExact(t *testing.T) {
	t.Parallel()
	var message schemas.ReachMessage
	if err := schemas.Accept([]byte(`{"Capability":"a","capabilitY":"b","capability":"c"}`), &message); err != nil {
		t.Fatal(err)
	}
	if message.Capability != "c" {
		t.Errorf("capability %q", message.Capability)
	}
}

func TestNullResultIsNotAnAbsentOne(t *testing.T) {
	t.Parallel()
	var null, absent schemas.Result
	if err := schemas.Accept([]byte(`{"result":null}`), &null); err != nil {
		t.Fatal(err)
	}
	if err := schemas.Accept([]byte(`{}`), &absent); err != nil {
		t.Fatal(err)
	}
	if string(null.Result) != "null" || absent.Result != nil {
		t.Errorf("null decoded to %v, an absent one to %v", null.Result, absent.Result)
	}
	if text := string(schemas.MustEncode(&null)); !strings.Contains(text, `"result":null`) {
		t.Errorf("null is lost: %s", text)
	}
	if text := string(schemas.MustEncode(&absent)); strings.Contains(text, `"result"`) {
		t.Errorf("an absent result is written: %s", text)
	}
}

func TestDecodingAgainLeavesEarlierCopiesAlone(t *testing.T) {
	t.Parallel()
	var message schemas.ReachMessage
	if err := schemas.Accept([]byte(`{"payload":{"a":1}}`), &message); err != nil {
		t.Fatal(err)
	}
	kept := message
	if err := schemas.Accept([]byte(`{"payload":{"b":2}}`), &message); err != nil {
		t.Fatal(err)
	}
	if string(kept.Payload) != `{"a":1}` {
		t.Errorf("the copy became %s", []byte(kept.Payload))
	}
}

// What Accept takes, Encode writes, and Accept takes that again to the same end.
func FuzzAccept(f *testing.F) {
	for _, number := range numbers {
		f.Add([]byte(`{"v":1,"capability":"echo","payload":` + number + `}`))
	}
	f.Add([]byte(`{"expires_at":"9999-12-31T23:59:59-23:59","hops":[{"hop":"a","at":"0000-01-01T00:00:00+00:01"}]}`))
	f.Add([]byte(`{"v":-5,"priority":null,"metadata":null,"payload":null,"assignment":{"x":1}}`))
	f.Add([]byte("\ufeff{\"a\":\"\xff\"} {"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var message schemas.ReachMessage
		if err := schemas.Accept(text, &message); err != nil {
			refused(t, err)
			return
		}
		once, err := schemas.Encode(&message)
		if err != nil {
			t.Fatalf("encode what was accepted: %v", err)
		}
		var again schemas.ReachMessage
		if err := schemas.Accept(once, &again); err != nil {
			t.Fatalf("accept what was encoded, %s: %v", once, err)
		}
		if twice := schemas.MustEncode(&again); !bytes.Equal(once, twice) {
			t.Errorf("not stable:\n%s\n%s", once, twice)
		}
	})
}

func FuzzAcceptRegistration(f *testing.F) {
	f.Add([]byte(`{"capabilities":["a",{"name":"b"},{"id":"c","name":"d","x":1.0}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var registration schemas.Registration
		if err := schemas.Accept(text, &registration); err != nil {
			refused(t, err)
			return
		}
		_ = registration.Check()
		if _, err := schemas.Encode(&registration); err != nil {
			t.Fatalf("encode what was accepted: %v", err)
		}
	})
}
