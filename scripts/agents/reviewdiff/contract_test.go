package main

import (
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/schemas/dictionary"
)

func TestFindingsKeepTheContract(t *testing.T) {
	t.Parallel()
	d, err := dictionary.New(dictionary.Starter())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"code_review", "code_review_lite"} {
		entry, _ := d.Entry(id)
		for _, input := range []string{`{"diff":"+++ b/a.go\n@@ -0,0 +1 @@\n+// TODO\n"}`, `{"diff":"@@ -0,0 +1 @@\n+// TODO\n"}`, `{"diff":"x"}`} {
			var out strings.Builder
			if err := run(strings.NewReader(input), &out); err != nil {
				t.Fatal(err)
			}
			if broken := entry.Output.Check([]byte(out.String())); broken != nil {
				t.Errorf("%s: %s", id, broken.Message)
			}
		}
	}
}
