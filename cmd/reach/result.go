package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

func (a *app) resultCommand() *cobra.Command {
	t := new(target)
	command := noun("result", "Hear how tasks end", a.resultSubscribeCommand(t))
	targetFlags(command, t)
	return command
}

func (a *app) resultSubscribeCommand(t *target) *cobra.Command {
	var tenant string
	var count int
	command := &cobra.Command{
		Use:   "subscribe",
		Short: "Print each task as it ends, until interrupted",
		Long: `Print each task of a tenant as it ends, one a line. What ended before is not shown, and what ends during an outage may be
missed: whoever must not miss a task waits for it by its id.`,
		Example: `  reach result subscribe
  reach result subscribe --count 10 -o json`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := schemas.CheckTenant(tenant); err != nil {
				return err
			}
			if count < 0 {
				return exit.UsageError("--count takes a number from 0 up")
			}
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				return a.subscribe(command.Context(), c, count)
			}, client.WithTenant(tenant))
		},
	}
	command.Flags().StringVar(&tenant, "tenant", schemas.DefaultTenant, "whose tasks")
	command.Flags().IntVar(&count, "count", 0, "end after so many; 0 goes on")
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
