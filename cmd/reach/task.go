package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

func (a *app) taskCommand() *cobra.Command {
	t := new(target)
	command := noun("task", "Submit tasks and follow them",
		a.taskSubmitCommand(t), a.taskGetCommand(t), a.taskWaitCommand(t), a.taskWatchCommand(t), a.taskCancelCommand(t),
		a.taskListCommand(t), a.taskRetryCommand(t), a.taskExplainCommand(t))
	targetFlags(command, t)
	return command
}

// oneTask is the argument of a command about one task, refused before anyone is asked.
func oneTask(command *cobra.Command, args []string) error {
	return oneName(command, args, "TASK_ID", schemas.CheckTaskID)
}

// oneName is a single argument within its grammar. What is wrong with it is a refusal of its own, not a matter of usage.
func oneName(command *cobra.Command, args []string, what string, check func(string) error) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one %s", command.CommandPath(), what)
	}
	return check(args[0])
}

func (a *app) taskGetCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:     "get TASK_ID",
		Short:   "Show a task as it is now",
		Long:    "Show a task as it is now. A task that failed is shown like any other: the exit code is 0.",
		Example: "  reach task get 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10",
		Args:    oneTask,
		RunE: func(command *cobra.Command, args []string) error {
			return a.withTask(command.Context(), *t, func(ctx context.Context, c *client.Client) (*schemas.Task, error) {
				return c.Task(ctx, args[0])
			})
		},
	}
}

// drawTask shows a task: of a large result a terminal gets the beginning alone.
func (a *app) drawTask(w io.Writer, task *schemas.Task) {
	if a.seen() {
		view.TaskInBrief(w, task)
		return
	}
	view.Task(w, task)
}

func (a *app) taskCancelCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel TASK_ID",
		Short: "Cancel a task that has not ended",
		Long: `Cancel a task that has not ended. If it has begun, its agent is told to stop, and the answer says whether the agent
confirmed. If the task has already ended, nothing changes.`,
		Example: "  reach task cancel 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10",
		Args:    oneTask,
		RunE: func(command *cobra.Command, args []string) error {
			return a.withTask(command.Context(), *t, func(ctx context.Context, c *client.Client) (*schemas.Task, error) {
				return c.Cancel(ctx, args[0])
			})
		},
	}
}

// withTask asks for one task and shows it.
func (a *app) withTask(
	ctx context.Context, t target, ask func(context.Context, *client.Client) (*schemas.Task, error),
) error {
	return a.withClient(ctx, t, func(c *client.Client) error {
		task, err := ask(ctx, c)
		if err != nil {
			return err
		}
		a.show(task, func(w io.Writer) { a.drawTask(w, task) })
		return nil
	})
}
