package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/schemas"
)

// app is what all commands share: where they read and write, and the flags that every command has.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
	terminal       func(w any) bool

	output  string
	entered bool // a command has begun: its flags and arguments were understood
}

// The forms of output.
const (
	outputText = "text"
	outputJSON = "json"
)

// run is one command line, and its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &printed{to: a.stdout, end: cancel}
	a.stdout = out
	root := a.rootCommand()
	judged(root)
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	command, err := root.ExecuteContextC(ctx)
	if err != nil && !a.entered {
		err = misunderstood(command, err)
		a.output = outputOf(args)
	}
	if ctx.Err() != nil && interrupted(err) {
		err = exit.Interrupted
	}
	if lost := out.lost(); lost == nil || !errors.Is(err, lost) {
		a.tell(err)
	}
	if lost := out.lost(); lost != nil { // also where it is the error that could not be told
		a.note("error: %s: the output could not be written, and what was asked for may have been done: %s", schemas.FailedPrecondition, lost)
		return exit.Failed
	}
	return exit.Code(err)
}

// interrupted is whether a command failed because it was told to stop.
func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || err != nil && exit.Error(err).Code == schemas.Cancelled
}

// misunderstood turns what the flag parser says into our form. A name outside its grammar has its own.
func misunderstood(command *cobra.Command, err error) error {
	if known := new(schemas.Error); errors.As(err, &known) {
		return known
	}
	text := strings.ReplaceAll(err.Error(), "\n", " ")
	return exit.UsageError("%s (see `%s --help`)", strings.TrimSpace(text), command.CommandPath())
}

// outputOf finds the form of output where the flags could not be parsed.
func outputOf(args []string) string {
	for i, arg := range args {
		value, _ := strings.CutPrefix(strings.TrimPrefix(arg, "-"), "-output=")
		if value == outputJSON || slices.Contains([]string{"-ojson", "-o=json"}, arg) {
			return outputJSON
		}
		if (arg == "-o" || arg == "--output") && i+1 < len(args) && args[i+1] == outputJSON {
			return outputJSON
		}
	}
	return outputText
}

// tell says an error, unless the command has done so.
func (a *app) tell(err error) {
	if err == nil || errors.As(err, new(exit.Said)) {
		return
	}
	e := exit.Error(err)
	if a.json() {
		a.print(e)
		return
	}
	_, _ = fmt.Fprintln(a.stderr, "error: "+view.Lines(e.Error(), errorIndent))
}

// errorIndent brings what follows an error's first line under its text.
const errorIndent = "       "

func (a *app) json() bool { return a.output == outputJSON }

// print writes a value of the wire as one line of JSON.
func (a *app) print(value any) { _, _ = fmt.Fprintf(a.stdout, "%s\n", schemas.MustEncode(value)) }

// show writes a value: as JSON if that is asked for, else as draw does it.
func (a *app) show(value any, draw func(io.Writer)) {
	if a.json() {
		a.print(value)
		return
	}
	draw(a.stdout)
}

// note says something beside the result.
func (a *app) note(format string, args ...any) { _, _ = fmt.Fprintf(a.stderr, format+"\n", args...) }

func (a *app) getenv(name string) string {
	for _, pair := range slices.Backward(a.environ) {
		if value, found := strings.CutPrefix(pair, name+"="); found {
			return value
		}
	}
	return ""
}

// stopped is the outcome of a command that runs until it is told to stop: having been told so while it still started is no error.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
