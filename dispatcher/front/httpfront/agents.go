package httpfront

import (
	"context"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

// AgentPath names an agent in a path.
type AgentPath struct {
	ID string `path:"id" example:"laptop-1" doc:"The agent_id." pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"`
}

func (s *server) agentRoutes() {
	add(s, s.operation("registerAgent"), s.registerAgent)
	add(s, s.operation("listAgents"), s.listAgents)
	add(s, s.operation("getAgent"), onAgent(s.Service.Agent))
	add(s, s.operation("drainAgent"), onAgent(s.Service.Drain))
	add(s, s.operation("resumeAgent"), onAgent(s.Service.Resume))
	add(s, s.operation("removeAgent"), onAgent(s.Service.RemoveAgent))
}

// registerAgent answers each registration alike, the first and any later one.
func (s *server) registerAgent(ctx context.Context, in *JSON) (*bodied[schemas.Registered], error) {
	registration, err := front.Registration(in.RawBody)
	if err != nil {
		return nil, err
	}
	return answered(s.Service.Register(ctx, registration))
}

// agentSelection is which agents to list.
type agentSelection struct {
	State      schemas.AgentState `query:"state" doc:"Only agents in this state."`
	Capability string             `query:"capability" doc:"Only agents of this capability." pattern:"^[a-z][a-z0-9_]{0,63}$"`
	Adopt      bool               `query:"adopt" doc:"Only agents that a worker may adopt."`
	PageSize   int                `query:"page_size" doc:"Agents per page; 50 if absent." minimum:"1" maximum:"100"`
	PageToken  string             `query:"page_token" doc:"The next_page_token of the page before." maxLength:"512"`
}

// listAgents is a page of agents, by id.
func (s *server) listAgents(ctx context.Context, in *agentSelection) (*bodied[schemas.AgentPage], error) {
	query := schemas.AgentQuery{
		State: in.State, Capability: in.Capability, Adopt: in.Adopt, PageSize: in.PageSize, PageToken: in.PageToken,
	}
	if err := front.CheckAgentQuery(&query); err != nil {
		return nil, err
	}
	return answered(s.Service.ListAgents(ctx, query))
}

// agentHandler is an operation that takes an agent_id and answers with the agent.
type agentHandler = func(context.Context, *AgentPath) (*bodied[schemas.Agent], error)

func onAgent(do func(context.Context, string) (*schemas.Agent, error)) agentHandler {
	return func(ctx context.Context, in *AgentPath) (*bodied[schemas.Agent], error) {
		if err := schemas.CheckAgentID(in.ID); err != nil {
			return nil, err
		}
		return answered(do(ctx, in.ID))
	}
}
