package integration

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// block is what stands between fences on a page, or in a comment that only this test sees: what the page takes for granted.
type block struct {
	line           int
	language, info string // what is written behind the fence: what the text is, and what is done with it
	text           string
}

var fenced = regexp.MustCompile("(?ms)^(?:```|<!-- )(\\w*) ?([^\n]*)\n(.*?)^(?:```|-->)$")

// blocksOf are the blocks of a page.
func blocksOf(t testing.TB, page string) (blocks []block) {
	t.Helper()
	text := readDoc(t, page)
	for _, at := range fenced.FindAllStringSubmatchIndex(text, -1) {
		blocks = append(blocks, block{
			line: strings.Count(text[:at[0]], "\n") + 1, language: text[at[2]:at[3]], info: text[at[4]:at[5]], text: text[at[6]:at[7]],
		})
	}
	return blocks
}

// done reports whether a reader does something with the block.
func (b block) done() bool {
	return b.info == toRun || b.info == toStart || b.info == toAwait || strings.HasPrefix(b.info, aFile)
}

// brings reports whether one of the blocks starts a house.
func brings(blocks []block) bool {
	return slices.ContainsFunc(blocks, func(b block) bool { return b.done() && b.language == "console" && aHouse.MatchString(b.text) })
}

// exception is a block that is not run here, by its page and its first words.
type exception struct {
	page, begins string
	by, why      string // the test that does something with it, or why none does
}

var elsewhere = []exception{
	{page: "adapters.md", begins: "agents:", by: "TestTheAgentsOfTheDocumentationAreTaken"},
	{page: "configuration.md", begins: "server:", by: "TestTheExampleOfTheDocumentationLoads"},
	{page: "configuration.md", begins: "broker:", by: "TestTheExampleOfTheDocumentationIsTaken"},
	{page: "operations.md", begins: "# /etc/nats/nats.conf", by: "TestAnExternalClusterServes"},
	{page: "operations.md", begins: "# reach.yaml", by: "TestAnExternalClusterServes"},
	{page: "operations.md", begins: "# worker.yaml", by: "TestAnExternalClusterServes"},
	{page: "operations.md", begins: "$ reach broker --name broker-1", by: "TestTheClusterOfTheDocumentationIsTheOneThatIsRun"},
	{page: "operations.md", begins: "$ reach dispatcher --nats nats://broker-1", by: "TestTheClusterOfTheDocumentationIsTheOneThatIsRun"},
	{page: "streaming.md", begins: "for chunk, err := range c.Chunks", by: "ExampleClient_Chunks"},
	{page: "operations.md", begins: "$ docker build", why: "it needs docker; what the image has, and that it runs, TestItRunsInAnEmptyRoot sees"},
	{page: "operations.md", begins: "# /etc/systemd", why: "it is systemd's; the command in it is run a block above"},
	{page: "metrics.md", begins: "# prometheus.yml", why: "it is Prometheus'; where it looks is asked a block above"},
	{page: "performance.md", begins: "$ make bench", why: "it measures for minutes; bench.txtar runs the same with few tasks"},
}

// aCommand is a line that a reader would type.
var aCommand = regexp.MustCompile(`(?m)^(\$ |(bin/)?reach |(curl|nats|mosquitto_\w+|make|docker|jq|printf|echo|import|sudo) )`)

// TestDocsLeaveNoBlockOut demands that whatever a reader may type or copy from a page is executed, or read by the program that it is
// for. What has no language is for the eye alone.
func TestDocsLeaveNoBlockOut(t *testing.T) {
	t.Parallel()
	known := testNames(t)
	used := make(map[int]bool)
	for _, page := range append(docPages(t), "../README.md") {
		for _, b := range blocksOf(t, page) {
			row := slices.IndexFunc(elsewhere, func(e exception) bool {
				return e.page == page && strings.HasPrefix(b.text, e.begins)
			})
			switch {
			case b.done():
				if !slices.ContainsFunc(houses, func(pages []string) bool { return slices.Contains(pages, page) }) {
					t.Errorf("%s:%d: nobody reads this page", page, b.line)
				}
			case row >= 0:
				used[row] = true
				if e := elsewhere[row]; strings.HasPrefix(e.by, "Example") && !strings.Contains(known[e.by], indented(b.text)) {
					t.Errorf("%s:%d: %s is another program", page, b.line, e.by)
				}
			case b.language == "json" && b.info != "": // TestDocsShowRealMessages
			case b.language != "":
				t.Errorf("%s:%d: nothing is done with this block of %s: %s", page, b.line, b.language, b.info)
			case aCommand.MatchString(b.text):
				t.Errorf("%s:%d: nothing runs the command in this block: %s", page, b.line, aCommand.FindString(b.text))
			}
		}
	}
	for i, e := range elsewhere {
		if !used[i] {
			t.Errorf("%s has no block %q", e.page, e.begins)
		}
		if e.by != "" && known[e.by] == "" {
			t.Errorf("there is no %s", e.by)
		}
	}
}

// indented is a block as it stands in a function.
func indented(text string) string {
	return "\t" + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n\t") + "\n"
}
