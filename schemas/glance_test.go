package schemas

import (
	"regexp"
	"strings"
	"testing"
)

// FuzzGlance holds the short cuts against the long way: a look at every token, and a scan before a decode.
func FuzzGlance(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"a":2}`, `{"payload":{"a":1,"a":2}}`, `{"x":[1,{"b":1,"b":2}]}`, `"\ud800"`, "\"\xff\"", `{"v":"x"}`, `{"payload":1} x`,
		`1e5`, `1E5`, `{"payload":1e1001}`, `[true,false,null]`, `"\\"`, `"\\\""`, `"`, `"\`, ``, ` {} `, `{"metadata":{"\"[":[[]]}}`,
		strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 65) + strings.Repeat("]", 65),
		strings.Repeat("1", 500) + "." + strings.Repeat("1", 500), strings.Repeat("1", 501) + "." + strings.Repeat("1", 500),
		"-" + strings.Repeat("1", 1001), `{"payload":` + strings.Repeat("1", 1001) + `}`, `{"priority":"1","tags":[1,}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if quick, slow := Scan(data), scan(data, MaxDepth); !same(quick, slow) {
			t.Errorf("Scan says %v, a look at every token %v", quick, slow)
		}
		var quick, slow ReachMessage
		if got, want := Accept(data, &quick), acceptSlowly(data, &slow); !same(got, want) {
			t.Errorf("Accept says %v, a scan and a decode %v", got, want)
		} else if want == nil && string(MustEncode(quick)) != string(MustEncode(slow)) {
			t.Errorf("Accept reads %s, a scan and a decode %s", MustEncode(quick), MustEncode(slow))
		}
	})
}

func acceptSlowly(data []byte, v any) error {
	if err := scan(data, MaxDepth); err != nil {
		return err
	}
	if err := decode(data, v); err != nil {
		return decodeError(err)
	}
	return nil
}

func same(a, b error) bool {
	return (a == nil) == (b == nil) && (a == nil || string(MustEncode(a)) == string(MustEncode(b)))
}

// FuzzGrammars holds the loops against the grammars that they stand for.
func FuzzGrammars(f *testing.F) {
	grammars := []struct {
		fits    func(string) bool
		grammar *regexp.Regexp
	}{
		{isCapability, regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)},
		{isLabel, regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)},
		{isTaskID, regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)},
		{IsToken, regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)},
	}
	for _, seed := range []string{
		"", "a", "-", "_", "a-", "-a", "a_b", "a-b", "9", "A", "é", "a\n", strings.Repeat("a", 63), strings.Repeat("a", 64),
		strings.Repeat("a", 65), "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10", "01a226bf-4900-7b1e-:d54-0f6a3f1f8a10",
		"01a226bf-4900-7b1e-9d54-0f6a3f1f8a1-", "01a226bf04900-7b1e-9d54-0f6a3f1f8a10", "01a226bf-4900-6b1e-9d54-0f6a3f1f8a10",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, g := range grammars {
			if got, want := g.fits(text), g.grammar.MatchString(text); got != want {
				t.Errorf("%q: %v, by %s it is %v", text, got, g.grammar, want)
			}
		}
	})
}
