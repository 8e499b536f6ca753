package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/workerfile"
	"github.com/agentreach/agent-reach/schemas"
)

func TestWorkerFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		want workerfile.Agent
	}{
		{
			"a URL",
			[]string{"--agent-id=a", "--capability=echo", "--http=http://127.0.0.1:9000/run"},
			workerfile.Agent{
				AgentID: "a", MaxConcurrency: 1, Capabilities: []schemas.Offer{{ID: "echo", MaxConcurrency: 1}},
				Transport: workerfile.Transport{Type: "http", Endpoint: "http://127.0.0.1:9000/run"},
			},
		},
		{
			"a program with arguments, kept alive, for two capabilities",
			[]string{
				"--agent-id=a", "--capability=echo", "--capability=text_stats", "--exec=cat 'a b'", "--keep-alive", "--max-concurrency=3",
			},
			workerfile.Agent{
				AgentID: "a", MaxConcurrency: 3,
				Capabilities: []schemas.Offer{{ID: "echo", MaxConcurrency: 3}, {ID: "text_stats", MaxConcurrency: 3}},
				Transport:    workerfile.Transport{Type: "subprocess", Command: []string{"cat", "a b"}, Mode: "keep_alive"},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file, err := workerOf(tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]workerfile.Agent{tt.want}, file.Agents); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRefusedWorkerFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, args, want string }{
		{"nothing", "", "give one of --file, --http, --exec, --sse, --ws, --grpc, --mcp, --openai, and only one"},
		{"both ways to reach an agent", "--agent-id=a --capability=echo --http=http://a --exec=cat", "give one of --file, --http, --exec, --sse, --ws, --grpc, --mcp, --openai, and only one"},
		{"no capability", "--agent-id=a --exec=cat", "--capability"},
		{"no slots", "--agent-id=a --capability=echo --exec=cat --max-concurrency=0", "--max-concurrency takes"},
		{"a URL that is kept alive", "--agent-id=a --capability=echo --http=http://a --keep-alive", "--keep-alive belongs to --exec"},
		{"an open quote", "--agent-id=a --capability=echo --exec='", "--exec: "},
		{"a name that is a pattern", "--agent-id=* --capability=echo --exec=cat", "agent_id takes"},
		{"a file and flags", "--file=worker.yaml --agent-id=a", "--agent-id describes an agent, and so does --file"},
		{"a file that is not there", "--file=/nowhere/worker.yaml", "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := workerOf(strings.Fields(tt.args)...)
			if exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func workerOf(args ...string) (*workerfile.File, error) {
	w := new(workerFlags)
	flags := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	w.flags(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return w.read(flags)
}
