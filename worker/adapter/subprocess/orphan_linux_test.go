package subprocess_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/subprocess"
)

func init() { agents["host"] = host }

// host is a worker's process with one task in it, for ever.
func host() {
	agent, err := subprocess.New(subprocess.Config{Command: shell(`echo $$ >pid; exec sleep 60`)})
	if err == nil {
		_, _ = agent.Handle(context.Background(), adaptertest.NewTask([]byte(`{}`)), new(adaptertest.Recorder))
	}
}

func TestAProgramDoesNotOutliveAWorkerThatIsKilled(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	worker := exec.Command(self)
	worker.Dir, worker.Env = t.TempDir(), append(os.Environ(), agentVariable+"=host")
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	pid := waitFor(t, filepath.Join(worker.Dir, "pid"))
	if err := worker.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = worker.Wait()
	gone(t, pid)
}
