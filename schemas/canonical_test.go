package schemas_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, raw, want string }{
		{"members are sorted on every level", `{"b":{"d":1,"c":2},"a":[{"f":1,"e":2}]}`, `{"a":[{"e":2,"f":1}],"b":{"c":2,"d":1}}`},
		{"blanks go, but not those in strings", " { \"a\" :\t[ 1 ,\n2 ] , \"b\":\"x y\" } ", `{"a":[1,2],"b":"x y"}`},
		{"number literals stay as written", `[1.0,1e2,-0,9007199254740993,18446744073709551616,0.10]`, `[1.0,1e2,-0,9007199254740993,18446744073709551616,0.10]`},
		{"a string has one spelling", `["\u0041\/\u00e9","<&>"]`, `["A/é","<&>"]`},
		{"the order of a list matters", `[2,1]`, `[2,1]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := schemas.Canonical([]byte(tt.raw))
			if err != nil || string(got) != tt.want {
				t.Fatalf("Canonical(%s) = %s, %v; want %s", tt.raw, got, err, tt.want)
			}
			if again, err := schemas.Canonical(got); err != nil || string(again) != string(got) {
				t.Errorf("not stable: %s, %v", again, err)
			}
		})
	}
}

func TestCanonicalRefuses(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{``, `{`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, "\"\xff\"", `1 2`} {
		_, err := schemas.Canonical([]byte(raw))
		var refused *schemas.Error
		if !errors.As(err, &refused) || refused.Code != schemas.InvalidArgument {
			t.Errorf("Canonical(%q): %v", raw, err)
		}
	}
}

func TestCanonicalKeepsItsInput(t *testing.T) {
	t.Parallel()
	raw := []byte(`{"b":1,"a":2}`)
	if _, err := schemas.Canonical(raw); err != nil || string(raw) != `{"b":1,"a":2}` {
		t.Errorf("input is now %s, %v", raw, err)
	}
}

func ExampleCanonical() {
	form, err := schemas.Canonical([]byte(`{"to": "de", "text": "caf\u00e9", "id": 9007199254740993}`))
	fmt.Println(string(form), err)
	// Output: {"id":9007199254740993,"text":"café","to":"de"} <nil>
}
