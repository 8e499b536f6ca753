package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

func (a *app) capabilityCommand() *cobra.Command {
	t := new(target)
	command := noun("capability", "List, show and add capabilities",
		a.capabilityListCommand(t), a.capabilityShowCommand(t), a.capabilityAddCommand(t))
	targetFlags(command, t)
	return command
}

func (a *app) capabilityListCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List all capabilities in the dictionary",
		Example: "  reach capability list",
		Args:    noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				page, err := c.ListCapabilities(command.Context())
				if err != nil {
					return err
				}
				a.show(page, func(w io.Writer) { view.Capabilities(w, page.Items) })
				return nil
			})
		},
	}
}

func (a *app) capabilityShowCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:     "show CAPABILITY",
		Short:   "Show a capability with its schemas",
		Example: "  reach capability show summarize",
		Args: func(command *cobra.Command, args []string) error {
			return oneName(command, args, "CAPABILITY", schemas.CheckCapability)
		},
		RunE: func(command *cobra.Command, args []string) error {
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				capability, err := c.Capability(command.Context(), args[0])
				if err != nil {
					return err
				}
				a.show(capability, func(w io.Writer) { view.Capability(w, capability) })
				return nil
			})
		},
	}
}

func (a *app) capabilityAddCommand(t *target) *cobra.Command {
	var replace bool
	command := &cobra.Command{
		Use:   "add FILE",
		Short: "Add the capabilities of a YAML or JSON file",
		Long: `Add the capabilities of a YAML or JSON file to the dictionary; every dispatcher sees them at once. If another entry with the
same id exists, it is refused unless --replace is given.`,
		Example: "  reach capability add capabilities.yaml",
		Args:    oneFile,
		RunE: func(command *cobra.Command, args []string) error {
			entries, err := dictionary.ReadFile(args[0])
			if err != nil {
				return badFile(err)
			}
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				return a.addCapabilities(command.Context(), c, entries, replace)
			})
		},
	}
	command.Flags().BoolVar(&replace, "replace", false, "replace existing entries")
	return command
}

// addCapabilities stops at the first entry that is refused, after it has said which were added.
func (a *app) addCapabilities(ctx context.Context, c *client.Client, entries []schemas.Capability, replace bool) error {
	before, err := c.ListCapabilities(ctx)
	if err != nil {
		return err
	}
	page := &schemas.CapabilityPage{Items: []schemas.Capability{}}
	for _, entry := range entries {
		added, err := c.AddCapability(ctx, &schemas.AddCapability{Capability: entry, Replace: replace})
		if err != nil {
			return err
		}
		page.Items = append(page.Items, *added)
		if !a.json() {
			_, _ = fmt.Fprintf(a.stdout, "%s  %s\n", added.ID, became(before.Items, added))
		}
	}
	if a.json() {
		a.print(page)
	}
	return nil
}

// became says what an entry is beside those that were there before.
func became(before []schemas.Capability, entry *schemas.Capability) string {
	for i := range before {
		switch {
		case before[i].ID != entry.ID:
		case bytes.Equal(schemas.MustEncode(&before[i]), schemas.MustEncode(entry)):
			return "unchanged"
		default:
			return "replaced"
		}
	}
	return "added"
}

// badFile is a file that cannot be read or does not say what it should: invalid input, as on the command line itself.
func badFile(err error) error {
	if known := exit.Error(err); known.Code == schemas.InvalidArgument {
		return known
	}
	return schemas.NewError(schemas.InvalidArgument, "BAD_FILE", "%s", err)
}
