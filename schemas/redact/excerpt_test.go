package redact_test

import (
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/schemas/redact"
)

func TestExcerpt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 600)
	tests := []struct {
		name  string
		raw   string
		limit int
		want  string
	}{
		{"a short text stays", "it broke", 100, "it broke"},
		{"512 bytes by default", long, 0, long[:512]},
		{"line breaks become blanks", " it\r\nbroke\there\n", 100, "it  broke here"},
		{"control characters go", "a\x00b\x07c\x7f", 100, "abc"},
		{"colours go", "\x1b[31;1mred\x1b[0m", 100, "red"},
		{"marks of direction and zero width go", "a\u202eb\u200bc\ufeff", 100, "abc"},
		{"what is not UTF-8 goes", "a\xff\xfeb", 100, "ab"},
		{"a character is not cut", "机机机", 4, "机"},
		{"personal data is masked", "call 13800138000 or x@y.org", 100, "call *** or ***"},
		{"a number broken by a zero width space is masked", "138\u200b00138000", 100, "***"},
		{"a number at the cut is masked whole", strings.Repeat("x", 7) + " 13800138000", 12, "xxxxxxx ***"},
		{"a secret at the cut is masked whole", "password=" + long, 12, "password=***"},
		{"nothing of what begins after the cut is said", strings.Repeat("x", 7) + " 13800138000", 7, "xxxxxxx"},
		{"JSON stays JSON", `{"phone": 13800138000}`, 100, `{"phone": "***"}`},
		{"nothing", "", 100, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := redact.Excerpt([]byte(tt.raw), tt.limit); got != tt.want {
				t.Errorf("Excerpt(%q, %d) = %q, want %q", tt.raw, tt.limit, got, tt.want)
			}
		})
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, raw, want string }{
		{"absent", "", "absent"},
		{"an object", `{"text": "a,b:c", "n": 1}`, "object, 25 bytes, 2 fields (1 string, 1 number)"},
		{"an empty object", `{}`, "object, 2 bytes, 0 fields"},
		{
			"nested values count once", `{"a":{"b":[1,2,{"c":3}],"d":null},"e":[[],[]],"f":true}`,
			"object, 55 bytes, 3 fields (1 boolean, 1 object, 1 array)",
		},
		{"an array", `[1, "]", null, [2], -3]`, "array, 23 bytes, 5 items (1 string, 2 number, 1 null, 1 array)"},
		{"an empty array", ` [ ] `, "array, 5 bytes, 0 items"},
		{"a string", `"13800138000"`, "string, 13 bytes"},
		{"a number", `13800138000`, "number, 11 bytes"},
		{"null", `null`, "null, 4 bytes"},
		{"quotes and braces in strings", `{"a\"}":"{\\","b":"}"}`, "object, 22 bytes, 2 fields (2 string)"},
		{"not JSON", `hello`, "not JSON, 5 bytes"},
		{"a large array", "[" + strings.Repeat("1,", 100_000) + "1]", "array, 200003 bytes, at least 32768 items (32768 number)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := redact.Fingerprint([]byte(tt.raw)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
