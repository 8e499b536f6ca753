package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/client"
)

func (a *app) routeCommand() *cobra.Command {
	t := new(target)
	command := noun("route", "See where tasks go", a.routeListCommand(t), a.routeExplainCommand(t), a.routeCheckCommand(), a.routeTestCommand())
	targetFlags(command, t)
	return command
}

func (a *app) routeListCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the routes that a dispatcher uses",
		Long: `List the routes that a dispatcher uses now, in the order in which it tries them: the first that matches counts. ` +
			"`reach route check`" + ` lists those of a file.`,
		Example: `  reach route list
  reach route list -o json`,
		Args: noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				page, err := c.ListRoutes(command.Context())
				if err != nil {
					return err
				}
				a.show(page, func(w io.Writer) { listRoutes(w, page.Items) })
				if len(page.Items) == 0 && !a.json() {
					a.note("there are no routes: a capability leads to its agents")
				}
				return nil
			})
		},
	}
}

func (a *app) routeExplainCommand(t *target) *cobra.Command {
	s := new(submission)
	command := &cobra.Command{
		Use:   "explain CAPABILITY",
		Short: "Say where a task would go, and why",
		Long: `Say where a task would go now, and why: the decision that a submit would make, each agent of the capability with its score
and factors, and those that are left out. Nothing is submitted. ` + "`reach task explain`" + ` explains an existing task.`,
		Example: `  reach route explain summarize -d '{"text":"Ships sail. Ships sink."}'
  reach route explain summarize -d @note.json --prefer-agent laptop-1 -o json
  reach route explain --intent count-words -d '{"text":"a b"}'`,
		Args: s.understands,
		RunE: func(command *cobra.Command, args []string) error {
			if err := s.prepare(command.Flags(), args, a.stdin, time.Now()); err != nil {
				return err
			}
			return a.withClient(command.Context(), *t, func(c *client.Client) error { return a.explain(command.Context(), c, s) })
		},
	}
	s.flags(command.Flags())
	command.Flags().Bool("dry-run", true, "submit nothing; this is always so")
	return command
}

func (a *app) explain(ctx context.Context, c *client.Client, s *submission) error {
	explanation, err := c.Explain(ctx, &s.message)
	if err != nil {
		return err
	}
	a.show(explanation, func(w io.Writer) { view.Explanation(w, explanation) })
	return nil
}
