package dispatcher_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

func TestAgentsAreListedByPages(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i := range 7 {
		capability := "echo"
		if i%2 == 1 {
			capability = "text_stats"
		}
		_, err := h.any().Register(t.Context(), &schemas.Registration{
			AgentID: fmt.Sprintf("agent-%d", i), InstanceID: "1", Version: "1.0.0",
			Transport: schemas.Transport{Type: "claim"}, Capabilities: []schemas.Offer{{ID: capability}},
		})
		check(t, err)
	}
	tests := []struct {
		name  string
		query schemas.AgentQuery
		pages [][]string
	}{
		{"all on one page", schemas.AgentQuery{}, [][]string{{"agent-0", "agent-1", "agent-2", "agent-3", "agent-4", "agent-5", "agent-6"}}},
		{"three on each", schemas.AgentQuery{PageSize: 3}, [][]string{{"agent-0", "agent-1", "agent-2"}, {"agent-3", "agent-4", "agent-5"}, {"agent-6"}}},
		{"of a capability, and no page too many", schemas.AgentQuery{PageSize: 3, Capability: "text_stats"}, [][]string{{"agent-1", "agent-3", "agent-5"}}},
		{"in a state", schemas.AgentQuery{State: schemas.AgentOffline}, [][]string{nil}},
		{"to be adopted", schemas.AgentQuery{Adopt: true}, [][]string{nil}},
	}
	for _, tt := range tests {
		query := tt.query
		for i, want := range tt.pages {
			page, err := h.any().ListAgents(t.Context(), query)
			check(t, err)
			var got []string
			for _, agent := range page.Items {
				got = append(got, agent.AgentID)
			}
			if last := i == len(tt.pages)-1; !slices.Equal(got, want) || last != (page.NextPageToken == "") {
				t.Errorf("%s: page %d has %v and the token %q, want %v", tt.name, i+1, got, page.NextPageToken, want)
			}
			query.PageToken = page.NextPageToken
		}
	}
}
