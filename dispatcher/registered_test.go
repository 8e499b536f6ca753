package dispatcher_test

import (
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
)

// A dispatcher that has been there for long hears of an agent by its registration with another one, and judges it from then on.
func TestAnAgentThatHasJustRegisteredWithAnotherDispatcherIsNotTakenForDead(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.HeartbeatInterval, cfg.HeartbeatTTL = 500*time.Millisecond, 1500*time.Millisecond
	h := newHouse(t, cfg, cfg)
	passes := func(what string, d time.Duration) {
		at := time.Now().Add(d)
		brokertest.Eventually(t, what, func() bool { return time.Now().After(at) })
	}
	passes("the time in which nobody is judged", cfg.HeartbeatTTL)
	w := newScripted(h, "a", offer{"test_run", 1})
	task := h.submit(work())
	w.begin(w.next())
	passes("less than a silence", cfg.HeartbeatTTL/2)
	if got := h.task(task.TaskID); got.State.Terminal() {
		t.Errorf("it is %s: %v", got.State, got.Error)
	}
}
