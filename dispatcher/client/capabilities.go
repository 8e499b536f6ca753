package client

import (
	"context"

	"github.com/agentreach/agent-reach/schemas"
)

// ListCapabilities is the dictionary.
func (c *Client) ListCapabilities(ctx context.Context) (*schemas.CapabilityPage, error) {
	return ask[schemas.CapabilityPage](ctx, c, question{noun: "capability", verb: "list", body: &struct{}{}})
}

// Capability is one entry of the dictionary.
func (c *Client) Capability(ctx context.Context, id string) (*schemas.Capability, error) {
	return ask[schemas.Capability](ctx, c, question{noun: "capability", verb: "get", body: &schemas.CapabilityRef{ID: id}})
}

// AddCapability puts an entry into the dictionary; without Replace it only creates.
func (c *Client) AddCapability(ctx context.Context, add *schemas.AddCapability) (*schemas.Capability, error) {
	return ask[schemas.Capability](ctx, c, question{noun: "capability", verb: "add", body: add})
}
