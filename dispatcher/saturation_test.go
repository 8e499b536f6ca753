package dispatcher_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// Three dispatchers share one queue that never empties until the end, and one of them is cut off in the middle: they hardly race for
// the same tasks, and nobody waits for the one that has gone.
func TestThreeDispatchersOnASaturatedQueueAndOneIsKilled(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	h := &house{t: t, broker: b}
	proxy := brokertest.Proxy(t, b.URL())
	cfg := quick()
	cfg.ExcessWait = 1
	h.start(cfg)
	h.start(cfg)
	h.startOn(b.Connect(t, func(c *broker.Config) { c.Embedded, c.URL = nil, proxy.URL() }), cfg)
	brokertest.Eventually(t, "three dispatchers know each other", func() bool { return len(h.any().Peers()) == 3 })

	const agents, tasks = 8, 600
	workers := make([]*scripted, agents)
	for n := range workers {
		workers[n] = newScripted(h, fmt.Sprint("agent-", n), offer{"echo", 1})
		workers[n].keepBeating()
	}
	ids := make([]string, tasks)
	for n := range ids {
		ids[n] = h.submit(echo(fmt.Sprint(n))).TaskID
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	ended := map[string]time.Time{}
	for _, w := range workers {
		all.Go(func() {
			for a := range w.work(t, "echo", 3*time.Second) {
				w.complete(a)
				mu.Lock()
				ended[a.message.TaskID] = time.Now()
				if len(ended) == tasks/3 {
					proxy.Pause() // the victim is gone: its connection ends, and no new one carries anything
					proxy.Cut()
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	proxy.Resume()
	proxy.Cut()
	var tried, refused int64
	for _, d := range h.dispatchers {
		n, no := d.Binds()
		tried, refused = tried+n, refused+no
	}
	t.Logf("%d binds, %d refused", tried, refused)
	if refused*100 > tried*15 {
		t.Errorf("%d of %d binds were refused, want less than 15 %%", refused, tried)
	}
	for _, id := range ids {
		if _, done := ended[id]; !done {
			t.Fatalf("task %s never ran: %+v", id, h.task(id))
		}
	}
	ends := make([]time.Time, 0, tasks)
	for _, at := range ended {
		ends = append(ends, at)
	}
	slices.SortFunc(ends, time.Time.Compare)
	for n := 1; n < len(ends); n++ {
		if gap := ends[n].Sub(ends[n-1]); gap > 5*time.Second {
			t.Errorf("for %v nothing ended", gap)
		}
	}
}

// work gives assignments one after the other, by pull and feed, until nothing has come for quiet.
func (w *scripted) work(t *testing.T, capability string, quiet time.Duration) func(func(assignment) bool) {
	seen := map[uint64]bool{}
	return func(yield func(assignment) bool) {
		last := time.Now()
		for time.Since(last) < quiet {
			select {
			case e := <-w.arrived:
				if a := w.read(e); !seen[a.sequence] {
					seen[a.sequence] = true
					if !yield(a) {
						return
					}
					last = time.Now()
				}
				continue
			default:
			}
			w.pullQuietly(capability)
			if len(w.arrived) == 0 {
				pauseUntil(t.Context(), time.Now().Add(20*time.Millisecond))
			}
		}
	}
}

// pullQuietly asks for one task; what comes is heard by the feed. A dispatcher that does not answer is no failure of the test.
func (w *scripted) pullQuietly(capability string) {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	w.mu.Lock()
	p := schemas.Pull{AgentID: w.agentID, InstanceID: w.instance, Free: map[string]int{capability: 1}, FreeTotal: 1, After: w.after}
	w.mu.Unlock()
	_, _ = w.conn.RequestEntries(ctx, broker.SubjectPull(w.agentID), schemas.MustEncode(p), w.arrive)
}
