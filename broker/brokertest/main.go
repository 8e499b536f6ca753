package brokertest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/broker/embedded"
)

// childVariable holds the configuration of the broker that a child process is to be.
const childVariable = "REACH_BROKERTEST_CHILD"

// hooked says that TestMain calls Main. Without it a child would run the tests again, each starting children of its own.
var hooked atomic.Bool

// Main is what TestMain of a package consists of: it runs the tests, checks that no goroutine is left behind and exits.
// In a process that Child or Cluster started it runs a broker instead.
func Main(m *testing.M, opts ...goleak.Option) {
	if text, ok := os.LookupEnv(childVariable); ok {
		os.Exit(runChild(text))
	}
	hooked.Store(true)
	goleak.VerifyTestMain(m, opts...)
}

// runChild says its address on standard output when ready, and ends properly when standard input does: with the parent
// at the latest.
func runChild(text string) (code int) {
	var cfg embedded.Config
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		fmt.Fprintln(os.Stderr, "read configuration:", err)
		return 1
	}
	cfg.Logger = zerolog.New(os.Stderr).Level(zerolog.WarnLevel).With().Timestamp().Logger()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server, err := startPatiently(ctx, cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer server.Close()
	fmt.Println(server.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}
