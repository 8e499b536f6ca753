package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/agentreach/agent-reach/broker/brokertest"
)

// documented is the block of a kind in docs/operations.md that begins with some comment.
func documented(t *testing.T, kind, begins string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "docs", "operations.md"))
	check(t, err)
	for _, block := range strings.Split(string(content), "```") {
		if text, found := strings.CutPrefix(block, kind+"\n"); found && strings.HasPrefix(text, begins) {
			return text
		}
	}
	t.Fatalf("docs/operations.md has no block of %s that begins with %q", kind, begins)
	return ""
}

// external is a cluster of stock NATS servers, configured as the documentation says.
type external struct {
	t   *testing.T
	dir string
	url string
	bin string // the programs of the house
}

func startExternal(t *testing.T) *external {
	t.Helper()
	e := &external{t: t, dir: t.TempDir(), bin: programs(t)}
	server := filepath.Join(e.dir, "nats-server")
	build := exec.Command("go", "build", "-o", server, "github.com/nats-io/nats-server/v2")
	build.Dir = root
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the NATS server: %v\n%s", err, said)
	}
	conf := documented(t, "conf", "# /etc/nats/nats.conf")
	clients, routes := addresses(t, 3), addresses(t, 3)
	for i, route := range routes {
		conf = strings.ReplaceAll(conf, fmt.Sprintf("nats-%d:6222", i+1), route)
	}
	for i := range 3 {
		name := fmt.Sprintf("nats-%d", i+1)
		own := strings.NewReplacer("nats-1", name, "0.0.0.0:4222", clients[i], "0.0.0.0:6222", routes[i], "/var/lib/nats",
			filepath.Join(e.dir, name)).Replace(conf)
		file := e.write(name+".conf", own)
		e.spawn(name, server, "-c", file)
	}
	e.url = "nats://" + strings.Join(clients, ",nats://")
	for user, number := range map[string]string{"dispatcher": "2", "summarizer": "3"} {
		e.write(user+"-password", "change-me-"+number+"\n")
	}
	return e
}

// addresses are free ones of the loopback interface.
func addresses(t *testing.T, n int) (all []string) {
	t.Helper()
	for range n {
		all = append(all, brokertest.FreeAddress(t))
	}
	return all
}

func (e *external) write(name, content string) string {
	e.t.Helper()
	path := filepath.Join(e.dir, name)
	check(e.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// configured is a documented file of ours, with the addresses and paths of this test.
func (e *external) configured(begins string, more ...string) string {
	e.t.Helper()
	text := documented(e.t, "yaml", begins)
	text = regexp.MustCompile(`url: nats:.*`).ReplaceAllString(text, "url: "+e.url)
	text = strings.NewReplacer(append(more, "/etc/reach", e.dir)...).Replace(text)
	return e.write(strings.TrimPrefix(begins, "# "), text)
}

// spawn starts a process that ends with the test.
func (e *external) spawn(name, program string, args ...string) {
	e.t.Helper()
	command := exec.Command(program, args...)
	log, err := os.Create(filepath.Join(e.dir, name+".log"))
	check(e.t, err)
	command.Dir, command.Stdout, command.Stderr = e.dir, log, log
	command.Env = append(os.Environ(), "XDG_STATE_HOME="+e.dir)
	check(e.t, command.Start())
	e.t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // an error says that it has ended
		_ = command.Wait()                          // what it had to say is in its log
		_ = log.Close()
		if content, err := os.ReadFile(log.Name()); err == nil && e.t.Failed() {
			e.t.Logf("%s said:\n%s", name, content[max(0, len(content)-2000):])
		}
	})
}

// TestAnExternalClusterServes starts stock NATS servers with the configuration in docs/operations.md, a dispatcher and a worker with
// the files there, and carries a task through them: the permissions of the agent's user are enough, and no more than that.
func TestAnExternalClusterServes(t *testing.T) {
	t.Parallel()
	e := startExternal(t)
	http, agent := brokertest.FreeAddress(t), brokertest.FreeAddress(t)
	reach := filepath.Join(e.bin, "reach")
	e.spawn("dispatcher", reach, "dispatcher", "-c", e.configured("# reach.yaml"), "--http", http)
	e.spawn("summarize", filepath.Join(e.bin, "summarize"), "-listen", agent)
	e.spawn("worker", reach, "worker", "-f", e.configured("# worker.yaml", "127.0.0.1:9000", agent))
	await(t, "the dispatcher", func() bool { return exec.Command(reach, "health", "http://"+http).Run() == nil })

	caller := strings.ReplaceAll(e.url, "nats://", "nats://dispatcher:change-me-2@")
	submit := func(url string) (string, error) {
		command := exec.Command(reach, "task", "submit", "summarize", "-s", url, "-d", `{"text":"Ships sail."}`, "--wait", "30s")
		said, err := command.CombinedOutput()
		return strings.TrimSpace(string(said)), err
	}
	var said string
	await(t, "a result", func() (done bool) {
		var err error
		said, err = submit(caller)
		return err == nil
	})
	if said != `{"summary":"Ships sail."}` {
		t.Errorf("the result is %s", said)
	}
	if said, err := submit(strings.ReplaceAll(e.url, "nats://", "nats://summarizer:change-me-3@")); err == nil {
		t.Errorf("the agent's user may submit tasks: %s", said)
	}
	list := exec.Command(reach, "agent", "list", "-s", caller, "-o", "json")
	if said, err := list.CombinedOutput(); err != nil || !strings.Contains(string(said), `"state":"online"`) {
		t.Errorf("the agent is not online: %v\n%s", err, said)
	}
	await(t, "an answer of the worker to controls, whichever server one asks", func() bool {
		return exec.Command(reach, "health", caller, "--agent", "summarizer").Run() == nil
	})
}
