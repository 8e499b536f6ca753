package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/workerfile"
	"github.com/agentreach/agent-reach/schemas"
)

// TestWorkerFlagsOfOtherTransports runs alone: a key in the environment is looked for.
func TestWorkerFlagsOfOtherTransports(t *testing.T) {
	t.Setenv(keyVariable, "marker")
	for _, tt := range []struct {
		name string
		args []string
		want workerfile.Transport
	}{
		{"a stream", []string{"--sse=http://a/run"}, workerfile.Transport{Type: "sse", Endpoint: "http://a/run"}},
		{"a WebSocket", []string{"--ws=wss://a/run"}, workerfile.Transport{Type: "websocket", Endpoint: "wss://a/run"}},
		{"our own gRPC service", []string{"--grpc=a:1"}, workerfile.Transport{Type: "grpc", Endpoint: "a:1"}},
		{
			"a method",
			[]string{"--grpc=a:1/x.v1.Things.Do"},
			workerfile.Transport{Type: "grpc", Endpoint: "a:1", Method: "x.v1.Things.Do"},
		},
		{
			"a method over TLS",
			[]string{"--grpc=grpcs://a:1/x.v1.Things/Do"},
			workerfile.Transport{Type: "grpc", Endpoint: "grpcs://a:1", Method: "x.v1.Things/Do"},
		},
		{"an MCP server", []string{"--mcp=https://a/mcp"}, workerfile.Transport{Type: "mcp", Endpoint: "https://a/mcp"}},
		{
			"an MCP server and what its tools are",
			[]string{"--mcp=https://a/mcp", "--tool=get-sum=add", "--tool=a=b"},
			workerfile.Transport{Type: "mcp", Endpoint: "https://a/mcp", Tools: map[string]string{"get-sum": "add", "a": "b"}},
		},
		{
			"an MCP server and what its texts are",
			[]string{"--mcp=https://a/mcp", "--text-field=summary"},
			workerfile.Transport{Type: "mcp", Endpoint: "https://a/mcp", TextField: "summary"},
		},
		{"an MCP program", []string{"--mcp=cat 'a b'"}, workerfile.Transport{Type: "mcp", Command: []string{"cat", "a b"}}},
		{
			"a model",
			[]string{"--openai=http://a/v1", "--model=m", "--prompt={{.text}}", `--result={"summary":"{{.Text}}"}`},
			workerfile.Transport{
				Type: "openai", Endpoint: "http://a/v1", Model: "m", Prompt: "{{.text}}", APIKeyEnv: "OPENAI_API_KEY",
				Result: schemas.Payload(`{"summary":"{{.Text}}"}`),
			},
		},
		{
			"a model that writes JSON",
			[]string{"--openai=http://a/v1", "--model=m", "--result=json"},
			workerfile.Transport{Type: "openai", Endpoint: "http://a/v1", Model: "m", JSON: true, APIKeyEnv: "OPENAI_API_KEY"},
		},
	} {
		file, err := workerOf(append(tt.args, "--agent-id=a", "--capability=echo")...)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		described := &file.Agents[0]
		if diff := cmp.Diff(tt.want, described.Transport); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if made, err := adapterOf(described, new(config.Settings), zerolog.Nop()); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else {
			made.Close()
		}
	}
}

func TestRefusedWorkerFlagsOfOtherTransports(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, args, want string }{
		{"two transports", "--sse=http://a --ws=ws://a", "give one of"},
		{"another and an old one", "--mcp=cat --exec=cat", "give one of"},
		{"a model of nothing", "--http=http://a --model=m", "belong to --openai"},
		{"no model", "--openai=http://a", "model is needed"},
		{"an open quote", "--mcp='", "--mcp: "},
		{"a tool that is nothing", "--mcp=cat --tool=a", "--tool takes TOOL=CAPABILITY"},
		{"a tool of no server", "--ws=ws://a --tool=a=b", "belong to --mcp"},
		{"a text of no server", "--ws=ws://a --text-field=a", "belong to --mcp"},
		{"a result that is none", "--openai=http://a --model=m --result={", "--result is not JSON"},
	} {
		_, err := workerOf(append(strings.Fields(tt.args), "--agent-id=a", "--capability=echo")...)
		if exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestToolsCompleteWhatAnAgentOffers(t *testing.T) {
	t.Parallel()
	yes := true
	offers := []schemas.Offer{{ID: "echo", Description: "d", Idempotent: &yes, InputSchema: []byte(`{}`)}, {ID: "other"}}
	own := schemas.Offer{ID: "echo", Description: "mine"}
	complete(&own, offers)
	want := schemas.Offer{ID: "echo", Description: "mine", Idempotent: &yes, InputSchema: []byte(`{}`)}
	if diff := cmp.Diff(want, own); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := mapped(offers, map[string]string{"tool": "other"}); len(got) != 1 || got[0].ID != "other" {
		t.Errorf("got %v", got)
	}
	if got := mapped(offers, nil); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}
