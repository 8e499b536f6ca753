package mqttfront

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
)

// constant is a verb or a kind as listen.go has it.
var constant = regexp.MustCompile(`(?m)^\t(verb|kind)[A-Za-z]+\s+= "([a-z]+)"`)

// told are the rows of the page's tables of topics: what a device says, and what it hears.
var (
	toldRow  = regexp.MustCompile("(?m)^\\| (`[a-z]+`(?:, `[a-z]+`)*|) \\| [^|]*\\|[^|]*\\|$")
	toldVerb = regexp.MustCompile("`([a-z]+)`")
	toldKind = regexp.MustCompile("`in/([a-z]+)`")
)

func TestThePageNamesEveryTopicAndNoOther(t *testing.T) {
	t.Parallel()
	code, page := read(t, "listen.go"), read(t, filepath.Join("..", "..", "..", "docs", "mqtt.md"))
	want := map[string][]string{}
	for _, found := range constant.FindAllStringSubmatch(code, -1) {
		want[found[1]] = append(want[found[1]], found[2])
	}
	got := map[string][]string{}
	for _, row := range toldRow.FindAllStringSubmatch(page, -1) {
		for _, verb := range toldVerb.FindAllStringSubmatch(row[1], -1) {
			got["verb"] = append(got["verb"], verb[1])
		}
	}
	for _, kind := range toldKind.FindAllStringSubmatch(page, -1) {
		got["kind"] = append(got["kind"], kind[1])
	}
	for _, names := range []map[string][]string{want, got} {
		for what := range names {
			slices.Sort(names[what])
			names[what] = slices.Compact(names[what])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listen.go and docs/mqtt.md differ (-code +page)\n%s", diff)
	}
	callers := (&Bridge{service: fronttest.New()}).callerVerbs()
	for _, verb := range want["verb"] {
		_, ofSession := sessionVerbs[verb]
		_, ofCallers := callers[verb]
		if ofSession == ofCallers {
			t.Errorf("%s: done by the owner %v, by any dispatcher %v", verb, ofSession, ofCallers)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(content), "\r", "")
}
