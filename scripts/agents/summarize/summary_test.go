package main

import (
	"slices"
	"testing"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"full stops and their like", "Ships sail. Do they? They do!", []string{"Ships sail.", "Do they?", "They do!"}},
		{"numbers stay whole", "It costs 3.50 today. Pay now.", []string{"It costs 3.50 today.", "Pay now."}},
		{"quotes close with their sentence", `He said "no." Then he left.`, []string{`He said "no."`, "Then he left."}},
		{"a title without a full stop", "Ships\n\nThey sail.", []string{"Ships", "They sail."}},
		{"lines are no sentences", "Ships sail\nfar away.", []string{"Ships sail far away."}},
		{"wide marks need no blank", "船在航行。海很大！", []string{"船在航行。", "海很大！"}},
		{"nothing", " \n\n ", nil},
	} {
		if got := split(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	const ships = "Ships sail. Ships sink. Ships sail again."
	const story = "The harbour was quiet. A storm hit the ships in the harbour. " +
		"Somebody ate lunch. The ships left the harbour after the storm."
	for _, tt := range []struct {
		name, text string
		most       int
		want       string
	}{
		{"the most telling one", ships, 1, "Ships sail."},
		{"never more than there is", ships, 9, ships},
		{"in their order", story, 2, "The harbour was quiet. A storm hit the ships in the harbour."},
		{
			"without what does not belong", story, 3,
			"The harbour was quiet. A storm hit the ships in the harbour. The ships left the harbour after the storm.",
		},
		{"Chinese without blanks", "船在海上航行。船很大。今天吃饭！", 2, "船在海上航行。船很大。"},
		{"no sentence at all", "ships", 1, "ships"},
		{"signs alone", "!!! ???", 1, "!!!"},
	} {
		if got := summarize(tt.text, tt.most); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
