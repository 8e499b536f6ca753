package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/dispatcher/front/natsfront"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// commandLine runs one command line as a process of its own would, where nobody watches.
func commandLine(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return played(t.Context(), environ, false, args...)
}

// played is commandLine until ctx ends, perhaps on a terminal.
func played(ctx context.Context, environ []string, terminal bool, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	a := &app{
		stdin: strings.NewReader(""), stdout: &out, stderr: &errs, environ: environ, terminal: func(any) bool { return terminal },
	}
	code = a.run(ctx, args)
	return code, out.String(), errs.String()
}

// furnished is a house for callers, and the environment in which commands find it.
func furnished(t *testing.T) (*fronttest.House, []string) {
	t.Helper()
	b := brokertest.New(t)
	house := fronttest.New()
	api, err := natsfront.Serve(b.Conn(t), house, natsfront.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	return house, []string{"REACH_URL=" + b.URL(), "HOME=/nowhere"}
}

// eventually waits for something that another goroutine brings about.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !so(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not in time", what)
		}
	}
}
