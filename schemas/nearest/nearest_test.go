package nearest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/schemas/nearest"
)

func TestNames(t *testing.T) {
	t.Parallel()
	known := []string{"code_review", "code_review_lite", "echo", "summarize", "text_stats", "translate", "web_search"}
	tests := []struct {
		name, given string
		want        []string
	}{
		{"a missing letter", "summrize", []string{"summarize"}},
		{"British spelling", "summarise", []string{"summarize"}},
		{"swapped letters", "ehco", []string{"echo"}},
		{"words in another order", "search_web", []string{"web_search"}},
		{"another case", "Translate", []string{"translate"}},
		{"other separators, other order", "stats-text", []string{"text_stats"}},
		{"a part of a name", "review", []string{"code_review", "code_review_lite"}},
		{"a name with more words", "web_search_fast", []string{"web_search"}},
		{"the beginning of a name", "trans", []string{"translate"}},
		{"too little of a name", "s", []string{}},
		{"nothing near", "frobnicate", []string{}},
		{"no name", "", []string{}},
		{"far too long", strings.Repeat("echo", 1000), []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, nearest.Names(tt.given, known, 3)); diff != "" {
				t.Errorf("Names(%q):\n%s", tt.given, diff)
			}
		})
	}
}

func TestNameIsTheNearestOne(t *testing.T) {
	t.Parallel()
	known := []string{"server.port", "server.host", "registry.heartbeat_interval", "log.level"}
	for given, want := range map[string]string{
		"server.portt": "server.port", "server.prot": "server.port", "registry.heartbeat": "registry.heartbeat_interval",
		"Registry.heartbeat-interval": "registry.heartbeat_interval", "colour": "", "": "",
	} {
		if got, found := nearest.Name(given, known); got != want || found != (want != "") {
			t.Errorf("Name(%q) = %q, %v, want %q", given, got, found, want)
		}
	}
}

func TestEditsIsADistance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("abcé")), 0, 8, -1)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := nearest.Edits(a, b)
		if d != nearest.Edits(b, a) {
			t.Fatalf("not symmetric: %d", d)
		}
		if (d == 0) != (a == b) {
			t.Fatalf("%q to %q is %d", a, b, d)
		}
		if longest := max(len([]rune(a)), len([]rune(b))); d > longest {
			t.Fatalf("%d edits for %d letters", d, longest)
		}
	})
}
