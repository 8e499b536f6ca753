package main

import (
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/workerfile"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker/adapter/subprocess"
)

// otherFlags say how to reach an agent by a transport other than HTTP and a program.
type otherFlags struct {
	sse, ws, grpc, mcp, openai string
	model, prompt, result      string
	textField                  string
	tools                      []string
}

// otherFlagNames are those flags.
var otherFlagNames = []string{"sse", "ws", "grpc", "mcp", "openai", "model", "prompt", "result", "tool", "text-field"}

func (o *otherFlags) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.sse, "sse", "", "URL at which the agent takes a POST, and streams its answer")
	flags.StringVar(&o.ws, "ws", "", "WebSocket URL of the agent")
	flags.StringVar(&o.grpc, "grpc", "", "host:port/package.Service.Method of the agent, or host:port alone for Agent-Reach's own service")
	flags.StringVar(&o.mcp, "mcp", "", "command line or URL of an MCP server whose tools are the capabilities")
	flags.StringArrayVar(&o.tools, "tool", nil, "TOOL=CAPABILITY: a tool of --mcp and the capability that it implements; may be repeated")
	flags.StringVar(&o.textField, "text-field", "", "member of the result that gets a text answer of --mcp (default: from the capability's output schema)")
	flags.StringVar(&o.openai, "openai", "", "URL of an API with chat completions; its key, if any, in OPENAI_API_KEY")
	flags.StringVar(&o.model, "model", "", "model of --openai")
	flags.StringVar(&o.prompt, "prompt", "", "template of the prompt, over the payload: 'Summarize: {{.text}}'")
	flags.StringVar(&o.result, "result", "", `the result as JSON: '{"summary": "{{.Text}}"}'; or json, if the model writes the JSON`)
}

// transport is what the flags say, and whether they say anything. others tells that another transport is named, too.
func (o *otherFlags) transport(others bool) (workerfile.Transport, bool, error) {
	named := 0
	for _, value := range []string{o.sse, o.ws, o.grpc, o.mcp, o.openai} {
		if value != "" {
			named++
		}
	}
	ofModel := o.model != "" || o.prompt != "" || o.result != ""
	switch {
	case named > 1 || named == 1 && others:
		return workerfile.Transport{}, false, exit.UsageError("give one of --http, --exec, --sse, --ws, --grpc, --mcp and --openai")
	case ofModel && o.openai == "":
		return workerfile.Transport{}, false, exit.UsageError("--model, --prompt and --result belong to --openai")
	case (len(o.tools) > 0 || o.textField != "") && o.mcp == "":
		return workerfile.Transport{}, false, exit.UsageError("--tool and --text-field belong to --mcp")
	case named == 0:
		return workerfile.Transport{}, false, nil
	}
	t, err := o.named()
	return t, true, err
}

func (o *otherFlags) named() (workerfile.Transport, error) {
	switch {
	case o.sse != "":
		return workerfile.Transport{Type: workerfile.SSE, Endpoint: o.sse}, nil
	case o.ws != "":
		return workerfile.Transport{Type: workerfile.WebSocket, Endpoint: o.ws}, nil
	case o.grpc != "":
		return grpcTransport(o.grpc), nil
	case o.mcp != "":
		return o.mcpTransport()
	}
	return o.openaiTransport()
}

// grpcTransport takes a method apart from its target. A scheme has slashes, too.
func grpcTransport(target string) workerfile.Transport {
	scheme, rest, found := strings.Cut(target, "://")
	if !found {
		scheme, rest = "", target
	}
	address, method, _ := strings.Cut(rest, "/")
	if found {
		address = scheme + "://" + address
	}
	return workerfile.Transport{Type: workerfile.GRPC, Endpoint: address, Method: method}
}

// mcpTransport is a URL, or a command line.
func (o *otherFlags) mcpTransport() (workerfile.Transport, error) {
	tools, ok := toolsOf(o.tools)
	if !ok {
		return workerfile.Transport{}, exit.UsageError("--tool takes TOOL=CAPABILITY")
	}
	t := workerfile.Transport{Type: workerfile.MCP, Tools: tools, TextField: o.textField}
	if strings.HasPrefix(o.mcp, "http://") || strings.HasPrefix(o.mcp, "https://") {
		t.Endpoint = o.mcp
		return t, nil
	}
	words, err := subprocess.Split(o.mcp)
	if err != nil {
		return workerfile.Transport{}, exit.UsageError("--mcp: %s", err)
	}
	t.Command = words
	return t, nil
}

// keyVariable is where the key of --openai is looked for.
const keyVariable = "OPENAI_API_KEY"

func (o *otherFlags) openaiTransport() (workerfile.Transport, error) {
	t := workerfile.Transport{Type: workerfile.OpenAI, Endpoint: o.openai, Model: o.model, Prompt: o.prompt}
	t.JSON = o.result == "json"
	if os.Getenv(keyVariable) != "" {
		t.APIKeyEnv = keyVariable
	}
	if o.result != "" && !t.JSON {
		if err := schemas.Scan([]byte(o.result)); err != nil {
			return workerfile.Transport{}, exit.UsageError("--result is not JSON: %s", schemas.AsError(err).Message)
		}
		t.Result = schemas.Payload(o.result)
	}
	return t, nil
}
