package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

// errand is what is done to tasks of a kind, such as dead letters, one after the other.
type errand struct {
	verb    string
	what    string            // those of the kind, as a person calls them
	query   schemas.TaskQuery // lists them
	do      func(ctx context.Context, c *client.Client, taskID string) (*schemas.Task, error)
	pending func(ctx context.Context, c *client.Client, letter *schemas.Task) bool // whether --all means it
	draw    func(w io.Writer, taskID string, answer *schemas.Task)
}

// errandCommand is a command that does an errand to the tasks that are named, or to all of a kind.
func (a *app) errandCommand(t *target, command *cobra.Command, e errand) *cobra.Command {
	var all, yes bool
	command.Args = func(command *cobra.Command, args []string) error { return someTasks(command, args, all) }
	command.RunE = func(command *cobra.Command, args []string) error {
		return a.withClient(command.Context(), *t, func(c *client.Client) error {
			if !all {
				return a.runEach(command.Context(), c, e, args)
			}
			return a.runAll(command.Context(), c, e, yes)
		})
	}
	command.Flags().BoolVar(&all, "all", false, e.verb+" all of them")
	command.Flags().BoolVar(&yes, "yes", false, "answer yes to the question of --all")
	return command
}

func someTasks(command *cobra.Command, args []string, all bool) error {
	if all != (len(args) == 0) {
		return fmt.Errorf("%s takes TASK_IDs, or --all", command.CommandPath())
	}
	for _, id := range args {
		if err := schemas.CheckTaskID(id); err != nil {
			return err
		}
	}
	return nil
}

// runAll does the errand to all tasks that it means, once a person has agreed.
func (a *app) runAll(ctx context.Context, c *client.Client, e errand, yes bool) error {
	ids, err := pending(ctx, c, e)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		a.note("there is nothing to %s", e.verb)
		return nil
	}
	if !yes {
		if err := a.confirm(ctx, fmt.Sprintf("%s %d of the %s?", e.verb, len(ids), e.what)); err != nil {
			return err
		}
	}
	return a.runEach(ctx, c, e, ids)
}

// pending are the tasks that --all means, the oldest first: they go out in the order in which they came.
func pending(ctx context.Context, c *client.Client, e errand) (ids []string, err error) {
	query := e.query
	query.PageSize = schemas.MaxPageSize
	for {
		page, err := c.ListTasks(ctx, query)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if e.pending == nil || e.pending(ctx, c, &page.Items[i]) {
				ids = append(ids, page.Items[i].TaskID)
			}
		}
		if query.PageToken = page.NextPageToken; query.PageToken == "" {
			slices.Reverse(ids)
			return ids, nil
		}
	}
}

// confirm asks the person at the terminal. Where nobody can be asked, it takes --yes.
func (a *app) confirm(ctx context.Context, question string) error {
	if !a.terminal(a.stdin) || !a.terminal(a.stderr) {
		return exit.UsageError("there is no terminal to ask on: give --yes to %s", strings.TrimSuffix(question, "?"))
	}
	_, _ = fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() { // a read of a terminal cannot be cut short: it ends with the process
		line, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answer <- line
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case line := <-answer:
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "y") {
			return nil
		}
	}
	a.note("nothing was changed")
	return exit.Said(exit.Failed)
}

// runEach does the errand to each task. One that is refused is told, and the others follow; the exit code is the first refusal's.
func (a *app) runEach(ctx context.Context, c *client.Client, e errand, ids []string) error {
	if len(ids) == 1 {
		return a.runOne(ctx, c, e, ids[0])
	}
	var first error
	progress := a.terminal(a.stderr) && !a.json()
	for i, id := range ids {
		if progress {
			_, _ = fmt.Fprintf(a.stderr, "\r\x1b[K%d of %d", i, len(ids))
		}
		err := a.runOne(ctx, c, e, id)
		if nobodyThere(ctx, err) {
			return err
		}
		if err != nil {
			a.tellOf(id, err)
			first = cmp.Or(first, err)
		}
	}
	if progress {
		_, _ = fmt.Fprint(a.stderr, "\r\x1b[K")
	}
	if first == nil {
		return nil
	}
	return exit.Said(exit.Code(first))
}

func (a *app) runOne(ctx context.Context, c *client.Client, e errand, id string) error {
	answer, err := e.do(ctx, c, id)
	if err != nil {
		return err
	}
	a.show(answer, func(w io.Writer) { e.draw(w, id, answer) })
	return nil
}

// nobodyThere reports whether the next one would fare no better.
func nobodyThere(ctx context.Context, err error) bool {
	if err == nil {
		return false
	}
	reason := exit.Error(err).Reason
	return ctx.Err() != nil || reason == schemas.ReasonNoDispatcher || reason == schemas.ReasonBrokerOutage
}

// tellOf says why one task of several was refused.
func (a *app) tellOf(taskID string, err error) {
	e := exit.Error(err)
	if a.json() {
		told := *e
		a.print(told.With("task_id", taskID))
		return
	}
	a.note("error: %s: %s", taskID, view.Lines(e.Error(), "       "))
}
