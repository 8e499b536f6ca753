package client

import (
	"context"

	"github.com/agentreach/agent-reach/schemas"
)

// ListCapabilities is the dictionary, whole, however many answers it takes.
func (c *Client) ListCapabilities(ctx context.Context) (*schemas.CapabilityPage, error) {
	whole := &schemas.CapabilityPage{Items: []schemas.Capability{}}
	query := new(schemas.CapabilityQuery)
	for {
		page, err := ask[schemas.CapabilityPage](ctx, c, question{noun: "capability", verb: "list", body: query})
		if err != nil {
			return nil, err
		}
		whole.V, whole.Items = page.V, append(whole.Items, page.Items...)
		if page.NextPageToken <= query.PageToken { // the last, or a dispatcher that goes in circles
			return whole, nil
		}
		query.PageToken = page.NextPageToken
	}
}

// Capability is one entry of the dictionary.
func (c *Client) Capability(ctx context.Context, id string) (*schemas.Capability, error) {
	return ask[schemas.Capability](ctx, c, question{noun: "capability", verb: "get", body: &schemas.CapabilityRef{ID: id}})
}

// AddCapability puts an entry into the dictionary; without Replace it only creates.
func (c *Client) AddCapability(ctx context.Context, add *schemas.AddCapability) (*schemas.Capability, error) {
	return ask[schemas.Capability](ctx, c, question{noun: "capability", verb: "add", body: add})
}
