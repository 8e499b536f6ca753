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

func (a *app) callbackCommand() *cobra.Command {
	t := new(target)
	command := noun("callback", "List and repeat callbacks", a.callbackListCommand(t), a.callbackReplayCommand(t))
	command.Long = `List and repeat callbacks. A callback that its receiver did not accept in any attempt has failed; it is kept, so that you can
repeat it. reach task get shows the callback of one task, reach trace each of its attempts.`
	targetFlags(command, t)
	return command
}

func (a *app) callbackListCommand(t *target) *cobra.Command {
	query := schemas.TaskQuery{}
	command := &cobra.Command{
		Use:   "list",
		Short: "List callbacks that have failed or are in another state, the newest task first",
		Example: `  reach callback list
  reach callback list --state waiting -o json`,
		Args: noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.listTasks(command.Context(), *t, query, view.Callbacks)
		},
	}
	flags := command.Flags()
	flags.StringVar((*string)(&query.Callback), "state", string(schemas.CallbackFailed), "only callbacks in this state: failed, waiting, delivered")
	flags.IntVar(&query.PageSize, "page-size", 0, "callbacks to list, at most 100 (default 50)")
	flags.StringVar(&query.PageToken, "page-token", "", "continue after a page: the token that it printed")
	return command
}

func (a *app) callbackReplayCommand(t *target) *cobra.Command {
	return a.errandCommand(t, &cobra.Command{
		Use:   "replay TASK_ID...",
		Short: "Repeat callbacks",
		Long: `Repeat the callbacks of tasks, at once and with the full number of attempts. The webhook-id stays the same, so that a receiver
can recognise a message that it already has. --all repeats every callback that has failed; it asks first, unless --yes is given.`,
		Example: `  reach callback replay 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10
  reach callback replay --all --yes`,
	}, errand{
		verb: "replay", what: "failed callbacks", query: schemas.TaskQuery{Callback: schemas.CallbackFailed}, do: redeliver, draw: drawRedelivery,
	})
}

func redeliver(ctx context.Context, c *client.Client, taskID string) (*schemas.Task, error) {
	return c.Redeliver(ctx, taskID)
}

func drawRedelivery(w io.Writer, id string, t *schemas.Task) {
	_, _ = fmt.Fprintf(w, "%s  called again: %s\n", id, view.Text(t.Callback.URL))
}
