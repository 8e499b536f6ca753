package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/route"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

// words are the capabilities that a file of routes is checked against: the starter set and the given files.
func words(files []string) (*dictionary.Dictionary, error) {
	all := dictionary.Starter()
	for _, file := range files {
		entries, err := dictionary.ReadFile(file)
		if err != nil {
			return nil, badFile(err)
		}
		for _, entry := range entries {
			if !known(all, entry.ID) {
				all = append(all, entry)
			}
		}
	}
	return dictionary.New(all)
}

func known(all []schemas.Capability, id string) bool {
	for i := range all {
		if all[i].ID == id {
			return true
		}
	}
	return false
}

// checkedRoutes reads a file of routes as a whole, and checks that what it names exists.
func checkedRoutes(file string, w *dictionary.Dictionary) (*route.Table, error) {
	table, err := readRoutes(file)
	if err == nil {
		err = table.Check(w)
	}
	if err != nil {
		return nil, badFile(fmt.Errorf("%s: %w", file, err))
	}
	return table, nil
}

func (a *app) routeCheckCommand() *cobra.Command {
	var files []string
	command := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a file of routes, and list its routes",
		Long: `Check a file of routes as a whole, as a dispatcher does before it takes it: every problem is reported with its line. Capabilities are
those of the starter set and of the files named with --dictionary. No dispatcher is needed.`,
		Example: `  reach route check routes.yaml
  reach route check routes.yaml --dictionary capabilities.yaml -o json`,
		Args: oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			w, err := words(files)
			if err != nil {
				return err
			}
			table, err := checkedRoutes(args[0], w)
			if err != nil {
				return err
			}
			routes := table.Routes()
			a.show(map[string]any{"items": routes}, func(out io.Writer) { listRoutes(out, routes) })
			return nil
		},
	}
	command.Flags().StringSliceVar(&files, "dictionary", nil, "files of capabilities in addition to the starter set")
	return command
}

// listRoutes says of each route what it matches, where it leads, and how.
func listRoutes(w io.Writer, routes []schemas.Route) {
	for _, r := range routes {
		_, _ = fmt.Fprintf(w, "%s: %s -> %s", view.Text(r.Name), matched(r.Match), targeted(r.Target))
		if r.Fallback != nil {
			_, _ = fmt.Fprintf(w, ", else %s", r.Fallback.Capability)
		}
		_, _ = fmt.Fprintln(w)
	}
}

func matched(m schemas.RouteMatch) string {
	text := cmp.Or(view.Text(m.Intent), "any intent")
	if len(m.RequiredTags) > 0 {
		text += " with " + view.Text(strings.Join(m.RequiredTags, ", "))
	}
	return text + prefixed(" of ", m.Tenant)
}

func targeted(t schemas.RouteTarget) string {
	text := t.Capability + prefixed(" ", t.Version) + prefixed(" from ", t.MinVersion) + prefixed(" by ", t.Strategy)
	for _, s := range t.Split {
		text += fmt.Sprintf(", %v %% %s", s.Percent, s.Version)
	}
	return text
}

func (a *app) routeTestCommand() *cobra.Command {
	var files, tags []string
	command := &cobra.Command{
		Use:   "test FILE INTENT",
		Short: "Say which route of a file an intent would take",
		Long:  `Say which route of a file an intent would take, and what it leads to. No dispatcher is needed.`,
		Example: `  reach route test routes.yaml "review my change"
  reach route test routes.yaml "review my change" --tag go`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("%s takes a FILE and an INTENT", command.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			w, err := words(files)
			if err != nil {
				return err
			}
			table, err := checkedRoutes(args[0], w)
			if err != nil {
				return err
			}
			match, problem := table.Match(&schemas.ReachMessage{Intent: args[1], Tags: tags, Tenant: schemas.DefaultTenant, TaskID: schemas.NewTaskID()}, w)
			if problem != nil {
				return problem
			}
			answer := tested{Rule: string(match.Rule), Route: match.Route, Capability: match.Capability, Strategy: string(match.Strategy), Versions: match.Versions.String()}
			a.show(answer, func(out io.Writer) { answer.print(out) })
			return nil
		},
	}
	command.Flags().StringSliceVar(&files, "dictionary", nil, "files of capabilities in addition to the starter set")
	command.Flags().StringSliceVar(&tags, "tag", nil, "tags of the message")
	return command
}

// tested is what an intent leads to.
type tested struct {
	Rule       string `json:"rule"`
	Route      string `json:"route,omitzero"`
	Capability string `json:"capability"`
	Strategy   string `json:"strategy,omitzero"`
	Versions   string `json:"versions,omitzero"`
}

func (t tested) print(w io.Writer) {
	_, _ = fmt.Fprintf(w, "%s (by %s%s)\n", t.Capability, t.Rule, prefixed(" ", t.Route))
	if t.Versions != "" {
		_, _ = fmt.Fprintf(w, "versions %s\n", t.Versions)
	}
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
