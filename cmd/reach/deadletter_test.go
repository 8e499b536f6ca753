package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/schemas"
)

// buried is a house with so many dead letters, the oldest first.
func buried(t *testing.T, count int) (house *fronttest.House, environ, ids []string) {
	t.Helper()
	house, environ = furnished(t)
	house.On("lose", fronttest.Script{Error: schemas.NewError(schemas.Aborted, schemas.ReasonMayHaveExecuted, "may have run")})
	for range count {
		task, err := house.Submit(t.Context(), schemas.DefaultTenant, &schemas.ReachMessage{Capability: "lose"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, task.TaskID)
	}
	house.On("lose", fronttest.Script{})
	return house, environ, ids
}

func TestDeadLettersAreListedAndShown(t *testing.T) {
	t.Parallel()
	_, environ, ids := buried(t, 3)
	_, stdout, _ := commandLine(t, environ, "dlq", "list")
	for _, id := range ids {
		if !strings.Contains(stdout, id) {
			t.Errorf("%s is not in the list\n%s", id, stdout)
		}
	}
	code, stdout, stderr := commandLine(t, environ, "deadletter", "list", "--page-size", "2")
	if code != exit.OK || strings.Count(stdout, "\n") != 3 || stderr != "there are more: --page-token "+ids[1]+"\n" {
		t.Errorf("exit code %d\nstdout %s\nstderr %s", code, stdout, stderr)
	}
	_, stdout, _ = commandLine(t, environ, "deadletter", "show", ids[0])
	if !strings.Contains(stdout, "1    laptop-1  ABORTED MAY_HAVE_EXECUTED") {
		t.Errorf("got %s", stdout)
	}
	commandLine(t, environ, "task", "submit", "echo", "--msg-id", "well")
	well := wellEnded(t, environ)
	code, _, stderr = commandLine(t, environ, "deadletter", "show", well)
	if code != exit.Usage || !strings.Contains(stderr, "is not among the dead letters") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	code, _, stderr = commandLine(t, environ, "deadletter", "replay", well)
	if code != exit.Usage || !strings.Contains(stderr, "is not among the dead letters") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// wellEnded is the newest completed task.
func wellEnded(t *testing.T, environ []string) string {
	t.Helper()
	_, stdout, _ := commandLine(t, environ, "task", "list", "--state", "completed", "-o", "json")
	var page schemas.TaskPage
	if err := schemas.Decode([]byte(stdout), &page); err != nil || len(page.Items) == 0 {
		t.Fatalf("no completed task: %v, %s", err, stdout)
	}
	return page.Items[0].TaskID
}

func TestADeadLetterIsReplayedOnce(t *testing.T) {
	t.Parallel()
	house, environ, ids := buried(t, 1)
	_, first, _ := commandLine(t, environ, "deadletter", "replay", ids[0])
	if !strings.HasPrefix(first, ids[0]+"  replayed as ") {
		t.Fatalf("got %q", first)
	}
	if _, again, _ := commandLine(t, environ, "deadletter", "replay", ids[0]); again != first {
		t.Errorf("the second time %q, the first %q", again, first)
	}
	if _, _, stderr := commandLine(t, environ, "deadletter", "replay", "--all", "--yes"); stderr != "there is nothing to replay\n" {
		t.Errorf("replay of all: %q", stderr)
	}
	if house.Len() != 2 {
		t.Errorf("there are %d tasks", house.Len())
	}
	commandLine(t, environ, "deadletter", "purge", ids[0])
	if _, stdout, _ := commandLine(t, environ, "deadletter", "list"); strings.Contains(stdout, ids[0]) {
		t.Errorf("after the purge\n%s", stdout)
	}
}

func TestAllAreReplayedFromTheOldestOn(t *testing.T) {
	t.Parallel()
	_, environ, ids := buried(t, 120) // more than a page
	code, stdout, stderr := commandLine(t, environ, "deadletter", "replay", "--all", "--yes")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != exit.OK || stderr != "" || len(lines) != len(ids) {
		t.Fatalf("exit code %d, %d lines, stderr %s", code, len(lines), stderr)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, ids[i]) {
			t.Fatalf("line %d is %s, not of %s", i, line, ids[i])
		}
	}
	code, stdout, _ = commandLine(t, environ, "deadletter", "purge", "--all", "--yes", "-o", "json")
	if code != exit.OK || strings.Count(stdout, `"task_id"`) != len(ids) {
		t.Errorf("purge: exit code %d\n%s", code, stdout)
	}
}

func TestOneThatIsRefusedDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	_, environ, ids := buried(t, 2)
	unknown := schemas.NewTaskID()
	code, stdout, stderr := commandLine(t, environ, "deadletter", "replay", ids[0], unknown, ids[1])
	refused := strings.HasPrefix(stderr, "error: "+unknown+": NOT_FOUND: ")
	if code != exit.Usage || strings.Count(stdout, "replayed as") != 2 || !refused {
		t.Errorf("exit code %d\nstdout %s\nstderr %s", code, stdout, stderr)
	}
	_, stdout, _ = commandLine(t, environ, "deadletter", "replay", unknown, ids[1], "-o", "json")
	if !strings.Contains(stdout, fmt.Sprintf(`"details":{"task_id":%q}`, unknown)) || strings.Count(stdout, "\n") != 2 {
		t.Errorf("got %s", stdout)
	}
}

func TestAllAreAskedFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, answer, stderr string
		terminal             bool
		code, left           int
	}{
		{"yes", "y\n", "purge 2 of the dead letters? [y/N] ", true, exit.OK, 0},
		{"no", "n\n", "nothing was changed", true, exit.Failed, 2},
		{"nothing", "\n", "nothing was changed", true, exit.Failed, 2},
		{"the input ends", "", "nothing was changed", true, exit.Failed, 2},
		{"nobody to ask", "y\n", "give --yes to purge 2 of the dead letters", false, exit.Usage, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			house, environ, _ := buried(t, 2)
			var out, errs bytes.Buffer
			a := &app{
				stdin: strings.NewReader(tt.answer), stdout: &out, stderr: &errs, environ: environ,
				terminal: func(w any) bool { return tt.terminal && w != io.Writer(&out) },
			}
			code := a.run(t.Context(), []string{"deadletter", "purge", "--all"})
			if code != tt.code || !strings.Contains(errs.String(), tt.stderr) {
				t.Errorf("exit code %d, stderr %q", code, errs.String())
			}
			page, err := house.ListTasks(t.Context(), schemas.DefaultTenant, schemas.TaskQuery{DeadLetter: true})
			if err != nil || len(page.Items) != tt.left {
				t.Errorf("%d are left, %v", len(page.Items), err)
			}
		})
	}
}

func TestProgressOfManyIsDrawnAndWipedAway(t *testing.T) {
	t.Parallel()
	_, environ, _ := buried(t, 3)
	_, _, stderr := played(t.Context(), environ, true, "deadletter", "purge", "--all", "--yes")
	if !strings.Contains(stderr, "\r\x1b[K2 of 3") || !strings.HasSuffix(stderr, "\r\x1b[K") {
		t.Errorf("stderr %q", stderr)
	}
}

func TestARetryIsANewTask(t *testing.T) {
	t.Parallel()
	house, environ, ids := buried(t, 1)
	code, stdout, _ := commandLine(t, environ, "task", "retry", ids[0], "--wait", "30s", "-o", "json")
	if code != exit.OK || !strings.Contains(stdout, `"retry_of":"`+ids[0]+`"`) || !strings.Contains(stdout, `"state":"completed"`) {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	newest := house.Newest().TaskID
	if _, stdout, _ = commandLine(t, environ, "task", "retry", ids[0]); !strings.HasPrefix(stdout, newest+"  completed") {
		t.Errorf("the same again gives %s", stdout)
	}
	for _, words := range []string{"", "a.b", ids[0] + " " + ids[0], ids[0] + " --wait=soon", ids[0] + " 30s"} {
		args := append([]string{"task", "retry"}, strings.Fields(words)...)
		if code, _, stderr := commandLine(t, environ, args...); code != exit.Usage {
			t.Errorf("%q: exit code %d, %s", words, code, stderr)
		}
	}
}
