package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

func (a *app) taskExplainCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "explain TASK_ID",
		Short: "Say where a task went, and why",
		Long: `Say where a task went, and why: each routing decision, the agents that were considered with their scores, the agents that
were left out, and why the task moved on. ` + "`reach route explain`" + ` says where a task would go.`,
		Example: "  reach task explain 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10",
		Args:    oneTask,
		RunE: func(command *cobra.Command, args []string) error {
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				trace, err := c.Trace(command.Context(), args[0])
				if err != nil {
					return err
				}
				if a.json() {
					trace.Hops = slices.DeleteFunc(trace.Hops, func(h schemas.Hop) bool { return h.Hop != schemas.HopRouted })
				}
				a.show(trace, func(w io.Writer) { view.Decisions(w, trace) })
				return nil
			})
		},
	}
}
