package main

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/workerfile"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker/adapter/grpc"
	"github.com/agentreach/agent-reach/worker/adapter/mcp"
	"github.com/agentreach/agent-reach/worker/adapter/openai"
	"github.com/agentreach/agent-reach/worker/adapter/sseagent"
	"github.com/agentreach/agent-reach/worker/adapter/websocket"
)

// otherAdapterOf is the adapter of a transport other than HTTP and a program.
func otherAdapterOf(described *workerfile.Agent, settings *config.Settings, log zerolog.Logger) (adapter, error) {
	t := &described.Transport
	connect := time.Duration(settings.Adaptor.HTTPConnectTimeoutMS) * time.Millisecond
	log = log.With().Str("agent_id", described.AgentID).Logger()
	switch t.Type {
	case workerfile.SSE:
		return sseagent.New(sseagent.Config{
			Endpoint: t.Endpoint, HealthCheck: t.HealthCheck, Input: sseagent.Input(t.Input), Headers: t.Headers,
			Format: sseagent.Format(t.Format), Events: t.Events, ConnectTimeout: connect,
			FirstByteTimeout: schemas.Duration(t.FirstByteTimeoutMS), IdleTimeout: schemas.Duration(t.IdleTimeoutMS),
		})
	case workerfile.WebSocket:
		return websocket.New(websocket.Config{
			Endpoint: t.Endpoint, Headers: t.Headers, Subprotocols: t.Subprotocols, Resume: t.Resume,
			ConnectTimeout: connect, PingInterval: settings.Adaptor.WSPingInterval, Logger: log,
		})
	case workerfile.GRPC:
		return grpc.New(grpc.Config{
			Target: t.Endpoint, Method: t.Method, Methods: t.Methods, DescriptorSet: t.DescriptorSet, Metadata: t.Metadata,
			HealthService: t.HealthService, Last: t.Last, DiscardUnknown: t.DiscardUnknown, Int64Numbers: t.Int64Numbers,
			ConnectTimeout: connect,
		})
	case workerfile.MCP:
		return mcp.New(mcp.Config{
			Command: t.Command, Dir: t.Dir, Env: environment(t.Env), Endpoint: t.Endpoint, Headers: t.Headers,
			Tools: t.Tools, TextField: t.TextField, ProtocolVersion: t.ProtocolVersion, Logger: log,
		})
	case workerfile.OpenAI:
		return openai.New(openaiConfig(t, connect))
	}
	return nil, exit.UsageError("the transport %s is not supported", t.Type)
}

func openaiConfig(t *workerfile.Transport, connect time.Duration) openai.Config {
	options := make(map[string]jsontext.Value, len(t.Options))
	for name, value := range t.Options {
		options[name] = jsontext.Value(value)
	}
	return openai.Config{
		Endpoint: t.Endpoint, Model: t.Model, HealthCheck: t.HealthCheck, Headers: t.Headers,
		APIKeyFile: t.APIKeyFile, APIKeyEnv: t.APIKeyEnv, System: t.System, Prompt: t.Prompt, Result: jsontext.Value(t.Result),
		JSON: t.JSON, Options: options, NoStream: t.NoStream, Truncated: t.Truncated, ConnectTimeout: connect,
		FirstByteTimeout: schemas.Duration(t.FirstByteTimeoutMS), IdleTimeout: schemas.Duration(t.IdleTimeoutMS),
	}
}

// toolsWait is how long a server may take to name its tools.
const toolsWait = 30 * time.Second

// toolbox is an adapter whose server names its capabilities itself, and answers with texts that have a place to find.
type toolbox interface {
	Offers(ctx context.Context) ([]schemas.Offer, error)
	Expect(outputs map[string]jsontext.Value)
}

// offerTools completes an agent's capabilities by what an MCP server says of its tools: all of them, or all that the
// configuration maps, where the agent names no capabilities; else what it says of those. A server that is away then says nothing.
func offerTools(ctx context.Context, described *workerfile.Agent, of adapter, log zerolog.Logger) error {
	tools, ok := of.(toolbox)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, toolsWait)
	defer cancel()
	offers, err := tools.Offers(ctx)
	if described.OffersTools() {
		described.Capabilities = mapped(offers, described.Transport.Tools)
		for i := range described.Capabilities {
			described.Capabilities[i].MaxConcurrency = described.MaxConcurrency
		}
		return err
	}
	if err != nil {
		log.Warn().Str("agent_id", described.AgentID).Err(err).Msg("the server does not name its tools")
		return nil
	}
	for i := range described.Capabilities {
		complete(&described.Capabilities[i], offers)
	}
	return nil
}

// mapped are the offers that a configuration has names for, or all where it has none.
func mapped(offers []schemas.Offer, tools map[string]string) []schemas.Offer {
	if len(tools) == 0 {
		return offers
	}
	known := make(map[string]bool, len(tools))
	for _, capability := range tools {
		known[capability] = true
	}
	var some []schemas.Offer
	for _, offer := range offers {
		if known[offer.ID] {
			some = append(some, offer)
		}
	}
	return some
}

// complete adds to what an agent's owner says of a capability what its tool says.
func complete(own *schemas.Offer, offers []schemas.Offer) {
	for _, offer := range offers {
		if offer.ID != own.ID {
			continue
		}
		if own.Description == "" {
			own.Description = offer.Description
		}
		if own.Idempotent == nil {
			own.Idempotent = offer.Idempotent
		}
		if own.InputSchema == nil {
			own.InputSchema = offer.InputSchema
		}
		if own.OutputSchema == nil {
			own.OutputSchema = offer.OutputSchema
		}
	}
}
