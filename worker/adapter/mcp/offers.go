package mcp

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
)

// Offers are the server's tools as capabilities, in its order. A tool that only reads, or says that it can be repeated, is
// idempotent. A schema that the house cannot hold is left out, with a word in the log: the dictionary's still counts.
func (a *Agent) Offers(ctx context.Context) ([]schemas.Offer, error) {
	s, failure := a.keeper.Live(ctx)
	if failure != nil {
		return nil, fmt.Errorf("list tools: %w", failure.Err)
	}
	var offers []schemas.Offer
	for tool, err := range s.client.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		offers = append(offers, a.offer(tool))
	}
	return offers, nil
}

func (a *Agent) offer(tool *sdk.Tool) schemas.Offer {
	idempotent := tool.Annotations != nil && (tool.Annotations.ReadOnlyHint || tool.Annotations.IdempotentHint)
	offer := schemas.Offer{
		ID: tool.Name, Description: tool.Description, Idempotent: &idempotent, InputSchema: a.schema(tool.Name, tool.InputSchema),
	}
	if capability, found := a.cfg.Tools[tool.Name]; found {
		offer.ID = capability
	}
	if a.cfg.TextField == "" {
		offer.OutputSchema = a.schema(tool.Name, tool.OutputSchema)
	}
	return offer
}

// schema is one of a tool's; nil without one, or without one that can be used.
func (a *Agent) schema(tool string, described any) jsontext.Value {
	if described == nil {
		return nil
	}
	raw, err := schemas.Encode(described)
	if err == nil {
		_, err = contract.Compile(raw)
	}
	if err != nil {
		a.cfg.Logger.Warn().Str("tool", tool).Err(err).Msg("a schema of the tool is left out")
		return nil
	}
	return raw
}
