package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

func (a *app) taskListCommand(t *target) *cobra.Command {
	query := schemas.TaskQuery{}
	command := &cobra.Command{
		Use:   "list",
		Short: "List tasks, newest first",
		Example: `  reach task list --state failed
  reach task list --capability summarize -o json`,
		Args: noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.listTasks(command.Context(), *t, query, view.Tasks)
		},
	}
	flags := command.Flags()
	flags.StringVar((*string)(&query.State), "state", "",
		"only tasks in this state: submitted, working, completed, failed, canceled, rejected")
	flags.StringVar(&query.Capability, "capability", "", "only tasks of this capability")
	flags.StringVar(&query.AgentID, "agent", "", "only tasks of this agent")
	flags.IntVar(&query.PageSize, "page-size", 0, "tasks to list, at most 100 (default 50)")
	flags.StringVar(&query.PageToken, "page-token", "", "continue after a page: the token that it printed")
	return command
}

// listTasks shows a page of tasks, and how to get the next one.
func (a *app) listTasks(ctx context.Context, t target, query schemas.TaskQuery, show func(io.Writer, []schemas.Task)) error {
	if err := front.CheckTaskQuery(&query); err != nil {
		return err
	}
	return a.withClient(ctx, t, func(c *client.Client) error {
		page, err := c.ListTasks(ctx, query)
		if err != nil {
			return err
		}
		a.show(page, func(w io.Writer) { show(w, page.Items) })
		if page.NextPageToken != "" && !a.json() {
			a.note("there are more: --page-token %s", page.NextPageToken)
		}
		return nil
	})
}
