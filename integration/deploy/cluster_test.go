package deploy

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// running is the cluster of docker-compose.yml as processes: with it every command line, every health check and every file of the
// compose file is tried with the real programs.
type running struct {
	t        *testing.T
	bin      string
	url      string // of the brokers
	services map[string]struct {
		PID   int
		Ports []string
	}
}

func startCluster(t *testing.T) *running {
	t.Helper()
	r := &running{t: t, bin: programs(t)}
	dir := t.TempDir()
	command := exec.Command(filepath.Join(r.bin, "cluster"), "-bin", r.bin, "-dir", dir, "-file", composeFile)
	var said strings.Builder
	command.Stdout, command.Stderr = &said, &said
	check(t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // an error says that it has ended
		if err := <-ended; err != nil {
			t.Errorf("the cluster ended with %v", err)
		}
		if t.Failed() {
			t.Logf("the cluster said:\n%s", said.String())
		}
	})
	await(t, "the cluster", func() bool {
		content, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
		if err == nil {
			check(t, json.Unmarshal(content, r))
		}
		return err == nil || len(ended) > 0
	})
	var brokers []string
	for _, name := range []string{"broker-1", "broker-2", "broker-3"} {
		if len(r.services[name].Ports) != 1 {
			t.Fatalf("%s is not there", name)
		}
		brokers = append(brokers, "nats://"+r.services[name].Ports[0])
	}
	r.url = strings.Join(brokers, ",")
	return r
}

// UnmarshalJSON reads cluster.json.
func (r *running) UnmarshalJSON(content []byte) error {
	return json.Unmarshal(content, &struct{ Services any }{&r.services})
}

// reach is a command of a user of the cluster.
func (r *running) reach(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 40*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(r.bin, "reach"), args...)
	command.Env = append(os.Environ(), "REACH_URL="+r.url)
	out, err := command.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// submit asks until the task is taken, as a caller with a msg_id may, and gives its result.
func (r *running) submit(msgID, capability, payload string) (result string) {
	r.t.Helper()
	await(r.t, "the task "+msgID, func() bool {
		said, err := r.reach("task", "submit", capability, "--msg-id", msgID, "-d", payload, "--wait", "30s")
		if err != nil {
			r.t.Logf("not yet: %s", said)
		}
		result = said
		return err == nil
	})
	return result
}

func (r *running) kill(service string) {
	r.t.Helper()
	check(r.t, syscall.Kill(r.services[service].PID, syscall.SIGKILL))
}

const (
	text = `{"text":"Ships sail. Ships sink.","max_sentences":1}`
	diff = `{"diff":"+++ b/a.go\n@@ -0,0 +1 @@\n+// TODO\n"}`
)

func TestTheClusterSurvivesTheLossOfABrokerAndADispatcher(t *testing.T) {
	t.Parallel()
	r := startCluster(t)
	if got := r.submit("first", "summarize", text); !strings.Contains(got, `"summary"`) {
		t.Errorf("the first result is %s", got)
	}
	r.kill("broker-1")
	if got := r.submit("second", "code_review", diff); !strings.Contains(got, `"findings"`) {
		t.Errorf("the result after the loss of a broker is %s", got)
	}
	r.kill("dispatcher-1")
	if got := r.submit("third", "summarize", text); !strings.Contains(got, `"summary"`) {
		t.Errorf("the result after the loss of a dispatcher is %s", got)
	}
	said, err := r.reach("health", "http://"+r.services["dispatcher-2"].Ports[0])
	if err != nil {
		t.Errorf("the other dispatcher is not well: %s", said)
	}
}
