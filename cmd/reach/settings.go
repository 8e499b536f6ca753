package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/schemas"
)

// settingKey is the annotation of a flag that stands for a setting.
const settingKey = "setting"

// settingFlag adds a flag that stands for a setting.
func settingFlag(command *cobra.Command, name, key, help string) {
	command.Flags().String(name, "", help)
	annotate(command, name, key)
}

func annotate(command *cobra.Command, name, key string) {
	flag := command.Flags().Lookup(name)
	flag.Annotations = map[string][]string{settingKey: {key}}
}

// configFlags are the flags of every command that reads the configuration.
func configFlags(command *cobra.Command) {
	command.Flags().StringP("config", "c", "", "configuration file (default: REACH_CONFIG, else ./"+config.DefaultFile+" if it exists)")
	settingFlag(command, "log-level", "log.level", "debug, info, warn or error (default info)")
}

// insecureFlag is the word that lets listeners leave the loopback interface.
func insecureFlag(command *cobra.Command) {
	command.Flags().Bool("insecure-listen", false, "let listeners leave the loopback interface although no keys are configured")
	annotate(command, "insecure-listen", "server.insecure_listen")
}

// settings reads the configuration as the flags of command, the environment and the file have it.
func (a *app) settings(command *cobra.Command) (*config.Settings, error) {
	settings, err := a.inspect(command)
	return settings, badConfiguration(err)
}

// checked is settings for a command that will read the files that they name as well: it tells all that is wrong with either at once.
func (a *app) checked(command *cobra.Command) (*config.Settings, error) {
	settings, err := a.inspect(command)
	return settings, badConfiguration(errors.Join(err, checkFiles(settings)))
}

// inspect gives settings beside an error, too.
func (a *app) inspect(command *cobra.Command) (*config.Settings, error) {
	flags, wrong := settingsOf(command.Flags())
	file, _ := command.Flags().GetString("config")
	settings, err := config.Inspect(config.Sources{File: a.configFile(file), Environ: a.environ, Flags: flags})
	return settings, errors.Join(wrong, err)
}

func badConfiguration(err error) error {
	if err == nil {
		return nil
	}
	return schemas.NewError(schemas.InvalidArgument, "BAD_CONFIGURATION", "%s", err)
}

// settingsOf are the settings that flags stand for. The address of the HTTP front is two of them.
func settingsOf(flags *pflag.FlagSet) ([]config.Setting, error) {
	var settings []config.Setting
	var problems []error
	flags.Visit(func(f *pflag.Flag) {
		key, source := strings.Join(f.Annotations[settingKey], ""), "--"+f.Name
		switch key {
		case "":
		case "server":
			host, port, err := net.SplitHostPort(f.Value.String())
			if err != nil {
				problems = append(problems, fmt.Errorf("%s takes an address such as 127.0.0.1:8500", source))
				return
			}
			settings = append(settings,
				config.Setting{Key: "server.host", Source: source, Values: []string{host}},
				config.Setting{Key: "server.port", Source: source, Values: []string{port}})
		default:
			settings = append(settings, config.Setting{Key: key, Source: source, Values: valuesOf(f)})
		}
	})
	return settings, errors.Join(problems...)
}

func valuesOf(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// configFile is the file that is named, or the default one if it exists.
func (a *app) configFile(named string) string {
	if named != "" {
		return named
	}
	if file := a.getenv("REACH_CONFIG"); file != "" {
		return file
	}
	if _, err := os.Stat(config.DefaultFile); err == nil {
		return config.DefaultFile
	}
	return ""
}
