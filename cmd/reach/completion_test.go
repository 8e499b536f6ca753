package main

import (
	"strings"
	"testing"
)

func TestValuesAreCompleted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, line, want string }{
		{"the forms of output", "task list -o", "text\njson\n"},
		{"the states of tasks", "task list --state", "submitted\nworking\n"},
		{"the states of agents", "agent list --state", "pending\nonline\n"},
		{"the states of callbacks", "callback list --state", "failed\nwaiting\n"},
		{"a flag of several commands", "schedule add nightly echo --qos", "realtime\nstandard\ncomplete\n"},
		{"a name, where no broker answers", "task get --server nats://127.0.0.1:1", ":4\n"},
		{"a second name, where one is taken", "agent show laptop-1 --server nats://127.0.0.1:1", ":4\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, _ := commandLine(t, nil, append(append([]string{"__complete"}, strings.Fields(tt.line)...), "")...)
			if code != 0 || !strings.HasPrefix(stdout, tt.want) {
				t.Errorf("exit code %d, got %q, want %q", code, stdout, tt.want)
			}
		})
	}
}

func TestEveryNameIsCompleted(t *testing.T) {
	t.Parallel()
	root := new(app).rootCommand()
	for _, line := range []string{
		"task get", "task wait", "task cancel", "task submit", "trace", "result get", "agent show", "agent drain", "schedule show",
		"capability show", "route explain", "deadletter replay", "callback replay",
	} {
		command, _, err := root.Find(strings.Fields(line))
		if err != nil || command.ValidArgsFunction == nil {
			t.Errorf("reach %s: its argument is not completed (%v)", line, err)
		}
	}
}
