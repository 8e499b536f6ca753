package main

import (
	"strings"
	"testing"
)

func TestWhatPeopleTypeWhoComeFromElsewhere(t *testing.T) {
	t.Parallel()
	root := new(app).rootCommand()
	for _, tt := range []struct{ typed, meant string }{
		{"tasks ls", "reach task list"},
		{"task show", "reach task get"},
		{"agents get", "reach agent show"},
		{"agent rm", "reach agent remove"},
		{"agent delete", "reach agent remove"},
		{"schedule remove", "reach schedule delete"},
		{"capabilities list", "reach capability list"},
		{"dlq get", "reach deadletter show"},
	} {
		command, _, err := root.Find(strings.Fields(tt.typed))
		if err != nil || command.CommandPath() != tt.meant {
			t.Errorf("%s is taken for %q (%v), want %q", tt.typed, command.CommandPath(), err, tt.meant)
		}
	}
}

func TestSlips(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, line   string
		code         int
		says, prints string
	}{
		{"a flag that is misspelt", "task list --capabilty=x", 2, "unknown flag: --capabilty; did you mean --capability?", ""},
		{"a flag that is nothing like another", "task list --zzz", 2, "unknown flag: --zzz (see", ""},
		{"an argument where none is taken", "agent list extra", 2, `reach agent list takes no arguments, and "extra" is one`, ""},
		{"a payload without its flag", `task submit echo {"a":1}`, 2, "give the payload with -d: reach task submit echo -d", ""},
		{"a payload's file without its flag", "route explain echo @note.json", 2, "give the payload with -d", ""},
		{"a file that is not named", "backup", 2, "reach backup takes one FILE", ""},
		{"help about no command", "help nonsense", 2, `unknown command "nonsense" for "reach"`, ""},
		{"help about a command", "help task submit", 0, "", "Submit a task."},
		{"a shell that is not known", "completion tcsh", 2, `unknown command "tcsh" for "reach completion"`, ""},
		{"the version as a flag", "--version", 0, "", "reach dev (go"},
		{"a state that no task has", "task list --state=gone", 2, "state takes submitted, working,", ""},
		{"the broker by the worker's name for it", "task list --nats=http://x", 2, "the broker's URL is not valid", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := commandLine(t, nil, strings.Fields(tt.line)...)
			if code != tt.code || !strings.Contains(stderr, tt.says) || !strings.Contains(stdout, tt.prints) {
				t.Errorf("exit code %d\nstdout %s\nstderr %s", code, stdout, stderr)
			}
		})
	}
}
