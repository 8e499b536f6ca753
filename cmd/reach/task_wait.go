package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

// How long one look at a task waits: long where nobody watches, short where progress is drawn.
const (
	quietWait    = 30 * time.Second
	progressWait = time.Second
)

// afterExpiry is how long past a task's own end is waited for the dispatcher to end it.
const afterExpiry = 10 * time.Second

func (a *app) taskWaitCommand(t *target) *cobra.Command {
	var limit time.Duration
	command := &cobra.Command{
		Use:   "wait TASK_ID",
		Short: "Wait for a task's end and print its result",
		Example: `  reach task wait 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10
  reach task wait 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10 --timeout 30s`,
		Args: oneTask,
		RunE: func(command *cobra.Command, args []string) error {
			if limit < 0 {
				return exit.UsageError("--timeout takes a time such as 30s or 2m")
			}
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				task, err := c.Task(command.Context(), args[0])
				if err != nil {
					return err
				}
				return a.await(command.Context(), c, task, limit)
			})
		},
	}
	command.Flags().DurationVar(&limit, "timeout", 0, "stop waiting after this time, such as 30s (default: wait until the task ends)")
	return command
}

// await waits for a task, at most for limit, and says how it ended. A limit of 0 is the task's own: the whole of its life, since this
// clock and the dispatcher's may differ.
func (a *app) await(ctx context.Context, c *client.Client, task *schemas.Task, limit time.Duration) error {
	if limit == 0 {
		limit = task.ExpiresAt.Sub(task.SubmittedAt.Time) + afterExpiry
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last, err := a.follow(waiting, c, task)
	switch {
	case last.State.Terminal():
		return a.ended(last)
	case ctx.Err() != nil:
		return a.left(last, "interrupted")
	case waiting.Err() != nil:
		return a.left(last, "the wait ended first")
	}
	return err
}

// follow waits until a task has ended or ctx has, and draws progress where a person watches. The task is the last that was seen.
func (a *app) follow(ctx context.Context, c *client.Client, task *schemas.Task) (*schemas.Task, error) {
	draw := a.terminal(a.stderr) && !a.json()
	wait := quietWait
	if draw {
		wait = progressWait
		defer func() { _, _ = fmt.Fprint(a.stderr, "\r\x1b[K") }()
	}
	since := time.Now()
	for !task.State.Terminal() {
		if draw {
			_, _ = fmt.Fprint(a.stderr, "\r\x1b[K"+view.Waiting(task, time.Since(since)))
		}
		next, err := c.Wait(ctx, task.TaskID, wait)
		if err != nil {
			return task, err
		}
		task = next
	}
	return task, nil
}

// ended prints the result of a task, or why there is none.
func (a *app) ended(task *schemas.Task) error {
	completed := task.State == schemas.StateCompleted
	if a.json() {
		a.print(task)
	} else if completed {
		_, _ = fmt.Fprintln(a.stdout, a.result(task))
	} else {
		a.note("%s", failureOf(task))
	}
	if completed {
		return nil
	}
	return exit.Said(exit.Failed)
}

// result is the bare result. What a terminal would act on is escaped there, and nowhere else.
func (a *app) result(task *schemas.Task) string {
	line := view.Line(task.Result)
	if a.seen() {
		return view.Text(line)
	}
	return line
}

func failureOf(task *schemas.Task) string {
	if task.Error == nil {
		return "error: task " + task.TaskID + " is " + string(task.State)
	}
	text := "error: " + view.Lines(task.Error.Error(), errorIndent) + " (reach task get " + task.TaskID + ")"
	if said := view.AgentSaid(task.Error); said != "" {
		text += "\n" + errorIndent + "the agent said: " + said
	}
	return text
}

// left says that the task runs on without us.
func (a *app) left(task *schemas.Task, why string) error {
	if a.json() {
		a.print(task)
	}
	a.note("%s: task %s is %s and runs on (reach task get %s)", why, task.TaskID, task.State, task.TaskID)
	return exit.Said(exit.WaitEnded)
}
