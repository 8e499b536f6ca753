package contract_test

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas/contract"
)

func nested(depth int, value string) string {
	return strings.Repeat("[", depth) + value + strings.Repeat("]", depth)
}

func list(n int, item string) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }

func members(n int, name, value string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"%s%d":%s`, name, i, value)
	}
	return "{" + strings.Join(all, ",") + "}"
}

// Each of these takes the validator seconds or gigabytes. The bound here leaves room for a slow machine and the race detector. Processor
// time and memory are measured, which are those of the process: nothing runs beside it there, whatever else the machine does.
func TestBombsAreDefused(t *testing.T) {
	const longest, most = 8 * time.Second, 256 << 20 // unbounded, the same bombs take minutes and gigabytes
	forms := func(n int, form string) string { return `{"anyOf":` + list(n, form) + `}` }
	tests := []struct{ name, schema, value string }{
		{
			"definitions that double with every link",
			chain(24, `{"allOf":[{"$ref":"#/$defs/a%[1]d"},{"$ref":"#/$defs/a%[1]d"}]}`), `1`,
		},
		{
			"definitions that double with every level of the value",
			chain(22, `{"anyOf":[{"items":{"$ref":"#/$defs/a%[1]d"}},{"items":{"$ref":"#/$defs/a%[1]d"}}]}`), nested(22, "1"),
		},
		{
			"recursion through a choice",
			`{"anyOf":[{"type":"string"},{"items":{"$ref":"#"},"type":"array"},{"items":{"$ref":"#"},"minItems":1}]}`,
			nested(18, "1"),
		},
		{
			"recursion through a choice, as deep as a value may be",
			`{"anyOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}`, nested(64, ""),
		},
		{
			"recursion through members",
			`{"oneOf":[{"additionalProperties":{"$ref":"#"}},{"patternProperties":{"":{"$ref":"#"}}}]}`,
			strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60),
		},
		{
			"recursion through what is left over",
			`{"allOf":[{"unevaluatedItems":{"$ref":"#"}},{"unevaluatedItems":{"$ref":"#"}}]}`, nested(40, "1"),
		},
		{"many forms and many items", forms(400, `{"items":{"type":"string"}}`), list(30_000, "1")},
		{"many forms and some items", forms(400, `{"items":{"type":"string"}}`), list(100, "1")},
		{"many constants and many items", `{"items":{"enum":` + list(9_000, "1e900") + `}}`, list(3_000, "1e901")},
		{
			"large constants", `{"items":{"enum":` + list(60, nested(40, list(10, "1e9"))) + `}}`,
			list(3_000, nested(40, list(10, "1e8"))),
		},
		{"large fractions", `{"items":{"multipleOf":1e-999}}`, list(3_000, strings.Repeat("7", 900)+"e999")},
		{
			"large patterns and long texts", `{"items":{"pattern":"(.{0,400}x.{0,400}y)"}}`,
			list(100, `"`+strings.Repeat("a", 5_000)+`"`),
		},
		{
			"large name patterns", `{"patternProperties":{"(.{0,400}x.{0,400}y)":true}}`,
			`{"` + strings.Repeat("a", 500_000) + `":1}`,
		},
		{"large items that must differ", `{"items":{"uniqueItems":true}}`, list(50, list(20, `"`+strings.Repeat("a", 1_000)+`"`))},
		{"numbers that must differ", `{"uniqueItems":true}`, list(30_000, "1e900")},
		{
			"a pattern in the value", `{"items":{"format":"regex"}}`,
			list(300, `"(x{500}){2}y{1000}y{1000}y{1000}y{1000}y{1000}y{1000}y{1000}y{1000}y{1000}"`),
		},
		{"a long way to a small value", chain(60, `{"allOf":[{"$ref":"#/$defs/a%d"}]}`), `1`},
		{"a hundred thousand violations", `{"items":{"type":"string"}}`, list(100_000, "1")},
		{"very many members and many patterns", `{"patternProperties":` + members(900, "^x", `{"type":"number"}`) + `}`, members(40_000, "k", "1")},
		{"very many items and many schemas for each", `{"items":{"allOf":` + list(900, `{"minimum":2}`) + `}}`, list(40_000, `1`)},
		{"very many empty items and many schemas for what is in them", `{"items":{"items":{"allOf":` + list(900, `{"minimum":2}`) + `}}}`, list(40_000, `[]`)},
		{"as many schemas as are allowed", `{"allOf":` + list(490, `{"properties":{"a":{"type":"string"}}}`) + `}`, `{"a":1}`},
	}
	for _, tt := range tests {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := processorTime(t)
		schema, err := contract.Compile([]byte(tt.schema))
		compiled := processorTime(t) - start
		if err == nil {
			schema.CheckInput("bomb", []byte(tt.value))
		}
		took := processorTime(t) - start
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; took > longest || used > most {
			t.Errorf("%s: %v (%v to compile), %d MB", tt.name, took, compiled, used>>20)
		} else if testing.Verbose() {
			t.Logf("%-60s %8v (%v to compile), %d MB", tt.name, took, compiled, used>>20)
		}
	}
}

// processorTime is what this process has taken of it so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// What people write must stay well below the bounds.
func TestOrdinaryWorkIsAffordable(t *testing.T) {
	t.Parallel()
	const tree = `{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}}}`
	const filter = `{"$ref":"#/$defs/f","$defs":{
		"list":{"type":"array","items":{"$ref":"#/$defs/f"}},
		"f":{"type":"object","oneOf":[
			{"required":["and"],"properties":{"and":{"$ref":"#/$defs/list"}},"additionalProperties":false},
			{"required":["or"],"properties":{"or":{"$ref":"#/$defs/list"}},"additionalProperties":false},
			{"required":["not"],"properties":{"not":{"$ref":"#/$defs/f"}},"additionalProperties":false},
			{"required":["field","is"],"properties":{"field":{"type":"string"},"is":{}},"additionalProperties":false}
		]}}}`
	const countries = `{"type":"object","additionalProperties":{"type":"array","items":{"enum":["AT","BE","BG","CY","CZ","DE","DK","EE","ES","FI","FR","GR"]}}}`
	branch := `{"name":"x","children":` + list(50, `{"name":"leaf"}`) + `}`
	tests := []struct{ name, schema, value string }{
		{"a tree of thousands", tree, `{"name":"root","children":` + list(100, branch) + `}`},
		{
			"a tree as deep as values may be", tree,
			strings.Repeat(`{"name":"x","children":[`, 31) + `{"name":"x"}` + strings.Repeat("]}", 31),
		},
		{
			"filters within filters", filter,
			strings.Repeat(`{"not":{"and":[`, 8) + `{"field":"a","is":1}` + strings.Repeat("]}}", 8),
		},
		{"a long list of constants", countries, `{"a":` + list(20_000, `"GR"`) + `}`},
		{"a megabyte of text", `{"text":"string"}`, `{"text":"` + strings.Repeat("word ", 200_000) + `"}`},
		{
			"a megabyte of base64 with a pattern",
			`{"properties":{"data":{"type":"string","pattern":"^[A-Za-z0-9+/]*={0,2}$"}}}`,
			`{"data":"` + strings.Repeat("QUJD", 250_000) + `"}`,
		},
		{"a hundred thousand numbers", `{"type":"array","items":{"type":"number","minimum":-1}}`, list(100_000, "0.125")},
		{
			"a table",
			`{"items":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"},"on":{"type":"boolean"}}}}`,
			list(10_000, `{"id":9007199254740993,"name":"x","on":true}`),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if refused := compile(t, tt.schema).CheckInput("ordinary", []byte(tt.value)); refused != nil {
				t.Errorf("refused: %v", refused)
			}
		})
	}
}
