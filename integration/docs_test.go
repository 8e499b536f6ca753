package integration

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

// pages are the pages of docs whose examples are run.
var pages = []string{"quickstart.md", "concepts.md", "http-api.md", "nats.md", "routing.md", "worker.md", "claims.md", "cli.md", "streaming.md", "configuration.md"}

// TestDocs does what the pages of docs say, in their order, each page with a house of its own. The info string of a block says what
// is done with it:
//
//	console run       each line that begins with "$ " is a command, the lines after it are what it prints
//	LANGUAGE run      a program in sh, js or go
//	LANGUAGE file=F   a file that later commands use
//
// Everything else is only read. In what is printed, … stands for anything, a line of it for any lines; ids, times and durations are
// as they come, and an id that a page has shown stands for the real one from then on.
func TestDocs(t *testing.T) {
	t.Parallel()
	bin := buildPrograms(t)
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			r := newReader(t, bin)
			for _, block := range blocksOf(t, page) {
				r.read(block)
			}
		})
	}
}

// block is a fenced block of a page.
type block struct {
	line           int
	language, info string
	text           string
}

var fence = regexp.MustCompile("(?ms)^```(\\w+) (.+?)\n(.*?)^```$")

// blocksOf are the blocks of a page that something is done with.
func blocksOf(t *testing.T, page string) (blocks []block) {
	t.Helper()
	text := readDoc(t, page)
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		blocks = append(blocks, block{
			line: strings.Count(text[:at[0]], "\n") + 1, language: text[at[2]:at[3]], info: text[at[4]:at[5]], text: text[at[6]:at[7]],
		})
	}
	if len(blocks) == 0 {
		t.Fatalf("%s: nothing in it is run", page)
	}
	return blocks
}

func readDoc(t *testing.T, page string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestDocsNameTests holds the promises against the tests: one whose test is gone is none.
func TestDocsNameTests(t *testing.T) {
	t.Parallel()
	known := testNames(t)
	page := readDoc(t, "guarantees.md") + readDoc(t, "worker.md") + readDoc(t, "mqtt.md")
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(page, -1)
	if len(named) < 20 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, name := range named {
		if !known[name[1]] {
			t.Errorf("there is no %s", name[1])
		}
	}
	for _, story := range regexp.MustCompile("`([a-z]+)\\.txtar`").FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join("testdata", "script", story[1]+".txtar")); err != nil {
			t.Error(err)
		}
	}
}

// testNames are all tests of the house.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		for _, name := range declared.FindAllSubmatch(content, -1) {
			names[string(name[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestDocsNameEveryOperation compares the page of the HTTP front with what the front says of itself.
func TestDocsNameEveryOperation(t *testing.T) {
	t.Parallel()
	page := readDoc(t, "http-api.md")
	r := newReader(t, buildPrograms(t))
	for path, methods := range r.operations() {
		for method := range methods {
			if name := strings.ToUpper(method) + " " + path; !strings.Contains(page, "`"+name) {
				t.Errorf("docs/http-api.md does not name %s", name)
			}
		}
	}
}

// operations are the paths of the HTTP front with their methods.
func (r *reader) operations() map[string]map[string]schemas.Payload {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.http+"/openapi.json", http.NoBody)
	r.must(err)
	response, err := http.DefaultClient.Do(request)
	r.must(err)
	defer func() { _ = response.Body.Close() }()
	var body bytes.Buffer
	_, err = body.ReadFrom(response.Body)
	r.must(err)
	var document struct {
		Paths map[string]map[string]schemas.Payload `json:"paths"`
	}
	r.must(schemas.Decode(body.Bytes(), &document))
	return document.Paths
}

// TestDocsHaveAnIndex demands that the README leads to every page, and that no link of a page leads nowhere.
func TestDocsHaveAnIndex(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := readDoc(t, "../README.md")
	for _, file := range files {
		if !strings.Contains(readme, "(docs/"+filepath.Base(file)+")") {
			t.Errorf("README.md does not lead to %s", filepath.Base(file))
		}
	}
	for _, file := range append(files, filepath.Join("..", "README.md"), filepath.Join("..", "ARCHITECTURE.md")) {
		for _, target := range linksOf(t, file) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), target)); err != nil {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
		}
	}
}

// linksOf are the files that a page links to.
func linksOf(t *testing.T, file string) (targets []string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range regexp.MustCompile(`\]\(([\w./-]+)(#[\w-]+)?\)`).FindAllSubmatch(content, -1) {
		targets = append(targets, string(link[1]))
	}
	return slices.Compact(targets)
}
