package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/outfile"
	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

func (a *app) resultCommand() *cobra.Command {
	t := new(target)
	command := noun("result", "Fetch the result of a task, or subscribe to the ends of tasks", a.resultGetCommand(t), a.resultSubscribeCommand(t))
	targetFlags(command, t)
	return command
}

func (a *app) resultGetCommand(t *target) *cobra.Command {
	var file string
	command := &cobra.Command{
		Use:   "get TASK_ID",
		Short: "Print only the result of a task, or write it to a file",
		Long: `Print only the result of a completed task, as its agent gave it. The result is written while it arrives, so a result of
128 MiB needs no more memory than a small one. A file gets its name only when it is complete.`,
		Example: `  reach result get 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10
  reach result get 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10 --to transcript.json`,
		Args: oneTask,
		RunE: func(command *cobra.Command, args []string) error {
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				return a.fetchResult(command.Context(), c, args[0], file)
			})
		},
	}
	command.Flags().StringVar(&file, "to", "", "`FILE` to write the result to (default: standard output)")
	return command
}

// fetchResult passes a result on.
func (a *app) fetchResult(ctx context.Context, c *client.Client, taskID, file string) error {
	task, result, err := c.OpenResult(ctx, taskID)
	if err != nil {
		return err
	}
	defer func() { _ = result.Close() }()
	if file != "" {
		return a.saveResult(task, result, file)
	}
	if a.seen() {
		if task.ResultRef == nil {
			_, _ = fmt.Fprintln(a.stdout, a.result(task))
			return nil
		}
		return exit.UsageError("the result has %d bytes: redirect it, or write it with --to FILE", task.ResultRef.Bytes)
	}
	if _, err := io.Copy(a.stdout, result); err != nil {
		return fmt.Errorf("fetch result: %w", err)
	}
	_, _ = fmt.Fprintln(a.stdout)
	return nil
}

// saveResult writes a result to a file.
func (a *app) saveResult(task *schemas.Task, result io.Reader, name string) error {
	var size int64
	err := outfile.Write(name, func(w io.Writer) (err error) {
		if size, err = io.Copy(w, result); err != nil {
			return fmt.Errorf("fetch result: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	a.show(struct {
		TaskID string `json:"task_id"`
		File   string `json:"file"`
		Bytes  int64  `json:"bytes"`
	}{task.TaskID, name, size}, func(w io.Writer) { _, _ = fmt.Fprintf(w, "%s  %s\n", name, view.Count(size, "byte")) })
	return nil
}

func (a *app) resultSubscribeCommand(t *target) *cobra.Command {
	var tenant string
	var count int
	command := &cobra.Command{
		Use:   "subscribe",
		Short: "Print each task when it ends, until interrupted",
		Long: `Print each task of a tenant when it ends, one a line. Tasks that ended before are not shown, and tasks that end during an
outage may be missed. To be sure of a task, wait for it by its id.`,
		Example: `  reach result subscribe
  reach result subscribe --count 10 -o json`,
		Args: noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := schemas.CheckTenant(tenant); err != nil {
				return err
			}
			if count < 0 {
				return exit.UsageError("--count takes a number from 0")
			}
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				return a.subscribe(command.Context(), c, count)
			}, client.WithTenant(tenant))
		},
	}
	command.Flags().StringVar(&tenant, "tenant", schemas.DefaultTenant, "tenant whose tasks are printed")
	command.Flags().IntVar(&count, "count", 0, "exit after this many tasks; 0: go on until interrupted")
	return command
}

// subscribe prints results until ctx ends, or count of them have come. The subscription waits while one is printed.
func (a *app) subscribe(ctx context.Context, c *client.Client, count int) error {
	hearing, stop := context.WithCancel(ctx)
	results := make(chan *schemas.Task)
	subscription, err := c.SubscribeResults(func(task *schemas.Task) {
		select {
		case results <- task:
		case <-hearing.Done():
		}
	})
	if err != nil {
		stop()
		return err
	}
	defer subscription.Close()
	defer stop()
	for shown := 0; count == 0 || shown < count; shown++ {
		select {
		case task := <-results:
			a.show(task, func(w io.Writer) { view.Ended(w, task) })
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
