package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// Agents is a list of agents.
func Agents(w io.Writer, agents []schemas.Agent) {
	var items [][]string
	for i := range agents {
		a := &agents[i]
		items = append(items, []string{
			a.AgentID, string(a.State), or(Text(a.Registration.Version)), fmt.Sprintf("%d/%d", a.InFlight, a.Registration.TotalSlots()),
			offered(&a.Registration), or(a.LastSeenAt.String()),
		})
	}
	Rows(w, []string{"AGENT", "STATE", "VERSION", "BUSY", "CAPABILITIES", "LAST SEEN"}, items)
}

func offered(r *schemas.Registration) string {
	var ids []string
	for i := range r.Capabilities {
		ids = append(ids, r.Capabilities[i].ID)
	}
	return or(strings.Join(ids, ","))
}

// Agent is all that a reader wants to know of one agent.
func Agent(w io.Writer, a *schemas.Agent) {
	r := &a.Registration
	fields(w,
		field{"AGENT", a.AgentID},
		field{"STATE", string(a.State)},
		field{"TROUBLE", Text(a.Trouble)},
		field{"SERVICE", Text(r.Service)},
		field{"VERSION", Text(r.Version)},
		field{"TRANSPORT", strings.TrimSpace(Text(r.Transport.Type + " " + r.Transport.Endpoint))},
		field{"BUSY", fmt.Sprintf("%d of %d", a.InFlight, r.TotalSlots())},
		field{"LOAD", load(a)},
		field{"LAST SEEN", a.LastSeenAt.String()},
		field{"GROUPS", Text(strings.Join(r.Groups, ", "))},
		field{"CAPABILITY", slots(r)},
		field{"ALIGNED", aligned(r)},
		field{"METADATA", raw(r.Metadata)},
	)
}

// load is empty as long as the agent has not said it.
func load(a *schemas.Agent) string {
	if a.LoadAvg == nil {
		return ""
	}
	return fmt.Sprintf("%.2f", *a.LoadAvg)
}

// slots are the capabilities with how many tasks of each run at once.
func slots(r *schemas.Registration) string {
	var parts []string
	for i := range r.Capabilities {
		id := r.Capabilities[i].ID
		parts = append(parts, fmt.Sprintf("%s (%d)", id, r.Slots(id)))
	}
	return strings.Join(parts, ", ")
}

// AgentState is the line that answers a change of an agent.
func AgentState(w io.Writer, a *schemas.Agent) { _, _ = fmt.Fprintf(w, "%s  %s\n", a.AgentID, a.State) }

// AgentRemoved says which agent has been removed.
func AgentRemoved(w io.Writer, a *schemas.Agent) { _, _ = fmt.Fprintf(w, "%s  removed\n", a.AgentID) }
