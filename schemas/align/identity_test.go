package align_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/align"
	"github.com/agentreach/agent-reach/schemas/contract"
)

// two are a capability's and an agent's schema of one thing, and values of the capability's.
type two struct {
	capability, agent string
	value             func(*rapid.T) string
}

// TestThereAndBackIsIdentity draws schemas that differ in what may differ, and values of the capability's: each is a value of the
// agent's in the agent's words, and comes back as it was, byte for byte.
func TestThereAndBackIsIdentity(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := object(t, 3)
		spellings := align.Derive([]byte(s.capability), []byte(s.agent))
		pair := align.New(&schemas.Alignment{Input: spellings, Output: spellings, Chunk: spellings})
		value := []byte(s.value(t))
		there := pair.Payload(value)
		mustFit(t, s.capability, value)
		mustFit(t, s.agent, there)
		if back := pair.Result(there); string(back) != string(value) {
			t.Fatalf("%s\nbecame %s\nand came back as %s", value, there, back)
		}
		if back := pair.Chunk(there); string(back) != string(value) {
			t.Fatalf("%s\nbecame %s\nand came back as a chunk %s", value, there, back)
		}
	})
}

// TestAnyValueComesBack holds names and constants against values that no schema has seen.
func TestAnyValueComesBack(t *testing.T) {
	t.Parallel()
	pair := both(
		schemas.Spelling{At: "/a_b", Name: "aB"}, schemas.Spelling{At: "/a_b/*/c", Name: "C", Enum: map[string]string{"x": "X"}},
		schemas.Spelling{At: "/c", Enum: map[string]string{"x": "X", "a_b": "aB"}},
	)
	rapid.Check(t, func(t *rapid.T) {
		value := []byte(anything(t, 4))
		if back := pair.Result(pair.Payload(value)); string(back) != string(value) {
			t.Fatalf("%s came back as %s", value, back)
		}
	})
}

func mustFit(t *rapid.T, schema string, value []byte) {
	compiled, err := contract.Compile([]byte(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	if violation := compiled.Check(value); violation != nil {
		t.Fatalf("%s is no value of %s: %s", value, schema, violation.Message)
	}
}

func object(t *rapid.T, depth int) two {
	var ours, theirs []string
	var members []func(*rapid.T) string
	for i := range rapid.IntRange(1, 4).Draw(t, "members") {
		inner := thing(t, depth-1)
		name, called := named(t, i)
		ours = append(ours, fmt.Sprintf("%q:%s", name, inner.capability))
		theirs = append(theirs, fmt.Sprintf("%q:%s", called, inner.agent))
		members = append(members, func(t *rapid.T) string { return fmt.Sprintf("%q%s:%s", name, blank(t), inner.value(t)) })
	}
	schema := `{"type":"object","additionalProperties":false,"properties":{%s}}`
	return two{fmt.Sprintf(schema, strings.Join(ours, ",")), fmt.Sprintf(schema, strings.Join(theirs, ",")), func(t *rapid.T) string {
		var there []string
		for _, member := range members {
			if rapid.Bool().Draw(t, "there") {
				there = append(there, member(t))
			}
		}
		return "{" + blank(t) + strings.Join(there, blank(t)+",") + blank(t) + "}"
	}}
}

// named is one name in two spellings; no two members of an object have the same one.
func named(t *rapid.T, i int) (ours, theirs string) {
	ways := []string{fmt.Sprintf("some_name%d", i), fmt.Sprintf("someName%d", i), fmt.Sprintf("SomeName%d", i), fmt.Sprintf("some-name%d", i)}
	return rapid.SampledFrom(ways).Draw(t, "our name"), rapid.SampledFrom(ways).Draw(t, "their name")
}

func thing(t *rapid.T, depth int) two {
	kinds := []func(*rapid.T, int) two{instant, constant, plain, constant, instant, object, list}
	if depth == 0 {
		kinds = kinds[:3]
	}
	return kinds[rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")](t, depth)
}

func list(t *rapid.T, depth int) two {
	inner := thing(t, depth-1)
	if depth == 1 {
		inner = plain(t, 0)
	}
	schema := `{"type":"array","items":%s}`
	return two{fmt.Sprintf(schema, inner.capability), fmt.Sprintf(schema, inner.agent), func(t *rapid.T) string {
		var elements []string
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			elements = append(elements, inner.value(t))
		}
		return "[" + strings.Join(elements, ","+blank(t)) + blank(t) + "]"
	}}
}

func plain(*rapid.T, int) two {
	return two{`{}`, `{}`, func(t *rapid.T) string { return anything(t, 2) }}
}

// instant is a time that is text on one side; its values are such as the other side holds exactly.
func instant(t *rapid.T, _ int) two {
	const text = `{"type":"string","format":"date-time"}`
	way := rapid.SampledFrom([]struct {
		schema string
		unit   time.Duration
	}{
		{`{"type":"integer"}`, time.Second},
		{`{"type":"integer","format":"epoch-ms"}`, time.Millisecond},
		{`{"type":"number"}`, time.Nanosecond},
	}).Draw(t, "form")
	at := func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(-62167219200, 253402300799).Draw(t, "seconds"), rapid.Int64Range(0, 999999999).Draw(t, "nanos")).
			Truncate(way.unit).UTC()
	}
	if rapid.Bool().Draw(t, "text there") && way.unit != time.Nanosecond {
		return two{way.schema, text, func(t *rapid.T) string { return fmt.Sprint(at(t).UnixMilli() / way.unit.Milliseconds()) }}
	}
	return two{text, way.schema, func(t *rapid.T) string {
		return at(t).Truncate(time.Millisecond).Format(`"2006-01-02T15:04:05.000Z"`)
	}}
}

func constant(t *rapid.T, _ int) two {
	ours := []string{"low", "very_high", "none"}
	theirs := rapid.SampledFrom([][]string{{"LOW", "VERY_HIGH", "none"}, {"Low", "veryHigh", "None"}, ours}).Draw(t, "constants")
	schema := func(words []string) string { return `{"enum":["` + strings.Join(words, `","`) + `"]}` }
	return two{schema(ours), schema(theirs), func(t *rapid.T) string { return `"` + rapid.SampledFrom(ours).Draw(t, "word") + `"` }}
}

// anything is any JSON, made of words that spellings know among others.
func anything(t *rapid.T, depth int) string {
	words := []string{"a_b", "aB", "c", "C", "x", "X", "y"}
	kind := rapid.IntRange(0, 4).Draw(t, "kind")
	switch {
	case kind == 0 && depth > 0:
		names := rapid.Permutation(words).Draw(t, "names")[:rapid.IntRange(0, 4).Draw(t, "members")]
		for i, name := range names {
			names[i] = fmt.Sprintf("%q:%s%s", name, blank(t), anything(t, depth-1))
		}
		return "{" + strings.Join(names, ",") + "}"
	case kind == 1 && depth > 0:
		return "[" + anything(t, depth-1) + blank(t) + "," + anything(t, depth-1) + "]"
	case kind == 2:
		return rapid.SampledFrom([]string{"null", "true", "1e400", "-0", "9007199254740993", `"\u00e9\/"`, "1.0"}).Draw(t, "literal")
	}
	return `"` + rapid.SampledFrom(words).Draw(t, "word") + `"`
}

func blank(t *rapid.T) string { return rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "blank") }
