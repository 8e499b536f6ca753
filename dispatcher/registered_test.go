package dispatcher_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// A dispatcher that has been there for long hears of an agent by its registration with another one, and judges it from then on.
func TestAnAgentThatHasJustRegisteredWithAnotherDispatcherIsNotTakenForDead(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	start := time.Now()
	cfg := quick()
	cfg.Now = func() time.Time { return start.Add(time.Duration(ahead.Load())) } // it stands still, for however long this takes
	h := newHouse(t, cfg, cfg)
	pass := func(d time.Duration) { ahead.Add(int64(d)) }
	states := func() [2]schemas.AgentState {
		var all [2]schemas.AgentState
		for i, d := range h.dispatchers {
			d.JudgeFromNow() // to which a clock that jumps is a trouble of its own
			a, err := d.Agent(t.Context(), "a")
			check(t, err)
			all[i] = a.State
		}
		return all
	}
	newScripted(h, "a", offer{"test_run", 1})
	pass(cfg.HeartbeatTTL - time.Millisecond)
	if got := states(); got != [2]schemas.AgentState{schemas.AgentOnline, schemas.AgentOnline} {
		t.Errorf("before the end of its first silence it is %v", got)
	}
	pass(time.Millisecond)
	brokertest.Eventually(t, "it is judged by both", func() bool {
		return states() == [2]schemas.AgentState{schemas.AgentOffline, schemas.AgentOffline}
	})
}

// An agent counts as idle until it has said how busy its machine is; whoever looks at it sees whether it has.
func TestTheLoadOfAnAgentIsAbsentBeforeItsFirstHeartbeat(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "a", offer{"echo", 1})
	if agent, err := h.any().Agent(t.Context(), "a"); err != nil || agent.LoadAvg != nil {
		t.Errorf("before its first heartbeat it is %+v (%v)", agent, err)
	}
	w.beat(schemas.AgentOnline, []string{"echo"})
	brokertest.Eventually(t, "its load", func() bool {
		agent, err := h.any().Agent(t.Context(), "a")
		return err == nil && agent.LoadAvg != nil && *agent.LoadAvg == 0
	})
}
