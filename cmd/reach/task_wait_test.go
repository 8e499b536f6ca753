package main

import (
	"context"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestHowAWaitEnds(t *testing.T) {
	t.Parallel()
	house, environ := furnished(t)
	house.On("break", fronttest.Script{Error: schemas.NewError(schemas.Internal, "", "no such\nluck \x1b[1m")})
	for _, tt := range []struct {
		name, args, stdout, stderr string
		code                       int
	}{
		{"the result alone is on stdout", `echo -d {"n":1.0} --wait`, "{\"n\":1.0}\n", "", exit.OK},
		{"in JSON, the whole task is", `echo -d {} --wait -o json`, `"state":"completed"`, "", exit.OK},
		{"the wait ends first", `hold --wait=20ms`, "", "the wait ended first: task ", exit.WaitEnded},
		{"the same in JSON", `hold --wait=20ms -o json`, `"state":"working"`, "runs on (reach task get ", exit.WaitEnded},
		{
			"the task fails, and its agent's words stay words", `break --wait`,
			"", `error: INTERNAL: no such` + "\n" + `       luck \u001b[1m`, exit.Failed,
		},
		{"the same in JSON", `break --wait -o json`, `"state":"failed"`, "", exit.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := commandLine(t, environ, append([]string{"task", "submit"}, strings.Fields(tt.args)...)...)
			if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("exit code %d\nstdout %s\nstderr %s", code, stdout, stderr)
			}
			if tt.stdout == "" && stdout != "" || tt.stderr == "" && stderr != "" {
				t.Errorf("it says too much\nstdout %s\nstderr %s", stdout, stderr)
			}
		})
	}
}

func TestAFailedTaskIsShownLikeAnyOther(t *testing.T) {
	t.Parallel()
	house, environ := furnished(t)
	house.On("break", fronttest.Script{Error: schemas.NewError(schemas.Aborted, "", "may have run")})
	commandLine(t, environ, "task", "submit", "break")
	id := house.Newest().TaskID
	code, stdout, _ := commandLine(t, environ, "task", "get", id)
	if code != exit.OK || !strings.Contains(stdout, "ERROR        ABORTED: may have run") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	code, _, stderr := commandLine(t, environ, "task", "wait", id)
	if code != exit.Failed || !strings.HasPrefix(stderr, "error: ABORTED: may have run") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

func TestAnInterruptedWaitLeavesTheTask(t *testing.T) {
	t.Parallel()
	house, environ := furnished(t)
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan string, 1)
	go func() {
		code, _, stderr := played(ctx, environ, false, "task", "submit", "hold", "--wait")
		if code != exit.WaitEnded {
			t.Errorf("exit code %d", code)
		}
		ended <- stderr
	}()
	eventually(t, "the task is there", func() bool { return contains(house.Calls(), "Wait") })
	interrupt()
	stderr := <-ended
	id := house.Newest().TaskID
	if want := "interrupted: task " + id + " is working and runs on (reach task get " + id + ")"; !strings.Contains(stderr, want) {
		t.Errorf("got %q", stderr)
	}
	if house.Newest().State.Terminal() {
		t.Error("the task was ended")
	}
}

func TestProgressIsDrawnOnATerminalAndWipedAway(t *testing.T) {
	t.Parallel()
	house, environ := furnished(t)
	ended := make(chan [2]string, 1)
	go func() {
		_, stdout, stderr := played(t.Context(), environ, true, "task", "submit", "hold", "--wait")
		ended <- [2]string{stdout, stderr}
	}()
	eventually(t, "someone waits", func() bool { return contains(house.Calls(), "Wait") })
	id := house.Newest().TaskID
	house.End(id, schemas.Payload("{\"turned\":\"\u202e\"}"), nil)
	said := <-ended
	if !strings.Contains(said[1], id+"  working on laptop-1  0s") || !strings.HasSuffix(said[1], "\r\x1b[K") {
		t.Errorf("stderr %q", said[1])
	}
	if said[0] != "{\"turned\":\"\\u202e\"}\n" {
		t.Errorf("stdout %q", said[0])
	}
}

func contains(calls []string, name string) bool {
	for _, call := range calls {
		if strings.HasPrefix(call, name) {
			return true
		}
	}
	return false
}
