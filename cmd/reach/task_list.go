package main

import (
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
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := front.CheckTaskQuery(&query); err != nil {
				return err
			}
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				page, err := c.ListTasks(command.Context(), query)
				if err != nil {
					return err
				}
				a.show(page, func(w io.Writer) { view.Tasks(w, page.Items) })
				if page.NextPageToken != "" && !a.json() {
					a.note("there are more: --page-token %s", page.NextPageToken)
				}
				return nil
			})
		},
	}
	flags := command.Flags()
	flags.StringVar((*string)(&query.State), "state", "",
		"only tasks in this state: submitted, working, completed, failed, canceled, rejected")
	flags.StringVar(&query.Capability, "capability", "", "only tasks of this capability")
	flags.StringVar(&query.AgentID, "agent", "", "only tasks of this agent")
	flags.IntVar(&query.PageSize, "page-size", 0, "tasks to list, at most 100 (default 50)")
	flags.StringVar(&query.PageToken, "page-token", "", "continue where the page before ended")
	return command
}
