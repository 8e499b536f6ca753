package view

import (
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

func TestARunOfPieces(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		pieces   []string
		terminal bool
		shown    string
		result   string
		makes    bool
	}{
		{"nothing is not yet a result", nil, false, "", `""`, false},
		{"strings run on", []string{`"Ships "`, `"sail.\n"`}, false, "Ships sail.\n", `"Ships sail.\n"`, true},
		{"other values have a line each", []string{`1.0`, `{"a": [1e2]}`}, false, "1.0\n{\"a\":[1e2]}\n", `[1.0,{"a":[1e2]}]`, true},
		{"both stand apart", []string{`"a"`, `1`, `"b"`}, false, "a\n1\nb\n", `["a",1,"b"]`, true},
		{"one piece may be the whole result", []string{`{"a":1}`}, false, "{\"a\":1}\n", `{"a": 1}`, true},
		{"an agent may have another result of its own", []string{`"a"`, `"b"`}, false, "ab\n", `{"text":"ab"}`, false},
		{"a terminal is not acted upon", []string{`"a\u001b[1m\nb"`}, true, "a\\u001b[1m\nb\n", `"a\u001b[1m\nb"`, true},
		{"what is no terminal gets it as it is", []string{`"a\u001b[1m"`}, false, "a\x1b[1m\n", `"b"`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			r := NewRun(&out, tt.terminal)
			for _, piece := range tt.pieces {
				r.Chunk(&schemas.Chunk{Data: schemas.Payload(piece)})
			}
			r.Break()
			r.Break()
			if out.String() != tt.shown || r.Makes(schemas.Payload(tt.result)) != tt.makes || r.Empty() != (tt.pieces == nil) {
				t.Errorf("shown %q, makes it: %v", out.String(), r.Makes(schemas.Payload(tt.result)))
			}
			r.Restart()
			if !r.Empty() || r.Makes(schemas.Payload(tt.result)) {
				t.Error("another attempt begins with what came before")
			}
		})
	}
}
