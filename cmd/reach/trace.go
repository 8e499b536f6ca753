package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/dispatcher/front"
)

func (a *app) traceCommand() *cobra.Command {
	t := new(target)
	command := &cobra.Command{
		Use:   "trace ID",
		Short: "Show the hops of a task as a timeline",
		Long: `Show the hops of a task as a timeline: the milliseconds since it was submitted, and a bar up to the next hop.
ID is a task_id or a trace_id.`,
		Example: "  reach trace 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10",
		Args: func(command *cobra.Command, args []string) error {
			return oneName(command, args, "ID", front.CheckTraceRef)
		},
		RunE: func(command *cobra.Command, args []string) error {
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				trace, err := c.Trace(command.Context(), args[0])
				if err != nil {
					return err
				}
				a.show(trace, func(w io.Writer) { view.Trace(w, trace) })
				return nil
			})
		},
	}
	targetFlags(command, t)
	return command
}
