package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/workerfile"
)

// initialFile is what worker init writes where no other name is given.
const initialFile = "worker.yaml"

func (a *app) workerInitCommand() *cobra.Command {
	w := new(workerFlags)
	force := false
	command := &cobra.Command{
		Use:   "init",
		Short: "Write a worker.yaml to start from",
		Long: `Write a commented worker.yaml that can be run as it is. The flags describe its agent, as for reach worker; without any
flags the agent is a program that returns its input, for the capability echo.`,
		Example: `  reach worker init
  reach worker init --agent-id notes --capability summarize --http http://127.0.0.1:9000/run
  reach worker init -f search.yaml --mcp 'npx -y some-search-server' --tool brave_web_search=web_search`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			path := cmp.Or(w.file, initialFile)
			w.file = ""
			text, err := w.scaffold(a.getenv("REACH_URL"))
			if err != nil {
				return err
			}
			if err := create(path, text, force); err != nil {
				return err
			}
			a.show(struct {
				File string `json:"file"`
			}{path}, func(out io.Writer) { _, _ = fmt.Fprintf(out, "wrote %s; run it: reach worker -f %s\n", path, path) })
			return nil
		},
	}
	w.describe(command.Flags())
	command.Flags().StringVarP(&w.file, "file", "f", initialFile, "the file to write")
	command.Flags().StringVar(&w.nats, "nats", "", "URL of the broker (default: REACH_URL, "+defaultURL+")")
	command.Flags().BoolVar(&force, "force", false, "overwrite an existing file")
	return command
}

// scaffold is the file for the agent of the flags, or for one that echoes.
func (w *workerFlags) scaffold(url string) ([]byte, error) {
	if !w.describesTransport() {
		w.exec = "cat"
		if len(w.capabilities) == 0 {
			w.capabilities = []string{"echo"}
		}
	}
	file, err := w.described()
	if err != nil {
		return nil, err
	}
	return workerfile.Scaffold(&file.Agents[0], cmp.Or(w.nats, url, defaultURL)), nil
}

func (w *workerFlags) describesTransport() bool {
	o := &w.other
	return cmp.Or(w.http, w.exec, o.sse, o.ws, o.grpc, o.mcp, o.openai, o.model, o.prompt, o.result) != "" || w.keepAlive || len(o.tools) > 0
}

// create writes a file that is not there yet.
func create(path string, content []byte, force bool) error {
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if !force {
		flags |= os.O_EXCL
	}
	file, err := os.OpenFile(path, flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return exit.UsageError("%s exists already: give another --file, or --force", path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}
