package main

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/schemas"
)

// full takes so many bytes and nothing more, as a disk that fills up does.
type full struct {
	bytes.Buffer
	room int
}

func (f *full) Write(text []byte) (int, error) {
	if len(text) > f.room {
		return 0, syscall.ENOSPC
	}
	f.room -= len(text)
	return f.Buffer.Write(text)
}

func TestWhatCannotBePrintedIsNoSuccess(t *testing.T) {
	t.Parallel()
	house, environ := furnished(t)
	ended := house.Plant(schemas.DefaultTenant)
	house.End(ended, schemas.Payload(`{"summary":"Ships sail."}`), nil)
	const lost = "error: FAILED_PRECONDITION: the output could not be written, and what was asked for may have been done: no space left on device\n"
	for _, tt := range []struct {
		name, args string
	}{
		{"help", "--help"},
		{"the version", "version"},
		{"a table", "capability list"},
		{"a list in JSON", "agent list -o json"},
		{"settings", "config print"},
		{"a task", "task get " + ended},
		{"a result", "task wait " + ended},
		{"the events of a task", "task watch " + ended},
		{"a bare result", "result get " + ended},
		{"a submit that waits", "task submit echo -d 1 --wait"},
		{"the id of a task", "task submit echo -d 1"},
		{"an error in JSON", "task get " + schemas.NewTaskID() + " -o json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var errs bytes.Buffer
			a := &app{
				stdin: strings.NewReader(""), stdout: new(full), stderr: &errs, environ: environ, terminal: func(any) bool { return false },
			}
			if code := a.run(t.Context(), strings.Fields(tt.args)); code != exit.Failed {
				t.Errorf("exit code %d", code)
			}
			if diff := cmp.Diff(lost, errs.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhoFollowsATaskStopsWhenNothingCanBePrinted(t *testing.T) {
	t.Parallel()
	house, environ := furnished(t)
	id := house.Plant(schemas.DefaultTenant)
	agent := newStreaming(t, house, environ, id)
	agent.say(`"Ships "`, `"sail."`)
	var errs bytes.Buffer
	a := &app{
		stdin: strings.NewReader(""), stdout: &full{room: len("Ships ")}, stderr: &errs, environ: environ, terminal: func(any) bool { return false },
	}
	if code := a.run(t.Context(), []string{"task", "watch", id}); code != exit.Failed || !strings.Contains(errs.String(), "runs on") {
		t.Errorf("exit code %d: %s", code, &errs)
	}
}
