package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/embedded"
	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/outfile"
	"github.com/agentreach/agent-reach/schemas"
)

// store is where a backup is taken from, or put into: a broker that runs, or the folder of one that does not.
type store struct {
	target
	data     string
	replicas int
}

func (s *store) flags(command *cobra.Command, help string) {
	targetFlags(command, &s.target)
	command.Flags().StringVar(&s.data, "data", "", help)
}

// check refuses a store that is two.
func (s *store) check() error {
	if s.data != "" && (s.server != "" || s.context != "" || s.creds != "") {
		return exit.UsageError("--data names the folder of a stopped broker; --server, --context and --creds name a running one: give only one of them")
	}
	return nil
}

func (a *app) backupCommand() *cobra.Command {
	s := new(store)
	command := &cobra.Command{
		Use:   "backup FILE",
		Short: "Save everything that a broker stores to a file",
		Long: `Save everything that a broker stores to a file: tasks with their payloads and results, agents, the dictionary, idempotency keys.
The broker may be in use; the ledger is saved as it was at one moment. With --data the broker's folder is read itself, which is
refused while a broker runs on it. A file that is there is replaced once the new one is whole.`,
		Example: `  reach backup reach-2026-11-30.backup
  reach backup --server nats://broker-1:4222 nightly.backup
  reach backup --data /var/lib/reach nightly.backup      # of a broker that is stopped`,
		Args: oneFile,
		RunE: func(command *cobra.Command, args []string) error {
			if err := s.check(); err != nil {
				return err
			}
			return a.backup(command.Context(), *s, args[0])
		},
	}
	s.flags(command, "`FOLDER` of a broker that is stopped, instead of one that runs")
	return command
}

func oneFile(command *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return fmt.Errorf("%s takes one FILE", command.CommandPath())
	}
	return nil
}

func (a *app) backup(ctx context.Context, s store, file string) error {
	if _, err := os.Stat(s.data); s.data != "" && err != nil {
		return exit.UsageError("there is no folder of a broker: %s", err)
	}
	var taken *broker.Backup
	err := a.withStore(ctx, s, func(conn *broker.Conn) error {
		return outfile.Write(file, func(w io.Writer) (err error) {
			taken, err = conn.Backup(ctx, w)
			return err
		})
	})
	if err != nil {
		return err
	}
	a.show(taken, func(w io.Writer) { drawBackup(w, taken) })
	return nil
}

// withStore calls do with a connection to the broker that runs, or to one that is started on the folder for that long.
func (a *app) withStore(ctx context.Context, s store, do func(*broker.Conn) error) error {
	cfg := broker.Config{Name: "reach backup", Logger: zerolog.Nop(), Replicas: s.replicas}
	if s.data != "" {
		server, err := embedded.Start(ctx, embedded.Config{Dir: s.data, Logger: zerolog.Nop()})
		if err != nil {
			return err
		}
		defer server.Close()
		cfg.Embedded = server
		return connected(ctx, cfg, do)
	}
	found, err := s.clientConfig(a.getenv)
	if err != nil {
		return err
	}
	cfg.URL, cfg.CredsFile, cfg.User, cfg.Password = found.URL, found.CredsFile, found.User, found.Password
	cfg.Token, cfg.InboxPrefix = found.Token, found.InboxPrefix
	return connected(ctx, cfg, do)
}

func connected(ctx context.Context, cfg broker.Config, do func(*broker.Conn) error) error {
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := broker.Connect(connecting, cfg)
	if err != nil {
		return schemas.NewError(schemas.Unavailable, "",
			"no broker answers at %s: name a running one with --server, or the folder of a stopped one with --data", config.MaskURLs(cfg.URL))
	}
	defer conn.Close()
	return do(conn)
}

func drawBackup(w io.Writer, b *broker.Backup) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "TAKEN\t%s\nSTREAM\tMESSAGES\tBYTES\tLAST\n", b.TakenAt)
	for _, s := range b.Streams {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", s.Name, s.Messages, s.Bytes, s.Last)
	}
	_ = table.Flush()
}
