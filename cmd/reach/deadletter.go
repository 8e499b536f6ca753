package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

// deadLetters lists them.
var deadLetters = schemas.TaskQuery{DeadLetter: true}

func (a *app) deadLetterCommand() *cobra.Command {
	t := new(target)
	command := noun("deadletter", "List, show, replay and purge dead letters",
		a.deadLetterListCommand(t), a.deadLetterShowCommand(t), a.deadLetterReplayCommand(t), a.deadLetterPurgeCommand(t))
	command.Aliases = []string{"dlq"}
	command.Long = `List, show, replay and purge dead letters. A dead letter is a task that failed because its agents could not be reached or were
lost, because it may have been executed, or because it expired. It is kept whole, so that a person can look at it and run it again.`
	targetFlags(command, t)
	return command
}

func (a *app) deadLetterListCommand(t *target) *cobra.Command {
	query := deadLetters
	command := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, newest first",
		Example: `  reach deadletter list
  reach deadletter list --capability summarize -o json`,
		Args: noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.listTasks(command.Context(), *t, query, view.DeadLetters)
		},
	}
	flags := command.Flags()
	flags.StringVar(&query.Capability, "capability", "", "only dead letters of this capability")
	flags.StringVar(&query.AgentID, "agent", "", "only dead letters of this agent")
	flags.IntVar(&query.PageSize, "page-size", 0, "dead letters to list, at most 100 (default 50)")
	flags.StringVar(&query.PageToken, "page-token", "", "continue after a page: the token that it printed")
	return command
}

func (a *app) deadLetterShowCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "show TASK_ID",
		Short: "Show a dead letter with each of its attempts",
		Long: `Show a dead letter with each of its attempts. If a result arrived after the task had failed, it is shown as well: then the task
was executed, and a replay would execute it again.`,
		Example: "  reach deadletter show 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10",
		Args:    oneTask,
		RunE: func(command *cobra.Command, args []string) error {
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				trace, err := c.Trace(command.Context(), args[0])
				if err != nil {
					return err
				}
				if !trace.Task.DeadLetter {
					return noDeadLetter(args[0])
				}
				a.show(trace, func(w io.Writer) { view.DeadLetter(w, trace) })
				return nil
			})
		},
	}
}

func noDeadLetter(taskID string) error {
	return schemas.NewError(schemas.NotFound, schemas.ReasonNoDeadLetter, "task %s is not among the dead letters (reach task get %s)", taskID, taskID)
}

func (a *app) deadLetterReplayCommand(t *target) *cobra.Command {
	return a.errandCommand(t, &cobra.Command{
		Use:   "replay TASK_ID...",
		Short: "Run dead letters again, each as a new task",
		Long: `Run dead letters again, each as a new task. They stay in the list, with the id of the new task, until they are
purged. One that was already replayed is not run again; the command prints the task of the first replay.

--all replays every dead letter that was not replayed before, the oldest first. It asks first, unless --yes is given.`,
		Example: `  reach deadletter replay 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10
  reach deadletter replay --all --yes`,
	}, errand{verb: "replay", what: "dead letters", query: deadLetters, do: replay, pending: unplayed, draw: drawReplay})
}

func drawReplay(w io.Writer, id string, t *schemas.Task) {
	_, _ = fmt.Fprintf(w, "%s  replayed as %s\n", id, t.TaskID)
}

// replay runs one dead letter again. A task that ended well is not run once more by a slip of the hand, and neither is one whose
// replay of long ago is no longer kept.
func replay(ctx context.Context, c *client.Client, taskID string) (*schemas.Task, error) {
	letter, err := c.Task(ctx, taskID)
	if err != nil {
		return nil, err
	}
	if !letter.DeadLetter {
		return nil, noDeadLetter(taskID)
	}
	if letter.RetriedAs != "" && !unplayed(ctx, c, letter) {
		return c.Task(ctx, letter.RetriedAs)
	}
	return c.Retry(ctx, taskID)
}

// unplayed reports whether a dead letter was never replayed: nothing says so, or the new task was refused and never came to be.
func unplayed(ctx context.Context, c *client.Client, letter *schemas.Task) bool {
	if letter.RetriedAs == "" {
		return true
	}
	_, err := c.Task(ctx, letter.RetriedAs)
	return err != nil && exit.Error(err).Reason == schemas.ReasonUnknownTask
}

func (a *app) deadLetterPurgeCommand(t *target) *cobra.Command {
	return a.errandCommand(t, &cobra.Command{
		Use:   "purge TASK_ID...",
		Short: "Remove tasks from the dead letters",
		Long: `Remove tasks from the dead letters, and drop the payloads that were kept for a replay. Their records stay until their
kept_until. --all asks first, unless --yes is given.`,
		Example: `  reach deadletter purge 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10
  reach deadletter purge --all --yes`,
	}, errand{verb: "purge", what: "dead letters", query: deadLetters, do: purge, draw: drawPurge})
}

func drawPurge(w io.Writer, id string, _ *schemas.Task) { _, _ = fmt.Fprintf(w, "%s  purged\n", id) }

func purge(ctx context.Context, c *client.Client, taskID string) (*schemas.Task, error) {
	return c.Purge(ctx, taskID)
}
