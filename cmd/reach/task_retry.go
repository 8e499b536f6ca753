package main

import (
	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/dispatcher/client"
)

func (a *app) taskRetryCommand(t *target) *cobra.Command {
	w, taskID := new(wait), ""
	command := &cobra.Command{
		Use:   "retry TASK_ID",
		Short: "Run an ended task again, as a new task",
		Long: `Run an ended task again, as a new task whose retry_of names the old one. The old task does not change, except that its
retried_as names the new one. A second retry gives the same new task.

A task that may have executed is never run again automatically: find out what it did first (reach deadletter show TASK_ID).`,
		Example: `  reach task retry 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10
  reach task retry 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10 --wait 30s`,
		Args: func(command *cobra.Command, args []string) error {
			args = w.takeTime(args)
			if err := oneTask(command, args); err != nil {
				return err
			}
			taskID = args[0]
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error {
			if _, err := w.limit(); err != nil {
				return err
			}
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				task, err := c.Retry(command.Context(), taskID)
				if err != nil {
					return err
				}
				return a.accepted(command.Context(), c, task, *w)
			})
		},
	}
	w.flag(command.Flags())
	return command
}
