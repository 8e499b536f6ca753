//go:build unix

package integration

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
)

// TestABenchmarkThatIsInterrupted tells in whatever it does what it has measured until then, and leaves nothing behind.
func TestABenchmarkThatIsInterrupted(t *testing.T) {
	t.Parallel()
	reach := filepath.Join(buildPrograms(t), "reach")
	const megabyte = 1 << 20
	for _, tt := range []struct {
		name   string
		args   []string
		says   string // before it is interrupted
		bytes  int64  // that lie in its folders by then
		signal syscall.Signal
		tells  string // the last of what it has measured; empty where it has measured nothing
	}{
		{"while its broker starts", []string{"--scenarios", "A"}, "A of floor-writes, 1 of 3", 0, syscall.SIGINT, ""},
		{
			"while a load runs",
			[]string{"--scenarios", "B,D", "--repetitions", "1", "--latency-tasks", "5", "--tasks", "1000000"},
			"D4 of agent-reach, 1 of 1", megabyte / 2, syscall.SIGTERM, "\nagent-reach ",
		},
		{
			"between two repetitions",
			[]string{"--scenarios", "B", "--latency-tasks", "5"},
			"B of floor-requests, 2 of 3", 0, syscall.SIGINT,
			"\nagent-reach ",
		},
		{
			"while a queue is filled",
			[]string{"--scenarios", "Q", "--repetitions", "1", "--queue-tasks", "1000000"},
			"Q1 of agent-reach, 1 of 1", megabyte / 2, syscall.SIGINT, "",
		},
		{
			"beside very many open tasks",
			[]string{"--scenarios", "M", "--latency-tasks", "5"},
			"M of agent-reach, 1 of 3", megabyte / 2,
			syscall.SIGTERM, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			bench := newProcess(t, "bench", append([]string{reach, "bench"}, tt.args...)...)
			bench.env = []string{"TMPDIR=" + folder}
			bench.start()
			bench.until(tt.says)
			brokertest.Eventually(t, "the ledger grows", func() bool { return sizeOf(t, folder) >= tt.bytes })
			told := time.Now()
			err := bench.end(tt.signal)
			if took := time.Since(told); took > patience {
				t.Errorf("it took %v to end", took)
			}
			var code *exec.ExitError
			if !errors.As(err, &code) || code.ExitCode() != 130 {
				t.Errorf("it ended with %v", err)
			}
			if said := bench.said.String(); strings.Contains(said, "\nSYSTEM ") != (tt.tells != "") || !strings.Contains(said, tt.tells) {
				t.Errorf("it does not tell what it has measured")
			}
			if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
				t.Errorf("it leaves %v, %v", left, err)
			}
			if left := runningIn(t, folder); len(left) > 0 {
				t.Errorf("it leaves the processes %v", left)
			}
		})
	}
}

// sizeOf is how many bytes the files in a folder have; of what is removed meanwhile, none.
func sizeOf(t *testing.T, folder string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	check(t, err)
	return bytes
}

// runningIn are the processes whose working folder is below another, or was.
func runningIn(t *testing.T, folder string) (running []string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	check(t, err)
	for _, process := range processes {
		if at, err := os.Readlink(filepath.Join(process, "cwd")); err == nil && strings.HasPrefix(at, folder) {
			running = append(running, process)
		}
	}
	return running
}
