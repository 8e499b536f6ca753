package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/view"
)

func (a *app) configCommand() *cobra.Command {
	return noun("config", "Check and print the configuration", a.configCheckCommand(), a.configPrintCommand())
}

func (a *app) configCheckCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "check",
		Short: "Check the configuration, and report every problem with its line",
		Long: `Read the configuration file, the environment, and the files that they name (of the dictionary, of routes, of secrets) as
reach up would, and report every problem with its line. Nothing is started.`,
		Example: "  reach config check -c reach.yaml",
		Args:    noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if _, err := a.checked(command); err != nil {
				return err
			}
			a.show(struct {
				OK bool `json:"ok"`
			}{true}, func(w io.Writer) { _, _ = fmt.Fprintln(w, "ok") })
			return nil
		},
	}
	configFlags(command)
	return command
}

// checkFiles reads the files that the configuration names. Whether there is a capability that a route leads to is not asked: it may
// be one that was added to the broker's dictionary.
func checkFiles(settings *config.Settings) error {
	var problems []string
	add := func(key string, err error) {
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s (%s): %s", key, settings.Source(key), exit.Error(err).Message))
		}
	}
	_, err := capabilitiesOf(settings)
	add("dictionary.files", err)
	if file := settings.Router.Routes; file != "" {
		_, err := readRoutes(file)
		add("router.routes", err)
	}
	if file := settings.Callbacks.SecretFile; file != "" {
		_, err := readSecrets(file)
		add("callbacks.secret_file", err)
	}
	for key, file := range map[string]string{
		"broker.password_file": settings.Broker.PasswordFile, "broker.token_file": settings.Broker.TokenFile,
		"broker.creds_file": settings.Broker.CredsFile, "broker.cluster.password_file": settings.Broker.Cluster.PasswordFile,
		"router.embeddings.key_file": settings.Router.Embeddings.KeyFile,
	} {
		_, err := config.Secret(file)
		add(key, err)
	}
	slices.Sort(problems)
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n"))
	}
	return nil
}

func (a *app) configPrintCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "print",
		Short: "Print every setting with its value and its source",
		Long: `Print every setting with its effective value and its source: a file and line, an environment variable, a flag,
or the default. Passwords are masked.`,
		Example: "  REACH_SERVER_PORT=9000 reach config print -c reach.yaml",
		Args:    noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			settings, err := a.settings(command)
			if err != nil {
				return err
			}
			items := settings.Items()
			a.show(struct {
				Items []config.Item `json:"items"`
			}{items}, func(w io.Writer) { drawSettings(w, items) })
			return nil
		},
	}
	configFlags(command)
	return command
}

func drawSettings(w io.Writer, items []config.Item) {
	var rows [][]string
	for _, item := range items {
		rows = append(rows, []string{item.Key, cmp.Or(item.Value, `""`), item.Source})
	}
	view.Rows(w, []string{"SETTING", "VALUE", "SOURCE"}, rows)
}
