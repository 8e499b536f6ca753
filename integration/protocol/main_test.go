package protocol

import (
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/agentreach/agent-reach/broker/brokertest"
)

// childVariable in the environment makes the test binary a worker of our own, as a process like the others: of one kind or the other.
const (
	childVariable = "REACH_TEST_PROTOCOL_WORKER"
	ownKind       = "go"
	claimingKind  = "claims"
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(childVariable); kind != "" {
		os.Exit(runChild(kind))
	}
	moreAtOnce()
	brokertest.Main(m)
}

// moreAtOnce lets more scripts play at a time than there are processors, unless the command line says how many: they mostly wait.
func moreAtOnce() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "8") // the flag is there in every test binary
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestProtocol plays every script with every implementation.
func TestProtocol(t *testing.T) {
	t.Parallel()
	all := scripts(t)
	for _, i := range implementations(t) {
		t.Run(i.name, func(t *testing.T) {
			t.Parallel()
			i.usable(t)
			for _, script := range all {
				if slices.Contains(i.leaves, script.file) {
					continue
				}
				t.Run(script.file, func(t *testing.T) {
					t.Parallel()
					s := newStage(t, i)
					for _, r := range script.rows {
						s.play(r)
					}
					s.finale()
				})
			}
		})
	}
}
