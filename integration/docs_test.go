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
	"github.com/agentreach/agent-reach/schemas/contract"
)

// houses are the pages whose blocks are run: those of a row one after the other, beside the same house.
var houses = [][]string{
	{"../README.md", "concepts.md", "nats.md"},
	{"quickstart.md"},
	{"http-api.md"},
	{"worker.md", "adapters.md"},
	{"cli.md"},
	{"routing.md", "configuration.md"},
	{"claims.md"},
	{"streaming.md", "metrics.md", "schedules.md", "large-bodies.md"},
	{"callbacks.md"},
	{"mqtt.md"},
	{"operations.md"},
}

// What is done with a block is said behind its fence; nothing is done with one that says nothing:
//
//	console run       each line that begins with "$ " is a command, the lines after it are what it prints
//	console start     likewise, but the commands run on, as one that ends in & does in any block
//	console until     likewise, but each command is given again until it prints that
//	LANGUAGE run      a program in sh, bash, js or go
//	LANGUAGE file=F   a file that later commands use
//	json TYPE         a message of the wire that has this JSON Schema
//
// In what is printed, … stands for anything, a line of it for any lines; ids, times and durations are as they come. An id that a page
// has shown, or a sequence (47 and two digits), stands for the real one from then on; so do the addresses that a page speaks of. A
// page that starts no house finds one that is there.
const (
	toRun   = "run"
	toStart = "start"
	toAwait = "until"
	aFile   = "file="
)

// TestDocs does what the pages say, in their order.
func TestDocs(t *testing.T) {
	t.Parallel()
	bin := buildPrograms(t)
	for _, pages := range houses {
		t.Run(strings.TrimPrefix(strings.Join(pages, "+"), "../"), func(t *testing.T) {
			t.Parallel()
			r := newReader(t, bin)
			for _, page := range pages {
				t.Run(filepath.Base(page), func(t *testing.T) { r.turnTo(t, page) })
			}
		})
	}
}

// docPages are the pages of docs.
func docPages(t testing.TB) (pages []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "docs", "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no pages: %v", err)
	}
	for _, file := range files {
		pages = append(pages, filepath.Base(file))
	}
	return pages
}

func readDoc(t testing.TB, page string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestDocsNameTests holds the promises against the tests: one whose test is gone is none, and one without a test is none either.
func TestDocsNameTests(t *testing.T) {
	t.Parallel()
	known := testNames(t)
	named := 0
	for _, page := range append(docPages(t), "../README.md", "../ARCHITECTURE.md") {
		for i, line := range strings.Split(readDoc(t, page), "\n") {
			names := aProof.FindAllStringSubmatch(line, -1)
			for _, name := range names {
				if known[name[1]] == "" {
					t.Errorf("%s:%d: there is no %s", page, i+1, name[1])
				}
			}
			named += len(names)
		}
		for _, row := range promises(readDoc(t, page)) {
			if !aProof.MatchString(row) {
				t.Errorf("%s: nothing proves this: %s", page, row)
			}
		}
	}
	if named < 200 {
		t.Errorf("only %d tests are named", named)
	}
}

// aProof is the name of a test or of a story.
var aProof = regexp.MustCompile("`((?:Test|Fuzz|Example)[A-Za-z0-9_]+|[a-z]+\\.txtar)`")

// promises are the rows of a page's tables that have proofs in a column.
func promises(page string) (rows []string) {
	inside := false
	for line := range strings.Lines(page) {
		switch {
		case !strings.HasPrefix(line, "|"):
			inside = false
		case strings.HasSuffix(line, "| proved by |\n"):
			inside = true
		case inside && !strings.HasPrefix(line, "|---"):
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	return rows
}

// testNames are all tests and stories of the house, each with the text of its file.
func testNames(t *testing.T) map[string]string {
	t.Helper()
	names := make(map[string]string)
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w+)\(`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err == nil && entry.Name() == "node_modules":
			return fs.SkipDir
		case err == nil && strings.HasSuffix(path, ".txtar"):
			names[entry.Name()] = path
			return nil
		case err != nil || !strings.HasSuffix(path, "_test.go"):
			return err
		}
		content, err := os.ReadFile(path)
		for _, name := range declared.FindAllSubmatch(content, -1) {
			names[string(name[1])] = string(content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestDocsShowRealMessages holds the messages on the pages against their JSON Schemas. A member that the schema does not know would be
// allowed on the wire; on a page it is a mistake.
func TestDocsShowRealMessages(t *testing.T) {
	t.Parallel()
	whole := strings.NewReplacer("01a2…8a10", "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10", "01a2…89ab", "01a226bf-21f0-7aaa-8bbb-0123456789ab",
		"9f86d0…", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
	for _, page := range docPages(t) {
		for _, b := range blocksOf(t, page) {
			if b.language != "json" || b.info == "" || b.done() {
				continue
			}
			for _, complaint := range complaints(t, b.info, whole.Replace(b.text)) {
				t.Errorf("%s:%d: as a %s: %s", page, b.line, b.info, complaint)
			}
		}
	}
}

// complaints are what is wrong with a message of a type.
func complaints(t *testing.T, name, text string) (wrong []string) {
	t.Helper()
	schemaFile, found := schemas.SchemaFile(name)
	if !found {
		return []string{"there is no such type"}
	}
	schema, err := contract.Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if violation := schema.Check([]byte(text)); violation != nil {
		wrong = append(wrong, violation.Field+" "+violation.Message)
	}
	var known struct {
		Properties map[string]schemas.Payload `json:"properties"`
	}
	if err := schemas.Decode(schemaFile, &known); err != nil {
		t.Fatal(err)
	}
	var members map[string]schemas.Payload
	if err := schemas.Decode([]byte(text), &members); err != nil {
		return append(wrong, err.Error())
	}
	for member := range members {
		if known.Properties[member] == nil {
			wrong = append(wrong, member+" is no member of it")
		}
	}
	return wrong
}

// TestDocsNameEveryOperation compares the page of the HTTP front with what the front says of itself.
func TestDocsNameEveryOperation(t *testing.T) {
	t.Parallel()
	page := readDoc(t, "http-api.md")
	r := newReader(t, buildPrograms(t))
	r.background("reach up")
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
	readme := readDoc(t, "../README.md")
	for _, page := range docPages(t) {
		if !strings.Contains(readme, "(docs/"+page+")") {
			t.Errorf("README.md does not lead to %s", page)
		}
	}
	for _, page := range append(docPages(t), "../README.md", "../ARCHITECTURE.md") {
		for _, link := range linksOf(t, page) {
			if complaint := deadLink(t, page, link); complaint != "" {
				t.Errorf("%s: %s", page, complaint)
			}
		}
	}
}

// linksOf are the links of a page within the repository: a file, a heading, or both.
func linksOf(t *testing.T, page string) (links []string) {
	t.Helper()
	for _, link := range regexp.MustCompile(`\]\(([\w./-]*(?:#[\w-]+)?)\)`).FindAllStringSubmatch(readDoc(t, page), -1) {
		links = append(links, link[1])
	}
	return links
}

// deadLink is what is wrong with a link.
func deadLink(t *testing.T, page, link string) (complaint string) {
	t.Helper()
	target, anchor, _ := strings.Cut(link, "#")
	if target == "" {
		target = filepath.Base(page)
	}
	path := filepath.Join(filepath.Dir(filepath.Join("..", "docs", page)), target)
	content, err := os.ReadFile(path)
	if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
		err = nil
	}
	if err != nil {
		return err.Error()
	}
	if anchor != "" && !slices.Contains(headings(string(content)), anchor) {
		return link + " names a heading that is not there"
	}
	return ""
}

// headings are the anchors that a page's headings have.
func headings(page string) (anchors []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		plain := regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(plain, " ", "-"))
	}
	return anchors
}
