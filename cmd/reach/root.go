package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
)

const (
	groupRun = "run"
	groupUse = "use"
)

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "reach",
		Short: "Carry a task to whatever agent can do it, and bring the result back",
		Long: `Agent-Reach carries a task to whatever agent can do it, on whatever device and over whatever transport,
and brings the result back.

Exit codes: 0 success; 1 the task ended in another state than completed, or the request was refused; 2 wrong usage,
INVALID_ARGUMENT or NOT_FOUND; 3 no broker or dispatcher answered, or UNAVAILABLE; 4 the wait ended before the task did;
130 interrupted before there was an answer.`,
		Example: `  reach up                                             # everything on this machine
  reach worker --agent-id me --capability echo --exec cat
  reach task submit echo -d '{"hello":"world"}' --wait`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchVerb,
		RunE:          help,
		Version:       version,
	}
	root.SetVersionTemplate(thisBuild().String() + "\n")
	root.SetFlagErrorFunc(misspelt)
	root.SetHelpCommand(helpCommand(root))
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if a.output != outputText && a.output != outputJSON {
			return exit.UsageError("-o takes %s or %s", outputText, outputJSON)
		}
		a.entered = true
		return nil
	}
	root.PersistentFlags().StringVarP(&a.output, "output", "o", outputText, "output format: text or json")
	root.AddGroup(&cobra.Group{ID: groupRun, Title: "Run Agent-Reach:"}, &cobra.Group{ID: groupUse, Title: "Use Agent-Reach:"})
	root.AddCommand(inGroup(groupRun, a.upCommand(), a.dispatcherCommand(), a.brokerCommand(), a.workerCommand(), a.configCommand(),
		a.healthCommand(), a.backupCommand(), a.restoreCommand())...)
	root.AddCommand(inGroup(groupUse, a.taskCommand(), a.deadLetterCommand(), a.callbackCommand(), a.scheduleCommand(), a.routeCommand(), a.agentCommand(),
		a.capabilityCommand(), a.resultCommand(), a.traceCommand())...)
	root.AddCommand(a.benchCommand(), a.versionCommand())
	alsoCalled(root)
	a.offerValues(root)
	return root
}

func inGroup(id string, commands ...*cobra.Command) []*cobra.Command {
	for _, command := range commands {
		command.GroupID = id
	}
	return commands
}

// noun is a command that only holds others.
func noun(use, short string, verbs ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{Use: use, Short: short, Args: noSuchVerb, RunE: help}
	command.AddCommand(verbs...)
	return command
}

// noSuchVerb refuses what is none of the noun's commands.
func noSuchVerb(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	command.SuggestionsMinimumDistance = 2
	hint := ""
	if verbs := verbsCalled(command, args[0]); len(verbs) > 0 {
		hint = "; did you mean " + strings.Join(verbs, " or ") + "?"
	} else if near := command.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("; did you mean %q?", near[0])
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], command.CommandPath(), hint)
}

// verbsCalled are the commands one level below that have the name: somebody has left out the noun.
func verbsCalled(command *cobra.Command, name string) (paths []string) {
	for _, noun := range command.Commands() {
		for _, verb := range noun.Commands() {
			if verb.Name() == name {
				paths = append(paths, verb.CommandPath())
			}
		}
	}
	return paths
}

// help answers a command line that stops short of a verb.
func help(command *cobra.Command, _ []string) error { return command.Help() }
