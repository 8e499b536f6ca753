package dispatcher_test

import (
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestOnlyAnAgentThatHasGoneIsRemoved(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	_, err := h.any().RemoveAgent(t.Context(), "laptop-1")
	wantCode(t, err, schemas.FailedPrecondition, "AGENT_IS_THERE")
	w.beat(schemas.AgentOnline, []string{}) // its own worker lives
	brokertest.Eventually(t, "it is not well", func() bool { return h.agentState("laptop-1") == schemas.AgentDegraded })
	_, err = h.any().RemoveAgent(t.Context(), "laptop-1")
	wantCode(t, err, schemas.FailedPrecondition, "AGENT_IS_THERE")

	w.beat(schemas.AgentOffline, []string{})
	brokertest.Eventually(t, "it is offline", func() bool { return h.agentState("laptop-1") == schemas.AgentOffline })
	removed, err := h.any().RemoveAgent(t.Context(), "laptop-1")
	check(t, err)
	if removed.AgentID != "laptop-1" || removed.State != schemas.AgentOffline {
		t.Errorf("removed %+v", removed)
	}
	_, err = h.any().Agent(t.Context(), "laptop-1")
	wantCode(t, err, schemas.NotFound, schemas.ReasonUnknownAgent)
	_, err = h.any().RemoveAgent(t.Context(), "laptop-1")
	wantCode(t, err, schemas.NotFound, schemas.ReasonUnknownAgent)

	_, err = h.any().Register(t.Context(), &w.registration)
	check(t, err)
	w.beat(schemas.AgentOnline, []string{"echo"})
	if got := h.agentState("laptop-1"); got != schemas.AgentOnline {
		t.Errorf("after it has come again it is %s", got)
	}
}

func TestAnAgentThatPostedItselfIsRemovedOnceItIsNotWell(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "parrot", offer{"echo", 1})
	r := w.registration
	r.Adopt, r.Transport = true, schemas.Transport{Type: "http", Endpoint: "http://127.0.0.1:9/run"}
	_, err := h.any().Register(t.Context(), &r)
	check(t, err)
	w.beat(schemas.AgentOnline, []string{"echo"})
	_, err = h.any().RemoveAgent(t.Context(), "parrot")
	wantCode(t, err, schemas.FailedPrecondition, "AGENT_IS_THERE")
	if !strings.Contains(err.Error(), "stop what listens there") {
		t.Errorf("one without a worker of its own is told: %v", err)
	}
	w.beat(schemas.AgentOnline, []string{})
	brokertest.Eventually(t, "its adopter finds it ill", func() bool { return h.agentState("parrot") == schemas.AgentDegraded })
	_, err = h.any().RemoveAgent(t.Context(), "parrot")
	check(t, err)
}
