package natsfront

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
)

// subject is one of the page's: in full, or the last token of one that follows another of the same noun.
var subject = regexp.MustCompile("`reach\\.api\\.([a-z]+)\\.([a-z]+)`|`\\.([a-z]+)`")

func TestThePageNamesEveryEndpointAndNoOther(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "nats.md"))
	if err != nil {
		t.Fatal(err)
	}
	noun, named := "", map[string]bool{}
	for _, found := range subject.FindAllSubmatch(page, -1) {
		verb := string(found[3])
		if verb == "" {
			noun, verb = string(found[1]), string(found[2])
		}
		named[noun+"."+verb] = true
	}
	got := slices.Sorted(maps.Keys(named))
	want := slices.AppendSeq([]string{submit, do, "task.submits", "task.dos"}, maps.Keys((&api{service: fronttest.New()}).endpoints()))
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the endpoints and docs/nats.md differ (-code +page)\n%s", diff)
	}
}
