package protocol

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
)

// implementation is a worker to be held against the scripts. Its process takes the flags --nats, --agent-id, --capability,
// --max-concurrency and --request-timeout-ms, serves an agent that gives back what it gets (after wait_ms, or failing with fail), and
// prints "run ID" whenever that agent is called and "stopped ID" when it has stopped before its time.
type implementation struct {
	name    string
	command []string
	environ []string
	missing string   // why it cannot run here; empty if it can
	leaves  []string // scripts that are not for it
}

// implementations are ours, and two that know nothing of Go.
func implementations(t *testing.T) []implementation {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	python := implementation{name: "python", command: []string{"python3", "../foreign/python/worker.py"}}
	if err := exec.Command("python3", "-c", "import sys; sys.exit(sys.version_info < (3, 9))").Run(); err != nil {
		python.missing = "there is no python3 of version 3.9 or later"
	}
	node := implementation{name: "node", command: []string{"node", "../foreign/node/worker.js"}}
	if _, err := os.Stat("../foreign/node/node_modules"); err != nil {
		node.missing = "its packages are not installed: make foreign"
	}
	if err := exec.Command("node", "-e", "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)").Run(); err != nil {
		node.missing = "there is no node of version 18 or later"
	}
	return []implementation{
		{name: "go", command: []string{self}, environ: []string{childVariable + "=" + ownKind}},
		{name: "claims", command: []string{self}, environ: []string{childVariable + "=" + claimingKind}, leaves: unasked},
		node, python,
	}
}

// unasked are the scripts on what a worker does with tasks that it cannot run now. An agent that claims is given what it asks for, and
// nothing else: what it has not asked for lies with the dispatchers, who send it again or move it.
var unasked = []string{"excess.txt", "drain.txt", "draining.txt", "rejected.txt"}

// usable skips the test of what cannot run here, loudly.
func (i implementation) usable(t *testing.T) {
	t.Helper()
	if i.missing == "" {
		return
	}
	fmt.Fprintf(os.Stderr, "\n*** NOT TESTED: the worker in %s: %s ***\n\n", i.name, i.missing)
	t.Skip(i.missing)
}

// child is a worker's process.
type child struct {
	t       *testing.T
	command *exec.Cmd
	ended   chan struct{}
	err     error // how it ended

	mu     sync.Mutex
	lines  map[string]int // of its output, how often each was said
	errors bytes.Buffer
}

func (i implementation) start(t *testing.T, args ...string) *child {
	t.Helper()
	command := exec.Command(i.command[0], append(i.command[1:], args...)...)
	command.Env = append(os.Environ(), append([]string{"PYTHONDONTWRITEBYTECODE=1"}, i.environ...)...)
	c := &child{t: t, command: command, ended: make(chan struct{}), lines: make(map[string]int)}
	out, in := io.Pipe()
	command.Stdout, command.Stderr = in, &c.errors
	check(t, command.Start())
	go func() {
		defer close(c.ended)
		c.err = command.Wait()
		_ = in.Close()
	}()
	go c.listen(out)
	t.Cleanup(c.end)
	return c
}

func (c *child) listen(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		c.mu.Lock()
		c.lines[lines.Text()]++
		c.mu.Unlock()
	}
}

func (c *child) said() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := make(map[string]int, len(c.lines))
	for line, times := range c.lines {
		said[line] = times
	}
	return said
}

// await waits until a line was said so many times.
func (c *child) await(line string, times int) {
	c.t.Helper()
	brokertest.Eventually(c.t, line, func() bool { return c.said()[line] >= times })
}

func (c *child) tellToStop() { _ = c.command.Process.Signal(syscall.SIGTERM) } // an error says that it has ended

func (c *child) awaitEnd() {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(20 * time.Second):
		c.t.Fatal("the worker does not end")
	}
	if c.err != nil {
		c.t.Errorf("the worker ended with %v", c.err)
	}
}

// kill ends it with SIGKILL.
func (c *child) kill() {
	_ = c.command.Process.Kill() // an error says that it has ended
	<-c.ended
}

func (c *child) end() {
	c.kill()
	if text := strings.TrimSpace(c.errors.String()); c.t.Failed() && text != "" {
		c.t.Logf("the worker said:\n%s", text)
	}
}

// spawn starts the worker of this test with the script's options.
func (s *stage) spawn(options map[string]any) *child {
	s.t.Helper()
	slots := "2"
	if given := options["max_concurrency"]; given != nil {
		slots = fmt.Sprint(given)
	}
	return s.implementation.start(s.t, "--nats", s.broker.URL(), "--agent-id", agentID, "--capability", "echo",
		"--max-concurrency", slots, "--request-timeout-ms", "400")
}
