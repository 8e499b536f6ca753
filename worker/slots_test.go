package worker

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// gauge counts calls that run at the same time, by capability and over all (""). It is full once four ran at once.
type gauge struct {
	mu        sync.Mutex
	now, most map[string]int
	calls     int
	full      chan struct{}
	once      sync.Once
}

func newGauge() *gauge {
	return &gauge{now: make(map[string]int), most: make(map[string]int), full: make(chan struct{})}
}

func (g *gauge) add(capability string, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls += max(n, 0)
	for _, name := range []string{capability, ""} {
		g.now[name] += n
		g.most[name] = max(g.most[name], g.now[name])
	}
	if g.now[""] == 4 {
		g.once.Do(func() { close(g.full) })
	}
}

func TestSlotsAreNeverExceeded(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	g := newGauge()
	s := h.work(HandlerFunc(func(ctx context.Context, task *Task, _ Emit) (schemas.Payload, error) {
		g.add(task.Message.Capability, 1)
		defer g.add(task.Message.Capability, -1)
		select { // slots do not stand idle
		case <-g.full:
			return task.Message.Payload, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}), func(cfg *Config) {
		cfg.ExcessWait = time.Minute
		cfg.Agents[0].Registration.MaxConcurrency = 4
		cfg.Agents[0].Registration.Capabilities = []schemas.Offer{
			{ID: "echo", MaxConcurrency: 3}, {ID: "text_stats", MaxConcurrency: 2},
		}
	})
	var ids []string
	for i := range 200 {
		ids = append(ids, h.assign(task{capability: []string{"echo", "text_stats"}[i%2]}).TaskID)
	}
	for _, id := range ids {
		h.awaitDone(id)
	}
	brokertest.Eventually(t, "an empty inbox", s.station().inbox.empty)
	if g.most["echo"] > 3 || g.most["text_stats"] > 2 || g.most[""] > 4 {
		t.Errorf("ran at once: %v, want at most 3, 2 and 4 in all", g.most)
	}
	if g.calls != 200 {
		t.Errorf("%d calls for 200 tasks", g.calls)
	}
}

func TestWhatWouldWaitTooLongIsHandedBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	handler := newScript()
	s := h.work(handler, func(cfg *Config) { cfg.ExcessWait = 200 * time.Millisecond })
	for range 6 {
		h.assign(task{})
	}
	brokertest.Eventually(t, "four releases", func() bool { return len(h.released()) == 4 })
	run := []string{handler.called(t).ID(), handler.called(t).ID()}
	for _, id := range h.released() {
		if slices.Contains(run, id) {
			t.Errorf("%s was handed back while it runs", id)
		}
		brokertest.Eventually(t, "the queue for "+id, func() bool {
			e, err := h.conn.Ledger().LastAtLeader(t.Context(), id)
			return err == nil && e.Phase == schemas.PhaseQueued
		})
	}
	brokertest.Eventually(t, "two tasks held", func() bool { return len(s.station().inbox.sequences()) == 2 })
	handler.answer <- nil
	handler.answer <- nil
	h.awaitDone(run[0])
	h.awaitDone(run[1])
}

func TestAReleaseIsRepeatedUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.onRelease = func(n int, _ schemas.Release) reaction { return reaction{swallow: n < 3} }
	h.serve()
	handler := newScript()
	h.work(handler, func(cfg *Config) {
		cfg.ExcessWait, cfg.RequestTimeout = 20*time.Millisecond, 100*time.Millisecond
		cfg.Agents[0].Registration.Capabilities[0].MaxConcurrency = 1
	})
	h.assign(task{})
	handler.called(t)
	h.assign(task{})
	brokertest.Eventually(t, "three equal releases", func() bool {
		r := look(h, &h.releases)
		return len(r) >= 3 && r[0] == r[1] && r[1] == r[2]
	})
	handler.answer <- nil
}

func TestUrgentTasksStartFirst(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	handler := newScript()
	s := h.work(handler, func(cfg *Config) {
		cfg.ExcessWait = time.Minute
		cfg.Agents[0].Registration.Capabilities[0].MaxConcurrency = 1
	})
	running := h.assign(task{})
	handler.called(t)
	low, high := 1, 9
	first := h.assign(task{priority: &low})
	second := h.assign(task{})
	third := h.assign(task{priority: &high})
	brokertest.Eventually(t, "four tasks held", func() bool { return len(s.station().inbox.sequences()) == 4 })
	for range 4 {
		handler.answer <- nil
	}
	h.awaitDone(running.TaskID)
	for _, want := range []string{third.TaskID, second.TaskID, first.TaskID} {
		if got := handler.called(t).ID(); got != want {
			t.Errorf("started %s, want %s", got, want)
		}
	}
}

func TestTheInboxIsBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.silent = true
	h.serve()
	handler := newScript()
	s := h.work(handler, func(cfg *Config) { cfg.ExcessWait, cfg.MaxWaiting = time.Minute, 3 })
	for range 20 {
		h.assign(task{})
	}
	brokertest.Eventually(t, "a full inbox", func() bool { return len(s.station().inbox.sequences()) == 5 })
	for range 20 {
		handler.answer <- nil
	}
	h.mu.Lock()
	h.silent = false // the heartbeats repair what was dropped
	h.mu.Unlock()
	brokertest.Eventually(t, "all results", func() bool { return len(look(h, &h.results)) >= 20 })
}
