package workerfile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/cmd/internal/workerfile"
	"github.com/agentreach/agent-reach/schemas"
)

func TestAScaffoldIsReadAsItIsAndWithAllItsHints(t *testing.T) {
	t.Parallel()
	for _, transport := range []workerfile.Transport{
		{Type: workerfile.HTTP, Endpoint: "http://127.0.0.1:9000/run"},
		{Type: workerfile.SSE, Endpoint: "http://127.0.0.1:9000/run?a=b#c"},
		{Type: workerfile.WebSocket, Endpoint: "wss://a/tasks"},
		{Type: workerfile.GRPC, Endpoint: "127.0.0.1:50051", Method: "stats.v1.Stats/Count"},
		{Type: workerfile.Subprocess, Command: []string{"sh", "-c", `echo "a: b" # no comment`}, Mode: workerfile.KeepAlive},
		{Type: workerfile.MCP, Command: []string{"npx", "-y", "server"}, Tools: map[string]string{"get-sum": "add"}},
		{Type: workerfile.MCP, Endpoint: "https://mcp.example/mcp"},
		{Type: workerfile.OpenAI, Endpoint: "http://a/v1", Model: "llama3.2", Result: schemas.Payload(`{"summary":"{{.Text}}"}`)},
	} {
		t.Run(transport.Type, func(t *testing.T) {
			t.Parallel()
			agent := &workerfile.Agent{
				AgentID: "yes", Version: "0.1.0", MaxConcurrency: 4, Transport: transport,
				Capabilities: []schemas.Offer{{ID: "echo", MaxConcurrency: 4}, {ID: "null", MaxConcurrency: 4}},
			}
			text := string(workerfile.Scaffold(agent, "nats://127.0.0.1:4222"))
			file, _, err := read(t, text)
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			if diff := cmp.Diff([]workerfile.Agent{*agent}, file.Agents); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, _, err := read(t, spoken(text)); err != nil {
				t.Errorf("with its hints: %v in\n%s", err, spoken(text))
			}
		})
	}
}

func TestAScaffoldLeavesToolsToTheirServer(t *testing.T) {
	t.Parallel()
	agent := &workerfile.Agent{AgentID: "tools", Transport: workerfile.Transport{Type: workerfile.MCP, Command: []string{"server"}}}
	file, _, err := read(t, string(workerfile.Scaffold(agent, "nats://127.0.0.1:4222")))
	if err != nil || !file.Agents[0].OffersTools() {
		t.Errorf("got %+v, %v", file, err)
	}
}
