package main

import (
	"cmp"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/workerfile"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/subprocess"
)

// workerFlags are what the command line says of one agent, in place of a file.
type workerFlags struct {
	file           string
	nats, creds    string
	journal        string
	drainTimeout   time.Duration
	stopGrace      time.Duration
	agentID        string
	capabilities   []string
	http, exec     string
	other          otherFlags
	keepAlive      bool
	adopt          bool
	maxConcurrency int
}

func (a *app) workerCommand() *cobra.Command {
	w := new(workerFlags)
	command := &cobra.Command{
		Use:   "worker",
		Short: "Serve agents: take their tasks, and return the results",
		Long: `Serve the agents in a file (-f), or one agent that the flags describe. The agent itself changes nothing: it is an HTTP
endpoint that takes a POST, a program that reads JSON and prints JSON, or one of the other transports.`,
		Example: `  reach worker init && reach worker -f worker.yaml
  reach worker --agent-id notes --capability summarize --http http://127.0.0.1:9000/run
  reach worker --agent-id stats --capability text_stats --exec './text-stats --fast' --max-concurrency 4
  reach worker --mcp 'npx -y @modelcontextprotocol/server-everything'
  reach worker --mcp https://mcp.example/mcp --tool brave_web_search=web_search
  reach worker --capability echo --ws wss://agent.example/tasks
  reach worker --capability text_stats --grpc 127.0.0.1:50051/stats.v1.Stats.Count
  reach worker --agent-id model --capability summarize --openai http://127.0.0.1:11434/v1 --model llama3.2 \
    --prompt 'Summarize: {{.text}}' --result '{"summary": "{{.Text}}"}'
  reach worker --adopt`,
		Args: noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if w.adopt {
				return a.adopt(command, w)
			}
			file, err := w.read(command.Flags())
			if err != nil {
				return err
			}
			file.Broker.URL = cmp.Or(w.nats, a.getenv("REACH_URL"), file.Broker.URL)
			file.Broker.CredsFile = cmp.Or(w.creds, file.Broker.CredsFile)
			file.Journal = cmp.Or(w.journal, file.Journal)
			settings, err := a.settings(command)
			if err != nil {
				return err
			}
			return stopped(command.Context(), a.runWorker(command.Context(), settings, file, w.patience()))
		},
	}
	w.flags(command.Flags())
	configFlags(command)
	command.AddCommand(a.workerInitCommand())
	sameFlag(command, "nats", "server")
	return command
}

// patience is how long the worker waits for its agents.
func (w *workerFlags) patience() worker.Config {
	return worker.Config{DrainTimeout: w.drainTimeout, StopGrace: w.stopGrace}
}

func (w *workerFlags) flags(flags *pflag.FlagSet) {
	flags.StringVarP(&w.file, "file", "f", "", "file with the broker and the agents, usually worker.yaml")
	flags.StringVar(&w.nats, "nats", "", "URL of the broker (default: REACH_URL, the file, "+defaultURL+")")
	flags.StringVar(&w.creds, "creds", "", "file with NATS credentials")
	flags.StringVar(&w.journal, "journal", "", "folder of the journal, or none (default: a folder for these agents in the user's state directory)")
	flags.DurationVar(&w.drainTimeout, "drain-timeout", 30*time.Second, "how long tasks may take to end when the worker is told to stop")
	flags.DurationVar(&w.stopGrace, "stop-grace", 10*time.Second, "how long an agent that was stopped, but does not confirm it, keeps its slot")
	w.describe(flags)
}

// describe are the flags that describe an agent.
func (w *workerFlags) describe(flags *pflag.FlagSet) {
	flags.StringVar(&w.agentID, "agent-id", "", "id of the agent (default: from the names of this machine and of what it runs)")
	flags.StringArrayVar(&w.capabilities, "capability", nil, "capability of the agent; may be repeated; optional with --mcp")
	flags.StringVar(&w.http, "http", "", "URL at which the agent takes a POST")
	flags.StringVar(&w.exec, "exec", "", "command line of the agent, run without a shell")
	w.other.flags(flags)
	flags.BoolVar(&w.adopt, "adopt", false, "serve agents that have registered an endpoint and have no worker")
	flags.BoolVar(&w.keepAlive, "keep-alive", false, "start the command of --exec once for many tasks, not once for each task")
	flags.IntVar(&w.maxConcurrency, "max-concurrency", 1, "tasks that the agent runs at once")
}

// ofAgent are the flags that describe an agent.
var ofAgent = append([]string{"agent-id", "capability", "http", "exec", "keep-alive", "max-concurrency"}, otherFlagNames...)

// read is what the worker is told, by a file or by flags.
func (w *workerFlags) read(flags *pflag.FlagSet) (*workerfile.File, error) {
	if w.file == "" {
		return w.described()
	}
	for _, name := range ofAgent {
		if flags.Changed(name) {
			return nil, exit.UsageError("--%s describes an agent, and so does --file: give only one of them", name)
		}
	}
	file, err := workerfile.Read(w.file)
	if err != nil {
		return nil, badFile(err)
	}
	return file, nil
}

func (w *workerFlags) described() (*workerfile.File, error) {
	transport, err := w.transport()
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	agent := workerfile.Agent{AgentID: cmp.Or(w.agentID, idOf(host, &transport)), Transport: transport, MaxConcurrency: w.maxConcurrency}
	for _, id := range w.capabilities {
		agent.Capabilities = append(agent.Capabilities, schemas.Offer{ID: id, MaxConcurrency: w.maxConcurrency})
	}
	if len(w.capabilities) == 0 && !agent.OffersTools() {
		return nil, exit.UsageError("give at least one --capability: what the agent can do (reach capability list)")
	}
	if w.maxConcurrency < 1 {
		return nil, exit.UsageError("--max-concurrency takes a number from 1")
	}
	file := &workerfile.File{Agents: []workerfile.Agent{agent}}
	for _, problem := range file.Problems() {
		return nil, problem
	}
	return file, nil
}

func (w *workerFlags) transport() (workerfile.Transport, error) {
	if other, found, err := w.other.transport(w.http != "" || w.exec != "" || w.keepAlive); found || err != nil {
		return other, err
	}
	switch {
	case (w.http == "") == (w.exec == ""):
		return workerfile.Transport{}, exit.UsageError("give one of --file, --http, --exec, --sse, --ws, --grpc, --mcp, --openai, and only one: it says how to reach the agent")
	case w.http != "" && w.keepAlive:
		return workerfile.Transport{}, exit.UsageError("--keep-alive belongs to --exec")
	case w.http != "":
		return workerfile.Transport{Type: workerfile.HTTP, Endpoint: w.http}, nil
	}
	words, err := subprocess.Split(w.exec)
	if err != nil {
		return workerfile.Transport{}, exit.UsageError("--exec: %s", err)
	}
	mode := workerfile.PerTask
	if w.keepAlive {
		mode = workerfile.KeepAlive
	}
	return workerfile.Transport{Type: workerfile.Subprocess, Command: words, Mode: mode}, nil
}
