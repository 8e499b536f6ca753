package main

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

// What a shell is told of the values that an argument or a flag may have. Names are asked of a dispatcher; where none answers soon there
// are none, and no word of it: whoever presses Tab has asked no question.

// completionPatience is how long a person who has pressed Tab is kept waiting.
const completionPatience = time.Second

// names asks for values, each with a word on it.
type names func(context.Context, *client.Client) ([]cobra.Completion, error)

// offerValues completes the arguments and flags of a command and of all below it.
func (a *app) offerValues(command *cobra.Command) {
	for _, sub := range command.Commands() {
		a.offerValues(sub)
	}
	if ask := argumentNames(command); ask != nil {
		command.ValidArgsFunction = a.completion(ask, strings.HasSuffix(command.Use, "..."))
	}
	command.Flags().VisitAll(func(flag *pflag.Flag) { a.offerFlag(command, flag.Name) })
	command.PersistentFlags().VisitAll(func(flag *pflag.Flag) { a.offerFlag(command, flag.Name) })
}

// offerFlag completes a flag whose values are known, or can be asked for.
func (a *app) offerFlag(command *cobra.Command, flag string) {
	complete := a.completion(flagNames[flag], true)
	switch values := flagValues[cmp.Or(byCommand[command.CommandPath()+" --"+flag], flag)]; {
	case values != nil:
		complete = cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	case flagNames[flag] == nil:
		return
	}
	_ = command.RegisterFlagCompletionFunc(flag, complete) // fails only where it was done before
}

// argumentNames is who knows the first argument of a command, by the word that its use has for it; nil where nobody does.
func argumentNames(command *cobra.Command) names {
	words := strings.Fields(command.Use)
	if len(words) < 2 {
		return nil
	}
	switch noun := command.Parent().Name(); strings.TrimSuffix(words[1], "...") {
	case "TASK_ID", "ID":
		return taskNames(map[string]schemas.TaskQuery{"deadletter": deadLetters, "callback": {Callback: schemas.CallbackFailed}}[noun])
	case "CAPABILITY":
		return capabilityNames
	case "AGENT_ID":
		return agentNames
	case "NAME":
		if command.Name() != "add" {
			return scheduleNames
		}
	}
	return nil
}

// flagNames are the flags whose values are names that a dispatcher knows.
var flagNames = map[string]names{"agent": agentNames, "prefer-agent": agentNames, "capability": capabilityNames}

// flagValues are those with a few values that never change.
var flagValues = map[string][]cobra.Completion{
	"output":          {outputText, outputJSON},
	"qos":             {"realtime", "standard", "complete"},
	"missed":          {"skip", "once", "all"},
	"log-level":       {"debug", "info", "warn", "error"},
	"replicas":        {"1", "3", "5"},
	"states of tasks": {"submitted", "working", "completed", "failed", "canceled", "rejected"},
	"of agents":       {"pending", "online", "degraded", "draining", "offline"},
	"of callbacks":    {"failed", "waiting", "delivered"},
}

// byCommand tells flags apart that have one name and other values.
var byCommand = map[string]string{
	"reach task list --state": "states of tasks", "reach agent list --state": "of agents", "reach callback list --state": "of callbacks",
}

// completion asks a dispatcher, for the first argument or for each.
func (a *app) completion(ask names, each bool) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && !each {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(command.Context(), completionPatience)
		defer cancel()
		var found []cobra.Completion
		_ = a.withClient(ctx, targetOf(command), func(c *client.Client) (err error) {
			found, err = ask(ctx, c)
			return err
		})
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// targetOf is the broker that the flags of a command name, as far as they were written already.
func targetOf(command *cobra.Command) target {
	value := func(name string) string {
		if flag := command.Flag(name); flag != nil {
			return flag.Value.String()
		}
		return ""
	}
	return target{server: cmp.Or(value("server"), value("nats")), context: value("context"), creds: value("creds")}
}

func capabilityNames(ctx context.Context, c *client.Client) (found []cobra.Completion, err error) {
	page, err := c.ListCapabilities(ctx)
	if err != nil {
		return nil, err
	}
	for i := range page.Items {
		found = append(found, cobra.CompletionWithDesc(page.Items[i].ID, view.Text(page.Items[i].Description)))
	}
	return found, nil
}

func agentNames(ctx context.Context, c *client.Client) (found []cobra.Completion, err error) {
	page, err := c.ListAgents(ctx, schemas.AgentQuery{PageSize: schemas.MaxPageSize})
	if err != nil {
		return nil, err
	}
	for i := range page.Items {
		found = append(found, cobra.CompletionWithDesc(page.Items[i].AgentID, string(page.Items[i].State)))
	}
	return found, nil
}

func scheduleNames(ctx context.Context, c *client.Client) (found []cobra.Completion, err error) {
	page, err := c.ListSchedules(ctx, schemas.ScheduleQuery{PageSize: schemas.MaxPageSize})
	if err != nil {
		return nil, err
	}
	for i := range page.Items {
		found = append(found, cobra.CompletionWithDesc(page.Items[i].Name, view.Text(page.Items[i].Cron)))
	}
	return found, nil
}

// taskNames are the newest tasks that a query finds.
func taskNames(query schemas.TaskQuery) names {
	return func(ctx context.Context, c *client.Client) (found []cobra.Completion, err error) {
		page, err := c.ListTasks(ctx, query)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			task := &page.Items[i]
			found = append(found, cobra.CompletionWithDesc(task.TaskID, string(task.State)+" "+task.Capability))
		}
		return found, nil
	}
}
