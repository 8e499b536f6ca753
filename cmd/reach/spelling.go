package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/schemas/nearest"
)

// otherVerbs are what people type who come from other tools.
var otherVerbs = map[string][]string{
	"list": {"ls"}, "get": {"show"}, "show": {"get"}, "remove": {"rm", "delete"}, "delete": {"rm", "remove"},
}

// otherNouns are the plurals of nouns.
var otherNouns = map[string]string{
	"task": "tasks", "agent": "agents", "capability": "capabilities", "schedule": "schedules", "route": "routes", "callback": "callbacks",
	"deadletter": "deadletters", "result": "results",
}

// alsoCalled gives every noun its plural, and every verb the names that it has elsewhere.
func alsoCalled(root *cobra.Command) {
	for _, of := range root.Commands() {
		if plural, found := otherNouns[of.Name()]; found {
			of.Aliases = append(of.Aliases, plural)
		}
		for _, verb := range of.Commands() {
			verb.Aliases = append(verb.Aliases, otherVerbs[verb.Name()]...)
		}
	}
}

// sameFlag lets a command take the flag called name under another name as well.
func sameFlag(command *cobra.Command, name, other string) {
	command.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == other {
			given = name
		}
		return pflag.NormalizedName(given)
	})
}

// misspelt adds the nearest flag to what is said of one that does not exist, and says of a value that is none what one looks like.
func misspelt(command *cobra.Command, err error) error {
	invalid := new(pflag.InvalidValueError)
	if errors.As(err, &invalid) {
		return valueless(invalid)
	}
	unknown := new(pflag.NotExistError)
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) == 1 {
		return err
	}
	var known []string
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			known = append(known, flag.Name)
		}
	})
	if near, found := nearest.Name(unknown.GetSpecifiedName(), known); found {
		return fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return err
}

// valueForms are what the flags of a type take.
var valueForms = map[string]string{
	"duration": "a time such as 30s or 2h, up to 2562047h", "int": "a whole number", "int64": "a whole number of at most 64 bits", "bool": "true or false",
}

// valueless refuses the value of a flag.
func valueless(err *pflag.InvalidValueError) error {
	form, known := valueForms[err.GetFlag().Value.Type()]
	if !known {
		return err
	}
	return fmt.Errorf("--%s takes %s, and %q is none", err.GetFlag().Name, form, err.GetValue())
}

// noArgs refuses arguments where none are taken.
func noArgs(command *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, and %q is one", command.CommandPath(), args[0])
	}
	return nil
}

// helpCommand is cobra's, but refuses what is no command.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Help about any command",
		Example: "  reach help task submit",
		Args: func(_ *cobra.Command, args []string) error {
			if found, rest, err := root.Find(args); err == nil && len(rest) > 0 {
				return noSuchVerb(found, rest)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			found, _, err := root.Find(args)
			if err != nil {
				return exit.UsageError("%s", err)
			}
			return found.Help()
		},
	}
}

// judged makes the command that cobra adds by itself refuse a shell that it does not know.
func judged(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	at := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == "completion" })
	if at < 0 {
		return
	}
	command := root.Commands()[at]
	command.Args, command.RunE = noSuchVerb, help
}
