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

func (a *app) agentCommand() *cobra.Command {
	t := new(target)
	command := noun("agent", "List, show, drain and remove agents",
		a.agentListCommand(t),
		a.agentVerb(t, "show", "Show an agent: its state, its tasks, what it declared", "", (*client.Client).Agent, view.Agent),
		a.agentVerb(t, "drain", "Let an agent finish its tasks, and give it no new ones",
			"Let an agent finish its tasks, and give it no new ones. The agent stays online; `reach agent resume` ends the drain.", (*client.Client).Drain, view.AgentState),
		a.agentVerb(t, "resume", "End the drain of an agent", "", (*client.Client).Resume, view.AgentState),
		a.agentVerb(t, "remove", "Remove an agent that is offline",
			"Remove an agent that is offline, or one that registered its own address and is not well. Any other agent is refused: stop its "+
				"worker first. A removed agent may register again.",
			(*client.Client).RemoveAgent, view.AgentRemoved))
	targetFlags(command, t)
	return command
}

func (a *app) agentListCommand(t *target) *cobra.Command {
	query := schemas.AgentQuery{}
	command := &cobra.Command{
		Use:   "list",
		Short: "List agents by id, in any state",
		Example: `  reach agent list --state online
  reach agent list --capability summarize -o json`,
		Args: noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := front.CheckAgentQuery(&query); err != nil {
				return err
			}
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				page, err := c.ListAgents(command.Context(), query)
				if err != nil {
					return err
				}
				a.show(page, func(w io.Writer) { view.Agents(w, page.Items) })
				if page.NextPageToken != "" && !a.json() {
					a.note("there are more: --page-token %s", page.NextPageToken)
				}
				return nil
			})
		},
	}
	flags := command.Flags()
	flags.StringVar((*string)(&query.State), "state", "", "only agents in this state: pending, online, degraded, draining, offline")
	flags.StringVar(&query.Capability, "capability", "", "only agents of this capability")
	flags.IntVar(&query.PageSize, "page-size", 0, "agents to list, at most 100 (default 50)")
	flags.StringVar(&query.PageToken, "page-token", "", "continue after a page: the token that it printed")
	return command
}

// agentVerb is a command about one agent that answers with it.
func (a *app) agentVerb(
	t *target, verb, short, long string,
	do func(*client.Client, context.Context, string) (*schemas.Agent, error), draw func(io.Writer, *schemas.Agent),
) *cobra.Command {
	return &cobra.Command{
		Use:     verb + " AGENT_ID",
		Short:   short,
		Long:    long,
		Example: "  reach agent " + verb + " laptop-1",
		Args: func(command *cobra.Command, args []string) error {
			return oneName(command, args, "AGENT_ID", schemas.CheckAgentID)
		},
		RunE: func(command *cobra.Command, args []string) error {
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				agent, err := do(c, command.Context(), args[0])
				if err != nil {
					return err
				}
				a.show(agent, func(w io.Writer) { draw(w, agent) })
				return nil
			})
		},
	}
}
