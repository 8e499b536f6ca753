package main

import (
	"strings"
	"testing"
)

func TestProseLeavesOutWhatIsNoText(t *testing.T) {
	t.Parallel()
	const markdown = "# Title\n\nShips sail.\n\n```\ncode\n```\n| a | b |\nShips sink.\n"
	if got := strings.Join(strings.Fields(prose(markdown)), " "); got != "Ships sail. Ships sink." {
		t.Errorf("got %q", got)
	}
}

func TestQuotedIsWhatAShellTakesForOneWord(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{
		"plain": "plain", "@/tmp/a.json": "@/tmp/a.json", "a b": "'a b'", "": "''", "it's": `'it'\''s'`, "$HOME": "'$HOME'",
	} {
		if got := quoted(arg); got != want {
			t.Errorf("quoted(%q) = %s, want %s", arg, got, want)
		}
	}
}

func TestShortenedKeepsTheBeginning(t *testing.T) {
	t.Parallel()
	if got := shortened(strings.Repeat("é", longest)); got != strings.Repeat("é", longest) {
		t.Error("a line that fits is cut")
	}
	got := shortened(strings.Repeat("é", longest+1))
	if !strings.HasPrefix(got, strings.Repeat("é", longest)+"…") || !strings.HasSuffix(got, "(601 characters)") {
		t.Errorf("got %s", got)
	}
}
