package main

import (
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
)

func TestAnExplanationSubmitsNothing(t *testing.T) {
	t.Parallel()
	house, environ := furnished(t)
	code, stdout, _ := commandLine(t, environ, "route", "explain", "echo", "-d", `{"n":1.0}`, "--prefer-agent", "laptop-1")
	if code != exit.OK || !strings.Contains(stdout, "CAPABILITY   echo\nRULE         capability\n") {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	if _, stdout, _ = commandLine(t, environ, "route", "explain", "echo", "-o", "json"); !strings.Contains(stdout, `"left_out":[]`) {
		t.Errorf("got %s", stdout)
	}
	if house.Len() != 0 {
		t.Errorf("%d tasks were submitted", house.Len())
	}
	for _, words := range []string{"", "a.b", "echo -d {bad", "echo --priority 10", "echo --wait", "echo text_stats"} {
		args := append([]string{"route", "explain"}, strings.Fields(words)...)
		if code, _, stderr := commandLine(t, environ, args...); code != exit.Usage {
			t.Errorf("%q: exit code %d, %s", words, code, stderr)
		}
	}
}

func TestTheRoutesOfADispatcher(t *testing.T) {
	t.Parallel()
	_, environ := furnished(t)
	code, stdout, _ := commandLine(t, environ, "route", "list")
	if want := "loud: say it with loud -> echo by sticky, 10 % 2.x, else hold\n"; code != exit.OK || stdout != want {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	if _, stdout, _ = commandLine(t, environ, "route", "list", "-o", "json"); !strings.Contains(stdout, `"items":[{"name":"loud"`) {
		t.Errorf("got %s", stdout)
	}
}

func TestTheDecisionsAboutATask(t *testing.T) {
	t.Parallel()
	house, environ := furnished(t)
	commandLine(t, environ, "task", "submit", "echo")
	id := house.Newest().TaskID
	code, stdout, _ := commandLine(t, environ, "task", "explain", id)
	if code != exit.OK || !strings.HasSuffix(stdout, "\nSTEP  AT  RULE  WENT TO  CHAIN  AFTER\n") {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	if _, stdout, _ = commandLine(t, environ, "task", "explain", id, "-o", "json"); !strings.Contains(stdout, `"hops":[]`) {
		t.Errorf("got %s", stdout)
	}
}
