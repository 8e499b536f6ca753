package fronttest

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentreach/agent-reach/schemas"
)

// Register takes any registration whose capabilities are known.
func (h *House) Register(_ context.Context, registration *schemas.Registration) (*schemas.Registered, error) {
	if err := h.enter("Register"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	for _, offer := range registration.Capabilities {
		if h.capabilities[offer.ID] == nil {
			return nil, schemas.NewError(schemas.InvalidArgument, schemas.ReasonUnknownCapability, "that is not a capability").
				With("available", []string{"echo", "hold"}).With("nearest", "echo")
		}
	}
	h.addAgent(registration)
	return &schemas.Registered{
		AgentID: registration.AgentID, State: schemas.AgentOnline, Revision: h.revision,
		HeartbeatIntervalMS: 15_000, ReceiptIntervalMS: 15_000,
	}, nil
}

func (h *House) addAgent(registration *schemas.Registration) {
	h.revision++
	h.agents[registration.AgentID] = &schemas.Agent{
		AgentID: registration.AgentID, State: schemas.AgentOnline, LastSeenAt: schemas.At(Now), Registration: *registration,
	}
}

// ListAgents is every agent, by id.
func (h *House) ListAgents(context.Context, schemas.AgentQuery) (*schemas.AgentPage, error) {
	if err := h.enter("ListAgents"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	page := &schemas.AgentPage{Items: []schemas.Agent{}}
	for _, agent := range h.agents {
		page.Items = append(page.Items, *agent)
	}
	slices.SortFunc(page.Items, func(a, b schemas.Agent) int { return cmp.Compare(a.AgentID, b.AgentID) })
	return page, nil
}

// Agent is one agent.
func (h *House) Agent(_ context.Context, agentID string) (*schemas.Agent, error) {
	return h.withAgent("Agent", agentID, func(*schemas.Agent) {})
}

// Drain makes an agent draining.
func (h *House) Drain(_ context.Context, agentID string) (*schemas.Agent, error) {
	return h.withAgent("Drain", agentID, func(a *schemas.Agent) { a.State = schemas.AgentDraining })
}

// Resume makes it online again.
func (h *House) Resume(_ context.Context, agentID string) (*schemas.Agent, error) {
	return h.withAgent("Resume", agentID, func(a *schemas.Agent) { a.State = schemas.AgentOnline })
}

// RemoveAgent forgets it.
func (h *House) RemoveAgent(_ context.Context, agentID string) (*schemas.Agent, error) {
	return h.withAgent("RemoveAgent", agentID, func(*schemas.Agent) { delete(h.agents, agentID) })
}

func (h *House) withAgent(call, agentID string, change func(*schemas.Agent)) (*schemas.Agent, error) {
	if err := h.enter(call); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	agent := h.agents[agentID]
	if agent == nil {
		return nil, schemas.NewError(schemas.NotFound, schemas.ReasonUnknownAgent, "no agent has this id")
	}
	change(agent)
	answer := *agent
	return &answer, nil
}

// ListCapabilities is the dictionary, by id.
func (h *House) ListCapabilities(context.Context) (*schemas.CapabilityPage, error) {
	if err := h.enter("ListCapabilities"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	page := &schemas.CapabilityPage{Items: []schemas.Capability{}}
	for _, capability := range h.capabilities {
		page.Items = append(page.Items, *capability)
	}
	slices.SortFunc(page.Items, func(a, b schemas.Capability) int { return cmp.Compare(a.ID, b.ID) })
	return page, nil
}

// Capability is one entry.
func (h *House) Capability(_ context.Context, id string) (*schemas.Capability, error) {
	if err := h.enter("Capability"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	capability := h.capabilities[id]
	if capability == nil {
		return nil, schemas.NewError(schemas.NotFound, schemas.ReasonUnknownCapability, "no capability of that name")
	}
	answer := *capability
	return &answer, nil
}

// AddCapability stores an entry; over an old one only with Replace.
func (h *House) AddCapability(_ context.Context, add *schemas.AddCapability) (*schemas.Capability, error) {
	if err := h.enter("AddCapability"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	if h.capabilities[add.Capability.ID] != nil && !add.Replace {
		return nil, schemas.NewError(schemas.AlreadyExists, "CAPABILITY_EXISTS", "the dictionary has this id already")
	}
	entry := add.Capability
	h.capabilities[entry.ID] = &entry
	return &entry, nil
}
