package dispatcher_test

import (
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/breaker"
	"github.com/agentreach/agent-reach/dispatcher/health"
	"github.com/agentreach/agent-reach/schemas"
)

func (h *house) agentState(id string) schemas.AgentState {
	h.t.Helper()
	a, err := h.any().Agent(h.t.Context(), id)
	check(h.t, err)
	return a.State
}

func TestADeadPluginBehindALiveProcessLeavesRoutingAndComesBack(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.Probes = health.Config{Every: 100 * time.Millisecond, Within: time.Second, Again: 50 * time.Millisecond}
	h := newHouse(t, cfg, cfg)
	w := newScripted(h, "laptop-1", offer{"echo", 1}, offer{"text_stats", 1})
	w.keepBeating()
	brokertest.Eventually(t, "it is probed with an input of the dictionary", func() bool {
		p := w.lastProbe.Load()
		return p != nil && p.Payload != nil
	})
	w.ill.Store(true)
	brokertest.Eventually(t, "three failed probes degrade it, whoever looks", func() bool {
		a, err := h.dispatchers[1].Agent(t.Context(), "laptop-1")
		return err == nil && a.State == schemas.AgentDegraded && a.Trouble == "its probes fail: refused" &&
			h.agentState("laptop-1") == schemas.AgentDegraded
	})
	m := echo(`1`)
	_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
	wantCode(t, err, schemas.Unavailable, schemas.ReasonNoAgent)
	w.ill.Store(false)
	brokertest.Eventually(t, "one success brings it back", func() bool { return h.agentState("laptop-1") == schemas.AgentOnline })
	a, err := h.any().Agent(t.Context(), "laptop-1")
	check(t, err)
	if a.Trouble != "" {
		t.Errorf("it is back, and its trouble is %q", a.Trouble)
	}
	h.submit(m)
}

func TestAnAgentIsNotProbedWithWhatItsOwnSchemaRefuses(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.Probes = health.Config{Every: 50 * time.Millisecond, Within: 100 * time.Millisecond, Again: 50 * time.Millisecond}
	h := newHouse(t, cfg)
	w := newScriptedWith(h, "laptop-1", schemas.Offer{ID: "echo", InputSchema: []byte(`{"type":"object","required":["message"]}`)})
	w.keepBeating()
	brokertest.Eventually(t, "it is probed", func() bool { return w.lastProbe.Load() != nil })
	if p := w.lastProbe.Load(); p.Payload != nil {
		t.Errorf("it was probed with %s, which it must refuse; want its health check alone", p.Payload)
	}
}

func TestAnAgentThatCannotBeReachedIsLeftAloneForAWhile(t *testing.T) {
	t.Parallel()
	cfg, c := quick(), new(clock)
	cfg.BackoffBase, cfg.Now = time.Millisecond, c.now
	h := newHouse(t, cfg)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	w.keepBeating()
	refused := schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "connection refused")
	m := echo(`1`)
	m.QualityOfService = schemas.QoSComplete
	task := h.submit(m)
	for range 5 {
		w.fail(w.next(), schemas.RanNo, refused)
	}
	if done := h.wait(task.TaskID); done.State != schemas.StateFailed || !done.DeadLetter || done.Attempt != 5 {
		t.Errorf("got %+v", done)
	}
	waiting := h.submit(m)
	if waiting.Phase != schemas.PhaseQueued {
		t.Errorf("got %s, want it to wait until the breaker lets a trial through", waiting.Phase)
	}
	c.pass(breaker.FirstOpen)
	w.complete(w.next())
	if done := h.wait(waiting.TaskID); done.State != schemas.StateCompleted {
		t.Errorf("got %+v", done)
	}
	h.submit(echo(`2`))
}
