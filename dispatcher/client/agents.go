package client

import (
	"context"

	"github.com/agentreach/agent-reach/schemas"
)

// Register declares an agent.
func (c *Client) Register(ctx context.Context, registration *schemas.Registration) (*schemas.Registered, error) {
	return ask[schemas.Registered](ctx, c, question{noun: "agent", verb: "register", body: registration})
}

// ListAgents is a page of agents, by id.
func (c *Client) ListAgents(ctx context.Context, query schemas.AgentQuery) (*schemas.AgentPage, error) {
	return ask[schemas.AgentPage](ctx, c, question{noun: "agent", verb: "list", body: &query})
}

// Agent is one agent as it stands.
func (c *Client) Agent(ctx context.Context, agentID string) (*schemas.Agent, error) {
	return ask[schemas.Agent](ctx, c, onAgent("get", agentID))
}

// Drain lets an agent finish what it has and gives it nothing new.
func (c *Client) Drain(ctx context.Context, agentID string) (*schemas.Agent, error) {
	return ask[schemas.Agent](ctx, c, onAgent("drain", agentID))
}

// Resume ends a drain.
func (c *Client) Resume(ctx context.Context, agentID string) (*schemas.Agent, error) {
	return ask[schemas.Agent](ctx, c, onAgent("resume", agentID))
}

// RemoveAgent forgets an agent that has gone, and gives it as it was. One that is there is refused with FAILED_PRECONDITION.
func (c *Client) RemoveAgent(ctx context.Context, agentID string) (*schemas.Agent, error) {
	return ask[schemas.Agent](ctx, c, onAgent("remove", agentID))
}

func onAgent(verb, agentID string) question {
	return question{noun: "agent", verb: verb, body: &schemas.AgentRef{AgentID: agentID}}
}
