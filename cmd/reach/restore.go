package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/schemas"
)

func (a *app) restoreCommand() *cobra.Command {
	s := new(store)
	command := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a backup into a new folder or an empty broker",
		Long: `Restore a backup. With --data it goes into a new folder, on which you then start reach up or reach broker; a folder that
contains anything is refused. Without --data it goes into a running broker that has no data of Agent-Reach yet, such as a new cluster
before its first dispatcher. The backup is checked before anything is written.

Tasks that were open when the backup was taken are open again. The backup does not know what agents have done since: idempotent tasks
may run twice, and non-idempotent tasks that had begun end as ABORTED.`,
		Example: `  reach restore --data /var/lib/reach reach-2026-11-30.backup
  reach restore --server nats://broker-1:4222 --replicas 3 nightly.backup`,
		Args: oneFile,
		RunE: func(command *cobra.Command, args []string) error {
			if err := s.check(); err != nil {
				return err
			}
			if s.data != "" && s.replicas != 1 {
				return exit.UsageError("--replicas is for a running cluster: give --server")
			}
			return a.restore(command.Context(), *s, args[0])
		},
	}
	s.flags(command, "new `FOLDER` for a broker to start on, instead of a broker that runs")
	command.Flags().IntVar(&s.replicas, "replicas", 1, "copies that a cluster keeps: 1, 3 or 5")
	return command
}

func (a *app) restore(ctx context.Context, s store, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return exit.UsageError("read the backup: %s", err)
	}
	defer func() { _ = file.Close() }()
	var restored *broker.Backup
	put := func(conn *broker.Conn) (err error) {
		restored, err = restoreFrom(ctx, conn, file)
		return err
	}
	if s.data != "" {
		err = intoNewFolder(s.data, func(folder string) error {
			into := s
			into.data = folder
			return a.withStore(ctx, into, put)
		})
	} else {
		err = a.withStore(ctx, s, put)
	}
	if err != nil {
		return err
	}
	a.show(restored, func(w io.Writer) { drawBackup(w, restored) })
	return nil
}

func restoreFrom(ctx context.Context, conn *broker.Conn, file *os.File) (*broker.Backup, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the backup: %w", err)
	}
	restored, err := conn.Restore(ctx, file, info.Size())
	switch {
	case errors.Is(err, broker.ErrBadBackup):
		return nil, schemas.NewError(schemas.InvalidArgument, "BAD_BACKUP", "%s: %s", file.Name(), err)
	case errors.Is(err, broker.ErrNotEmpty):
		return nil, schemas.NewError(schemas.FailedPrecondition, "NOT_EMPTY", "%s: a backup is never restored over tasks that are there", err)
	}
	return restored, err
}

// intoNewFolder has fill fill a folder that takes the name only when it is whole.
func intoNewFolder(name string, fill func(folder string) error) error {
	switch entries, err := os.ReadDir(name); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return exit.UsageError("look into the folder: %s", err)
	case len(entries) > 0:
		return schemas.NewError(schemas.FailedPrecondition, "NOT_EMPTY",
			"the folder %s is not empty: a backup is restored into a new one, never over a store that is there", name)
	}
	name = filepath.Clean(name)
	folder, err := os.MkdirTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := fill(folder); err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("put the folder in its place: %w", err)
	}
	if err := os.Rename(folder, name); err != nil {
		return fmt.Errorf("put the folder in its place: %w", err)
	}
	return nil
}
