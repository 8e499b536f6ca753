//go:build unix

package subprocess_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
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
	left := adaptertest.Children()
	if len(left) == 0 {
		return 0
	}
	fmt.Fprintln(os.Stderr, "left behind:", left)
	return 1
}

// input reads lines of any length.
func input() func() ([]byte, bool) {
	from := bufio.NewReader(os.Stdin)
	return func() ([]byte, bool) {
		line, err := from.ReadBytes('\n')
		return bytes.TrimSpace(line), err == nil
	}
}
