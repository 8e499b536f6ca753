package dictionary_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/schemas/dictionary"
)

func TestNormalise(t *testing.T) {
	t.Parallel()
	tests := []struct{ intent, want string }{
		{"summarize", "summarize"},
		{"HTTPServer", "http_server"},
		{"parseHTML5Page", "parse_html5_page"},
		{"a__b", "a__b"},
		{"web-_search", "web__search"},
		{"统计-字数", "统计_字数"},
		{"ÄndereText", "ändere_text"},
		{"ﬁle read", "file_read"},
		{"\techo\n", "echo"},
	}
	for _, tt := range tests {
		if got := dictionary.Normalise(tt.intent); got != tt.want {
			t.Errorf("Normalise(%q) = %q, want %q", tt.intent, got, tt.want)
		}
	}
}

func TestIDsAreNormal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[a-z][a-z0-9_]{0,63}`).Draw(t, "id")
		if got := dictionary.Normalise(id); got != id {
			t.Fatalf("Normalise(%q) = %q", id, got)
		}
	})
}

func TestNormaliseIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		once := dictionary.Normalise(rapid.String().Draw(t, "intent"))
		if twice := dictionary.Normalise(once); twice != once {
			t.Fatalf("%q, then %q", once, twice)
		}
	})
}
