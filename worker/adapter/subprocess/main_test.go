//go:build unix

package subprocess_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// agentVariable makes the test binary one of the agents below.
const agentVariable = "ADAPTERTEST_AGENT"

var agents = map[string]func(){"per_task": perTaskAgent, "keep_alive": keepAliveAgent}

func TestMain(m *testing.M) {
	if agent, found := agents[os.Getenv(agentVariable)]; found {
		agent()
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(max(code, leftChildren())) }))
}

// leftChildren is 1 if processes that we started are still there.
func leftChildren() int {
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		pids, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if left := strings.TrimSpace(string(pids)); left != "" {
			fmt.Fprintln(os.Stderr, "processes left behind:", left)
			return 1
		}
	}
	return 0
}

// input reads lines of any length.
func input() func() ([]byte, bool) {
	from := bufio.NewReader(os.Stdin)
	return func() ([]byte, bool) {
		line, err := from.ReadBytes('\n')
		return bytes.TrimSpace(line), err == nil
	}
}
