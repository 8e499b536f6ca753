package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	root := new(app).rootCommand()
	var walk func(*cobra.Command)
	walk = func(command *cobra.Command) {
		if command.Short == "" || command.Args == nil {
			t.Errorf("%s: it has no short text, or does not judge its arguments", command.CommandPath())
		}
		if !command.HasSubCommands() && !strings.Contains(command.Example, command.CommandPath()) {
			t.Errorf("%s: it has no example of itself", command.CommandPath())
		}
		for _, sub := range command.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"nothing at all is a question", []string{}, 0, "Exit codes", ""},
		{"a noun alone is a question", []string{"task"}, 0, "Submit tasks", ""},
		{
			"an unknown command",
			[]string{"taks"},
			2, "",
			`error: INVALID_ARGUMENT: unknown command "taks" for "reach"; did you mean "task"?`,
		},
		{"an unknown verb", []string{"task", "sbmit"}, 2, "", `did you mean "submit"?`},
		{"a verb without its noun", []string{"submit", "echo"}, 2, "", `unknown command "submit" for "reach"; did you mean reach task submit?`},
		{"a verb of several nouns", []string{"explain"}, 2, "", "did you mean reach route explain or reach task explain?"},
		{"no time", []string{"task", "submit", "echo", "--expires-in", "9999999h"}, 2, "", `--expires-in takes a time such as 30s or 2h, up to 2562047h, and "9999999h" is none`},
		{"no number", []string{"task", "list", "--page-size", "many"}, 2, "", `--page-size takes a whole number, and "many" is none`},
		{"a number too large", []string{"task", "watch", "x", "--after", "99999999999999999999"}, 2, "", `--after takes a whole number of at most 64 bits, and`},
		{"an unknown flag", []string{"task", "list", "--colour"}, 2, "", "unknown flag: --colour (see `reach task list --help`)"},
		{"a form that does not exist", []string{"task", "list", "-o", "xml"}, 2, "", "-o takes text or json"},
		{"an error in JSON", []string{"taks", "-o", "json"}, 2, `{"code":"INVALID_ARGUMENT","reason":"USAGE"`, ""},
		{"an error in JSON, written together", []string{"taks", "--output=json"}, 2, `{"code":"INVALID_ARGUMENT"`, ""},
		{"an id outside its grammar", []string{"task", "get", ">"}, 2, "", "task_id takes a lower-case UUID"},
		{"no id", []string{"task", "get"}, 2, "", "reach task get takes one TASK_ID"},
		{"two ids", []string{"agent", "show", "a", "b"}, 2, "", "reach agent show takes one AGENT_ID"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := commandLine(t, nil, tt.args...)
			if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("exit code %d\nstdout %s\nstderr %s", code, stdout, stderr)
			}
			if tt.stdout == "" && stdout != "" || tt.stderr == "" && stderr != "" {
				t.Errorf("it says too much\nstdout %s\nstderr %s", stdout, stderr)
			}
		})
	}
}

func TestAnErrorCannotForgeLines(t *testing.T) {
	t.Parallel()
	_, _, stderr := commandLine(t, nil, "task", "a\x1b[31m\nerror: forged")
	if strings.Contains(stderr, "\x1b") || strings.Contains(stderr, "\nerror: forged") {
		t.Errorf("got %q", stderr)
	}
}

func TestTheDocumentationNamesEveryCommand(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	var walk func(*cobra.Command)
	walk = func(command *cobra.Command) {
		if !command.HasSubCommands() && !strings.Contains(string(content), "`"+command.CommandPath()) {
			t.Errorf("%s is not in docs/cli.md", command.CommandPath())
		}
		for _, sub := range command.Commands() {
			walk(sub)
		}
	}
	walk(new(app).rootCommand())
}
