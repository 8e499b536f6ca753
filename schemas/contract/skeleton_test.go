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
				got, err := contract.Skeleton(r, small)
				if err != nil || tt.same && string(got) != tt.value || len(got) > small || schemas.Scan(got) != nil {
					t.Errorf("%d bytes come of %d: %v, %v", len(got), len(tt.value), err, schemas.Scan(got))
				}
				if strings.Count(string(got), `":`) != strings.Count(tt.value, `":`) || !tt.same && !strings.HasPrefix(tt.value, string(got[:1000])) {
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
			_, err := contract.Skeleton(strings.NewReader(value), small)
			if e := schemas.AsError(err); err == nil || e.Reason != schemas.ReasonNotJSON {
				t.Errorf("%s, %s: %v", name, where, err)
			}
		}
	}
	if _, err := contract.Skeleton(strings.NewReader(`"`+long), small); schemas.AsError(err).Reason != schemas.ReasonNotJSON {
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
		if _, err := contract.Skeleton(strings.NewReader(value), small); !errors.Is(err, contract.ErrNoSkeleton) {
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

func FuzzSkeleton(f *testing.F) {
	f.Add(`{"a":"b"}`, "tail")
	f.Add(`"\ud83d\ude00`, `"`)
	f.Fuzz(func(t *testing.T, before, after string) {
		value := before + strings.Repeat("y", 5000) + after
		got, err := contract.Skeleton(strings.NewReader(value), 1<<20)
		if fine := schemas.Scan([]byte(value)) == nil; fine && !errors.Is(err, contract.ErrNoSkeleton) && (err != nil || schemas.Scan(got) != nil) {
			t.Errorf("a value has no skeleton, or one that is none: %v", err)
		} else if !fine && err == nil && schemas.Scan(got) == nil && schemas.AsError(schemas.Scan([]byte(value))).Reason != schemas.ReasonTooDeep {
			t.Errorf("what is no value has a skeleton that is one: %q", value)
		}
	})
}
