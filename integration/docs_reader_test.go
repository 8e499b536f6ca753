package integration

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Where the pages say that a house answers.
const (
	pageHTTP = "http://127.0.0.1:8500"
	pageNATS = "nats://127.0.0.1:4222"
)

// reader does what a page says, in a folder of its own.
type reader struct {
	t          *testing.T
	dir, bin   string
	http, nats string
	mqtt       string            // where the house was told to have such a listener
	ids        map[string]string // of a page to real ones
}

// newReader starts a house, as `reach up` in the folder would.
func newReader(t *testing.T, bin string, flags ...string) *reader {
	t.Helper()
	r := &reader{t: t, dir: t.TempDir(), bin: bin, ids: make(map[string]string)}
	r.background("reach up --data reach-data --http 127.0.0.1:0 --nats 127.0.0.1:0 " + strings.Join(flags, " "))
	var where struct {
		HTTP string `json:"http"`
		NATS string `json:"nats"`
		MQTT string `json:"mqtt"`
	}
	r.eventually("reach up", func() bool {
		content, err := os.ReadFile(filepath.Join(r.dir, "reach-data", "endpoints.json"))
		return err == nil && schemas.Decode(content, &where) == nil
	})
	r.http, r.nats, r.mqtt = where.HTTP, where.NATS, where.MQTT
	return r
}

func (r *reader) read(b block) {
	r.t.Helper()
	name, isFile := strings.CutPrefix(b.info, "file=")
	switch {
	case isFile:
		r.write(name, r.real(b.text))
	case b.info != "run":
		r.t.Fatalf("line %d: %q means nothing", b.line, b.info)
	case b.language == "console":
		r.converse(b)
	default:
		r.program(b)
	}
}

// write makes a file.
func (r *reader) write(name, text string) {
	r.t.Helper()
	r.must(os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o700))
}

// program runs a block as a program of its language.
func (r *reader) program(b block) {
	r.t.Helper()
	var command, missing string
	switch b.language {
	case "sh":
		r.write("example.sh", r.real(b.text))
		command = "sh -e example.sh"
	case "js":
		r.write("example.mjs", r.real(b.text))
		command, missing = "node example.mjs", r.linkModules()
	case "go": // within the module, whose packages it uses
		r.write("example.go", r.real(b.text))
		here, err := os.Getwd()
		r.must(err)
		command = "cd '" + here + "' && HOME='" + os.Getenv("HOME") + "' go run '" + filepath.Join(r.dir, "example.go") + "'"
	default:
		r.t.Fatalf("line %d: nothing runs %s", b.line, b.language)
	}
	if missing != "" {
		r.t.Logf("line %d is not run: %s", b.line, missing)
		return
	}
	if out, err := r.run(command); err != nil {
		r.t.Errorf("line %d: %v\n%s", b.line, err, out)
	}
}

// linkModules lets programs in JavaScript find the NATS client that the example worker has installed.
func (r *reader) linkModules() (missing string) {
	r.t.Helper()
	modules, err := filepath.Abs(filepath.Join("foreign", "node", "node_modules"))
	r.must(err)
	if _, err := os.Stat(modules); err != nil {
		return err.Error()
	}
	if _, err := exec.LookPath("node"); err != nil {
		return err.Error()
	}
	r.must(os.Symlink(modules, filepath.Join(r.dir, "node_modules")))
	return ""
}

// converse runs the commands of a block, and compares what they print.
func (r *reader) converse(b block) {
	r.t.Helper()
	for i, part := range strings.Split("\n"+b.text, "\n$ ")[1:] {
		command, said := exchange(part)
		if strings.HasPrefix(command, "python3 ") {
			if _, err := exec.LookPath("python3"); err != nil {
				r.t.Skipf("line %d and what follows is not run: %v", b.line, err)
			}
		}
		if background, found := strings.CutSuffix(command, " &"); found {
			r.background(background)
			r.online(background)
			continue
		}
		if missing := r.missing(command); missing != "" {
			r.t.Logf("line %d is not run: there is no %s", b.line, missing)
			continue
		}
		out, err := r.run(command)
		if err != nil && !strings.HasPrefix(said, "error: ") {
			r.t.Fatalf("line %d, command %d: %s: %v\n%s", b.line, i+1, command, err, out)
		}
		r.compare(b.line, command, said, out)
	}
}

// exchange parts a command, which goes on after a line that ends in \, from what it prints.
func exchange(part string) (command, said string) {
	lines := strings.SplitAfter(part, "\n")
	n := 1
	for n < len(lines) && strings.HasSuffix(strings.TrimSpace(lines[n-1]), `\`) {
		n++
	}
	return strings.TrimSpace(strings.Join(lines[:n], "")), strings.Join(lines[n:], "")
}

// missing is the program of a command that this machine does not have.
func (r *reader) missing(command string) string {
	program, _, _ := strings.Cut(command, " ")
	if program != "curl" && program != "nats" {
		return ""
	}
	if _, err := exec.LookPath(program); err != nil {
		return program
	}
	return ""
}

// command is a shell's command in the reader's folder.
func (r *reader) command(ctx context.Context, text string) *exec.Cmd {
	c := exec.CommandContext(ctx, "sh", "-c", text)
	c.Dir = r.dir
	c.Env = append(os.Environ(), "PATH="+r.bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+r.dir,
		"REACH_URL="+r.nats, "NATS_URL="+r.nats, "GORACE=atexit_sleep_ms=0")
	return c
}

func (r *reader) run(text string) (string, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	out, err := r.command(ctx, r.real(text)).CombinedOutput()
	return string(out), err
}

// background starts a program that runs until the page has been read.
func (r *reader) background(text string) {
	r.t.Helper()
	c := r.command(context.WithoutCancel(r.t.Context()), "exec "+r.real(text))
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	r.must(c.Start())
	r.t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
		if r.t.Failed() {
			r.t.Logf("%s\n%s", text, out.String())
		}
	})
}

var agentNames = regexp.MustCompile(`--agent-id ([a-z0-9-]+)|(?m)^\s*- agent_id: ([a-z0-9-]+)`)

// online waits until the agents of a worker are there.
func (r *reader) online(worker string) {
	if _, file, found := strings.Cut(worker, " -f "); found {
		content, err := os.ReadFile(filepath.Join(r.dir, strings.Fields(file)[0]))
		r.must(err)
		worker = string(content)
	}
	for _, name := range agentNames.FindAllStringSubmatch(worker, -1) {
		r.eventually(name[1]+name[2]+" is online", func() bool {
			out, err := r.run("reach agent show " + name[1] + name[2])
			return err == nil && strings.Contains(out, "online")
		})
	}
}

// real is a text of a page with the addresses and ids of this house.
func (r *reader) real(text string) string {
	text = strings.NewReplacer(pageHTTP, r.http, pageNATS, r.nats).Replace(text)
	return identifier.ReplaceAllStringFunc(text, func(id string) string {
		if known := r.ids[id]; known != "" {
			return known
		}
		return id
	})
}

var (
	identifier = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	varying    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|` +
		`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|\b\d+(\.\d+)? ?m?s\b|  +|…\n?`)
)

// compare holds what a command has printed against what the page says that it prints; nothing there says nothing.
func (r *reader) compare(line int, command, said, out string) {
	r.t.Helper()
	if strings.TrimSpace(said) == "" {
		return
	}
	shown := identifier.FindAllString(said, -1)
	pattern, err := regexp.Compile(`(?s)^` + patternOf(strings.TrimRight(said, "\n")) + `\s*$`)
	r.must(err)
	found := pattern.FindStringSubmatch(strings.NewReplacer(r.http, pageHTTP, r.nats, pageNATS, "\r", "").Replace(out))
	if found == nil {
		r.t.Fatalf("line %d: $ %s\n%s\nwant\n%s", line, command, out, said)
	}
	for i, id := range found[1:] {
		r.ids[shown[i]] = id
	}
}

// patternOf is what a text may look like; each id is a group.
func patternOf(text string) string {
	var pattern strings.Builder
	last := 0
	for _, at := range varying.FindAllStringIndex(text, -1) {
		pattern.WriteString(regexp.QuoteMeta(text[last:at[0]]))
		switch part := text[at[0]:at[1]]; {
		case identifier.MatchString(part):
			pattern.WriteString("(" + identifier.String() + ")")
		case strings.HasPrefix(part, "…"):
			pattern.WriteString(".*?")
		case strings.TrimSpace(part) == "":
			pattern.WriteString(" +")
		case strings.Contains(part, "T"):
			pattern.WriteString(`\S+Z`)
		default:
			pattern.WriteString(`[\d.]+ ?m?s`)
		}
		last = at[1]
	}
	return pattern.String() + regexp.QuoteMeta(text[last:])
}

func (r *reader) eventually(what string, so func() bool) {
	r.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !so(); <-tick.C {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

func (r *reader) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}
