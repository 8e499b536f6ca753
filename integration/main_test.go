//go:build unix

package integration

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/broker/brokertest"
)

var (
	kills = flag.Int("kills", 10, "how often a test that kills processes does so")
	seed  = flag.Uint64("seed", 0, "of the random choices; 0 takes a new one, which the test tells")
)

// TestMain makes the test binary also the agents that are served, a tool of the documentation, and the brokers that are to be killed.
func TestMain(m *testing.M) {
	if kind := os.Getenv(agentVariable); kind != "" {
		os.Exit(runAgent(kind))
	}
	if os.Getenv(toolVariable) != "" {
		os.Exit(runNATS(os.Args[1:]))
	}
	brokertest.Main(m, goleak.Cleanup(func(code int) {
		removePrograms()
		os.Exit(code)
	}))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
