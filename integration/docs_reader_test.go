package integration

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// reader does what pages say, in a folder of its own.
type reader struct {
	t          *testing.T // of the page that is read
	house      *testing.T // of all that runs beside it
	dir, bin   string
	http, nats string
	mqtt       string // where the house was told to have such a listener
	places     places
	ids        map[string]string // of a page to real ones
	running    []string          // the commands of what runs
}

// bystander is a program that runs until the last page has been read.
type bystander struct {
	text    string
	command *exec.Cmd
	log     string // the file with what it says
}

// newReader makes a reader without a house. It finds bin/reach where a reader of the pages has it.
func newReader(t *testing.T, bin string) *reader {
	t.Helper()
	r := &reader{t: t, house: t, dir: t.TempDir(), bin: bin, ids: make(map[string]string)}
	r.must(os.Symlink(bin, filepath.Join(r.dir, "bin")))
	r.must(os.MkdirAll(filepath.Join(r.dir, "tools"), 0o700))
	self, err := os.Executable()
	r.must(err)
	r.write("tools/nats", "#!/bin/sh\n"+toolVariable+"=nats exec '"+self+"' \"$@\"\n")
	r.places = newPlaces(t, r.dir)
	return r
}

// turnTo reads a page.
func (r *reader) turnTo(t *testing.T, page string) {
	t.Helper()
	r.t = t
	clear(r.ids)
	blocks := blocksOf(t, page)
	if r.nats == "" && !brings(blocks) {
		r.background("reach up")
	}
	for _, b := range blocks {
		if b.done() {
			r.read(b)
		}
	}
}

func (r *reader) read(b block) {
	r.t.Helper()
	name, isFile := strings.CutPrefix(b.info, aFile)
	switch {
	case isFile:
		r.write(name, r.real(b.text))
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
	var command string
	switch b.language {
	case "sh", "bash":
		r.write("example.sh", r.real(b.text))
		command = b.language + " -e example.sh"
	case "js":
		r.write("example.mjs", r.real(b.text))
		command = "node example.mjs"
		for imported, module := range map[string]string{"@nats-io/transport-node": "@nats-io/transport-node", "./phone.js": "mqtt"} {
			if strings.Contains(b.text, imported) {
				r.linkModule(module)
			}
		}
	case "go": // within the module, whose packages it uses
		r.write("example.go", r.real(b.text))
		here, err := os.Getwd()
		r.must(err)
		command = "cd '" + here + "' && HOME='" + os.Getenv("HOME") + "' go run '" + filepath.Join(r.dir, "example.go") + "'"
	default:
		r.t.Fatalf("line %d: nothing runs %s", b.line, b.language)
	}
	r.needs(b, command)
	if out, err := r.run(command); err != nil {
		r.t.Errorf("line %d: %v\n%s", b.line, err, out)
	}
}

// linkModule lets programs in JavaScript find the clients that the example worker has installed, and the example phone.
func (r *reader) linkModule(name string) {
	r.t.Helper()
	foreign, err := filepath.Abs(filepath.Join("foreign", "node"))
	r.must(err)
	if _, err := os.Stat(filepath.Join(foreign, "node_modules", name)); err != nil {
		r.without(name + " (make foreign)")
	}
	for _, name := range []string{"node_modules", "phone.js"} {
		if err := os.Symlink(filepath.Join(foreign, name), filepath.Join(r.dir, name)); !errors.Is(err, fs.ErrExist) {
			r.must(err)
		}
	}
}

var foreignTools = regexp.MustCompile(`\b(curl|jq|python3|node|mosquitto_\w+)\b`)

// needs skips the rest of a page whose programs this machine does not have.
func (r *reader) needs(b block, command string) {
	r.t.Helper()
	for _, tool := range foreignTools.FindAllString(command+b.text, -1) {
		if _, err := exec.LookPath(tool); err != nil {
			r.without(tool)
		}
	}
}

// without gives up on a page. Where all tests are to be run, it is an error.
func (r *reader) without(what string) {
	r.t.Helper()
	if os.Getenv("CI") != "" {
		r.t.Fatalf("there is no %s: see .ci/run", what)
	}
	r.t.Skipf("THE REST OF THIS PAGE IS NOT RUN: there is no %s", what)
}

// converse runs the commands of a block, and compares what they print.
func (r *reader) converse(b block) {
	r.t.Helper()
	r.needs(b, "")
	for _, part := range strings.Split("\n"+b.text, "\n$ ")[1:] {
		command, said := exchange(part)
		switch background, runsOn := strings.CutSuffix(command, " &"); {
		case runsOn || b.info == toStart:
			r.background(background)
			r.online(background)
		case strings.HasPrefix(command, "make "):
			r.wouldMake(b.line, strings.TrimPrefix(command, "make "))
		case b.info == toAwait:
			r.await(b.line, command, said)
		default:
			r.do(b.line, command, said)
		}
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

// do runs a command, and holds what it prints against what the page says that it prints; nothing there says nothing. One that the
// page shows to fail has to.
func (r *reader) do(line int, command, said string) {
	r.t.Helper()
	out, err := r.run(command)
	if fails := strings.HasPrefix(said, "error: "); (err != nil) != fails {
		r.t.Fatalf("line %d: $ %s: %v\n%s", line, command, err, out)
	}
	if !r.fits(said, out) {
		r.t.Fatalf("line %d: $ %s\n%s\nwant\n%s", line, command, out, said)
	}
}

// await runs a command until it prints what the page says.
func (r *reader) await(line int, command, said string) {
	r.t.Helper()
	var out string
	defer func() {
		if r.t.Failed() {
			r.t.Logf("line %d: $ %s\n%s\nwant\n%s", line, command, out, said)
		}
	}()
	r.eventually(command, func() bool {
		out, _ = r.run(command)
		return r.fits(said, out)
	})
}

// wouldMake demands a target of the Makefile: what it would build is what the reader runs.
func (r *reader) wouldMake(line int, target string) {
	r.t.Helper()
	if out, err := exec.Command("make", "-n", "-C", "..", target).CombinedOutput(); err != nil {
		r.t.Errorf("line %d: make %s: %v\n%s", line, target, err, out)
	}
}

// command is a shell's command in the reader's folder.
func (r *reader) command(ctx context.Context, text string) *exec.Cmd {
	c := exec.CommandContext(ctx, "sh", "-c", text)
	c.Dir = r.dir
	c.Env = append(os.Environ(), "PATH="+strings.Join([]string{r.bin, os.Getenv("PATH"), filepath.Join(r.dir, "tools")}, string(os.PathListSeparator)),
		"HOME="+r.dir, "REACH_URL="+r.nats, "NATS_URL="+r.nats, "GORACE=atexit_sleep_ms=0", "REACH_BROKER_SYNC_INTERVAL=20s")
	return c
}

func (r *reader) run(text string) (string, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 3*time.Minute) // a program in Go is compiled first
	defer cancel()
	out, err := r.command(ctx, r.real(text)).CombinedOutput()
	return string(out), err
}

// background starts a program that runs until the last page has been read. One that another page has started runs already.
func (r *reader) background(text string) {
	r.t.Helper()
	if slices.Contains(r.running, text) {
		return
	}
	r.running = append(r.running, text)
	c := r.command(context.WithoutCancel(r.t.Context()), "exec "+listening(r.real(text)))
	log, err := os.CreateTemp(r.dir, "log")
	r.must(err)
	c.Stdout, c.Stderr = log, log
	r.must(c.Start())
	_ = log.Close() // it is the program's
	p := &bystander{text: text, command: c, log: log.Name()}
	r.house.Cleanup(func() {
		p.end()
		if r.house.Failed() {
			r.house.Logf("%s\n%s", text, p.said())
		}
	})
	if role := aHouse.FindStringSubmatch(text); role != nil {
		r.arrive(p, role[1])
	}
}

// end ends a program.
func (p *bystander) end() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	_ = p.command.Wait()
}

// said is what a program has said so far.
func (p *bystander) said() string {
	content, _ := os.ReadFile(p.log)
	return string(content)
}

// aHouse is a command that starts one, or a part of one.
var aHouse = regexp.MustCompile(`\breach (up|broker|dispatcher)\b`)

// listening is such a command with a free port for each listener, so that pages can be read side by side.
func listening(text string) string {
	listeners := map[string][]string{"up": {"--http", "--nats"}, "broker": {"--nats"}}
	role := aHouse.FindStringSubmatch(text)
	if role == nil {
		return text
	}
	text = regexp.MustCompile(`(--http|--nats|--mqtt) 127\.0\.0\.1:\d+`).ReplaceAllString(text, "$1 127.0.0.1:0")
	for _, flag := range listeners[role[1]] {
		if !strings.Contains(text, flag+" ") {
			text += " " + flag + " 127.0.0.1:0"
		}
	}
	return text
}

// arrive waits until a house, or a part of one, is there: it is the one that the page speaks of from then on.
func (r *reader) arrive(p *bystander, role string) {
	r.t.Helper()
	if role == "dispatcher" {
		where := regexp.MustCompile(`"http":"([^"]*)".*"dispatcher up"`)
		r.eventually(p.text, func() bool { return where.MatchString(p.said()) })
		r.http = cmp.Or(where.FindStringSubmatch(p.said())[1], r.http)
		return
	}
	data := filepath.Join(r.dir, "reach-data")
	if _, named, found := strings.Cut(r.real(p.text), "--data "); found {
		data = strings.Fields(named)[0]
	}
	var at struct {
		PID  int    `json:"pid"`
		HTTP string `json:"http"`
		NATS string `json:"nats"`
		MQTT string `json:"mqtt"`
	}
	r.eventually(p.text, func() bool {
		content, err := os.ReadFile(filepath.Join(data, "endpoints.json"))
		return err == nil && schemas.Decode(content, &at) == nil && at.PID == p.command.Process.Pid
	})
	r.http, r.nats, r.mqtt = at.HTTP, at.NATS, at.MQTT
}

var agentNames = regexp.MustCompile(`--agent-id ([a-z0-9-]+)|(?m)^\s*- agent_id: ([a-z0-9-]+)`)

// online waits until the agents of a worker are there, and can be chosen on equal terms: the house has heard how busy each is.
func (r *reader) online(worker string) {
	r.t.Helper()
	signs := []string{`"state":"online"`}
	if strings.Contains(worker, "reach worker") {
		signs = append(signs, `"load_avg":`)
	}
	if _, file, found := strings.Cut(worker, " -f "); found {
		content, err := os.ReadFile(filepath.Join(r.dir, strings.Fields(file)[0]))
		r.must(err)
		worker = string(content)
	}
	for _, name := range agentNames.FindAllStringSubmatch(worker, -1) {
		r.eventually(name[1]+name[2]+" is online", func() bool {
			out, err := r.run("reach agent show -o json " + name[1] + name[2])
			return err == nil && !slices.ContainsFunc(signs, func(sign string) bool { return !strings.Contains(out, sign) })
		})
	}
}

// real is a text of a page with the addresses and ids of this house.
func (r *reader) real(text string) string {
	text = strings.NewReplacer(r.places.real(r)...).Replace(text)
	return identifier.ReplaceAllStringFunc(text, func(id string) string {
		if known := r.ids[id]; known != "" {
			return known
		}
		return id
	})
}

const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

var (
	identifier = regexp.MustCompile(uuid + `|\b47\d\d\b`)
	varying    = regexp.MustCompile(uuid + `|\b47\d\d\b|` + `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|\b\d+(\.\d+)? ?m?s\b|  +|…\n?`)
)

// fits holds what a command has printed against what a page says, and notes the ids that the page shows.
func (r *reader) fits(said, out string) bool {
	r.t.Helper()
	if strings.TrimSpace(said) == "" {
		return true
	}
	shown := identifier.FindAllString(said, -1)
	pattern, err := regexp.Compile(`(?s)^` + patternOf(strings.TrimRight(said, "\n")) + `\s*$`)
	r.must(err)
	found := pattern.FindStringSubmatch(strings.NewReplacer(r.places.shown(r)...).Replace(out))
	if found == nil {
		return false
	}
	for i, id := range found[1:] {
		r.ids[shown[i]] = id
	}
	return true
}

// patternOf is what a text may look like; each id is a group.
func patternOf(text string) string {
	var pattern strings.Builder
	last := 0
	for _, at := range varying.FindAllStringIndex(text, -1) {
		pattern.WriteString(regexp.QuoteMeta(text[last:at[0]]))
		switch part := text[at[0]:at[1]]; {
		case len(part) == len("4711") && identifier.MatchString(part):
			pattern.WriteString(`(\d+)`)
		case identifier.MatchString(part):
			pattern.WriteString("(" + uuid + ")")
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
