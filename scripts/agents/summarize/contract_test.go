package main

import (
	"encoding/json"
	"testing"

	"github.com/agentreach/agent-reach/schemas/dictionary"
)

func TestASummaryKeepsTheContract(t *testing.T) {
	t.Parallel()
	d, err := dictionary.New(dictionary.Starter())
	if err != nil {
		t.Fatal(err)
	}
	entry, _ := d.Entry("summarize")
	result, err := json.Marshal(response{summarize("Ships sail. Ships sink.", 1)})
	if err != nil {
		t.Fatal(err)
	}
	if broken := entry.Output.Check(result); broken != nil {
		t.Error(broken.Message)
	}
}
