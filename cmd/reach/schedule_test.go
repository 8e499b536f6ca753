package main

import (
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
)

func TestSchedulesOnTheCommandLine(t *testing.T) {
	t.Parallel()
	_, environ := furnished(t)
	add := []string{
		"schedule", "add", "nightly", "echo", "--cron", "30 2 * * mon-fri", "--time-zone", "Europe/Berlin", "--missed", "once", "-d", `{"n":1.0}`,
		"--expires-in", "1h",
	}
	code, stdout, stderr := commandLine(t, environ, add...)
	for _, line := range []string{
		"SCHEDULE     nightly\n", "TIME ZONE    Europe/Berlin\n", "MISSED       once\n", "PAYLOAD      {\"n\":1.0}\n", "after its time\n",
	} {
		if !strings.Contains(stdout, line) {
			t.Errorf("exit code %d: no %q in\n%s%s", code, line, stdout, stderr)
		}
	}
	if code, _, stderr = commandLine(t, environ, add...); code != exit.Failed {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	for _, verb := range []string{"show", "pause", "resume", "delete"} {
		if code, stdout, stderr := commandLine(t, environ, "schedule", verb, "nightly", "-o", "json"); code != exit.OK ||
			!strings.Contains(stdout, `"name":"nightly"`) {
			t.Errorf("%s: exit code %d, %s%s", verb, code, stdout, stderr)
		}
	}
	if _, stdout, _ = commandLine(t, environ, "schedule", "list", "-o", "json"); !strings.Contains(stdout, `"items":[]`) {
		t.Errorf("got %s", stdout)
	}
	for _, words := range []string{
		"add", "add a.b echo --cron @daily", "add x echo", "add x --cron @daily", "add x echo --cron @daily --missed some",
		"add x echo --cron @daily --msg-id k", "add x echo --cron @daily --wait", "show", "show a.b", "delete x y", "list --page-size 101",
	} {
		args := append([]string{"schedule"}, strings.Fields(words)...)
		if code, _, stderr := commandLine(t, environ, args...); code != exit.Usage {
			t.Errorf("%q: exit code %d, %s", words, code, stderr)
		}
	}
}
