package contract_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
)

const small = 64 << 10

func TestSkeletonKeepsAllButLongStrings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä\\\\\\\"\\ud83d\\ude00x😀", 20_000)
	for name, tt := range map[string]struct {
		value string
		same  bool
	}{
		"nothing that is long":       {`{"a": [1.50, "short \"one\"", null], "b": {"c": true}}`, true},
		"a string alone":             {`"` + long + `"`, false},
		"strings among other things": {`{"text":"` + long + `","n":[1,"` + long + `" , 3],"z":"end"}`, false},
	} {
		for _, chop := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in small reads %v", name, chop), func(t *testing.T) {
				t.Parallel()
				r := iotest.DataErrReader(strings.NewReader(tt.value))
				if chop {
					r = iotest.HalfReader(r)
				}
				skeleton, err := contract.ReadSkeleton(r, small)
				if err != nil {
					t.Fatal(err)
				}
				got := skeleton.Value
				if tt.same && string(got) != tt.value || len(got) > small || schemas.Scan(got) != nil {
					t.Errorf("%d bytes come of %d: %v", len(got), len(tt.value), schemas.Scan(got))
				}
				if strings.Count(string(got), `":`) != strings.Count(tt.value, `":`) || !tt.same && !strings.Contains(string(got), `ä\\\"😀x😀`) {
					t.Errorf("it is not the skeleton of the value: %.200s", got)
				}
			})
		}
	}
}

func TestSkeletonFindsWhatIsNoString(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for name, bad := range map[string]string{
		"a control character":    "\x01",
		"a newline":              "\n",
		"half of a character":    "\xc3",
		"no UTF-8":               "\xff\xfe",
		"an escape that is none": `\q`,
		"a lone surrogate":       `\ud83d`,
		"half an escape":         `\u12`,
	} {
		for where, value := range map[string]string{"within": `"` + long + bad + long + `"`, "at the end": `"` + long + bad + `"`} {
			_, err := contract.ReadSkeleton(strings.NewReader(value), small)
			if e := schemas.AsError(err); err == nil || e.Reason != schemas.ReasonNotJSON {
				t.Errorf("%s, %s: %v", name, where, err)
			}
		}
	}
	if _, err := contract.ReadSkeleton(strings.NewReader(`"`+long), small); schemas.AsError(err).Reason != schemas.ReasonNotJSON {
		t.Errorf("a string without an end: %v", err)
	}
}

func TestSomeValuesHaveNoSkeleton(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"many small things":  "[" + strings.Repeat("1,", small) + "1]",
		"a long name":        `{"` + strings.Repeat("x", 5000) + `" : 1}`,
		"many short strings": "[" + strings.Repeat(`"abc",`, small) + "1]",
	} {
		if _, err := contract.ReadSkeleton(strings.NewReader(value), small); !errors.Is(err, contract.ErrNoSkeleton) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadsStrings(t *testing.T) {
	t.Parallel()
	for schema, reads := range map[string]bool{
		`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`: false,
		`{"enum":["low","high"]}`:                                     false,
		`{"enum":["` + strings.Repeat("x", 5000) + `"]}`:              true,
		`{"properties":{"text":{"type":"string","maxLength":20000}}}`: true,
		`{"anyOf":[{"type":"null"},{"items":{"pattern":"^a"}}]}`:      true,
	} {
		compiled, err := contract.Compile([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		if compiled.ReadsStrings() != reads {
			t.Errorf("%.80s reads strings: %v", schema, !reads)
		}
	}
	var none *contract.Schema
	if none.ReadsStrings() {
		t.Error("no schema reads nothing")
	}
}

func TestMembersOfAValueAreLocated(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("ä\\u00e4\\\\ ", 2000)
	for name, tt := range map[string]struct{ value, want string }{
		"a long string among others": {` {"a":"` + text + `", "payload" : "` + text + `x" ,"z":"` + text + `"} `, `"` + text + `x"`},
		"an object":                  {`{"a":["` + text + `"],"payload":{"deep":{"payload":"` + text + `"}, "n": 1.50}}`, `{"deep":{"payload":"` + text + `"}, "n": 1.50}`},
		"what is escaped and short":  {`{"a":"` + strings.Repeat("\\u0061", 500) + `","payload":1}`, `1`},
		"no such member":             {`{"payloads":"` + text + `"}`, ""},
		"no object":                  {`["payload","` + text + `"]`, ""},
		"very many small values":     {`{"a":"` + text + `","payload":[` + strings.Repeat("1.0, ", small) + `[]] ,"z":{"payload":1}}`, `[` + strings.Repeat("1.0, ", small) + `[]]`},
		"null":                       {`{"payload": null}`, `null`},
	} {
		from, to, found, err := contract.Locate(strings.NewReader(tt.value), "payload")
		if err != nil {
			t.Fatal(err)
		}
		if got := tt.value[from:to]; got != tt.want || found != (tt.want != "") {
			t.Errorf("%s: found %v, %.80q", name, found, got)
		}
	}
}

func TestWhatIsNoValueHasNoMembers(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 5000)
	for name, tt := range map[string]struct{ value, reason string }{
		"half of an object":   {`{"payload":"` + text + `"`, schemas.ReasonNotJSON},
		"a member twice":      {`{"payload":1,"payload":"` + text + `"}`, schemas.ReasonDuplicateName},
		"more after it":       {`{"payload":"` + text + `"} {}`, schemas.ReasonNotJSON},
		"a number too large":  {`{"a":"` + text + `","payload":1e1001}`, schemas.ReasonBadNumber},
		"nested far too deep": {`{"payload":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, schemas.ReasonTooDeep},
		"nothing":             {``, schemas.ReasonNotJSON},
	} {
		_, _, _, err := contract.Locate(strings.NewReader(tt.value), "payload")
		if schemas.AsError(err).Reason != tt.reason {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamesThatWouldTakeMuchMemoryAreNotGathered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, value string
		want        error
	}{
		{"very many short ones", `{"payload":` + members(100_000, "a", "1") + `}`, contract.ErrNoSkeleton},
		{"many long ones", `{"payload":` + members(5_000, strings.Repeat("a", 1000), "1") + `}`, contract.ErrNoSkeleton},
		{"of open objects together", strings.Repeat(members(2_000, "a", "1")[:len(members(2_000, "a", "1"))-1]+`,"b":`, 40) + "1" + strings.Repeat("}", 40), contract.ErrNoSkeleton},
		{"of one object after the other", `{"payload":` + list(200, members(1_000, "a", "1")) + `}`, nil},
	} {
		if _, _, _, err := contract.Locate(strings.NewReader(tt.value), "payload"); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func FuzzSkeleton(f *testing.F) {
	f.Add(`{"a":"b"}`, "tail")
	f.Add(`"\ud83d\ude00`, `"`)
	f.Add(`{"payload":"`, `","z":1}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		value := before + strings.Repeat("y", 5000) + after
		problem := schemas.Scan([]byte(value))
		skeleton, err := contract.ReadSkeleton(strings.NewReader(value), 1<<20)
		switch {
		case errors.Is(err, contract.ErrNoSkeleton):
		case problem == nil && (err != nil || schemas.Scan(skeleton.Value) != nil):
			t.Errorf("a value has no skeleton, or one that is none: %v", err)
		case problem != nil && err == nil && schemas.Scan(skeleton.Value) == nil && schemas.AsError(problem).Reason != schemas.ReasonTooDeep:
			t.Errorf("what is no value has a skeleton that is one: %q", value)
		case problem == nil:
			if from, to, found, err := contract.Locate(strings.NewReader(value), "payload"); err != nil || found && schemas.Scan([]byte(value[from:to])) != nil {
				t.Errorf("a member is not where it is said to be: %q, %v", value[from:to], err)
			}
		}
	})
}
