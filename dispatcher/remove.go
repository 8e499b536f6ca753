package dispatcher

import (
	"context"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// RemoveAgent forgets an agent that has gone, and answers with it as it was. What waits for it goes on waiting; a worker of it that lives
// after all registers it again.
func (d *Dispatcher) RemoveAgent(ctx context.Context, agentID string) (*schemas.Agent, error) {
	if err := schemas.CheckAgentID(agentID); err != nil {
		return nil, err
	}
	if err := d.learn(ctx, agentID); err != nil {
		return nil, err
	}
	agent, err := d.Agent(ctx, agentID)
	if err != nil {
		return nil, err
	}
	if !removable(agent) {
		return nil, stillThere(agent)
	}
	if err := d.conn.Agents().Delete(ctx, agentID); err != nil {
		return nil, refusal(err)
	}
	d.enrol(broker.Item[broker.AgentRecord]{Key: agentID, Deleted: true})
	return agent, nil
}

// stillThere refuses to remove an agent, and says what has to end first.
func stillThere(a *schemas.Agent) error {
	only, first := "one that is offline", "stop its worker first"
	if a.Registration.Adopt {
		only, first = "one whose address does not answer", "stop what listens there, and wait for its next health check"
	}
	return schemas.NewError(schemas.FailedPrecondition, "AGENT_IS_THERE", "the agent is %s, and only %s is removed: %s", a.State, only, first)
}

// removable reports whether an agent has gone: nobody is heard who drives it, or only whoever has adopted it and finds nobody there.
func removable(a *schemas.Agent) bool {
	return a.State == schemas.AgentOffline || a.State == schemas.AgentDegraded && a.Registration.Adopt
}
