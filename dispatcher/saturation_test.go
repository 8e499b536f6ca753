package dispatcher_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// Three dispatchers share one queue that never empties until the end, and one of them is cut off in the middle: what was its to look
// after, the others do.
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

	const agents, tasks = 8, 300
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
	ended := map[string]bool{}
	over, end := context.WithTimeout(t.Context(), 2*patience)
	defer end()
	for _, w := range workers {
		all.Go(func() {
			for a := range w.work(over, "echo") {
				w.finishEventually(w.result(a, schemas.StateCompleted))
				mu.Lock()
				ended[a.message.TaskID] = true
				switch len(ended) {
				case tasks / 3:
					proxy.Pause() // the victim is gone: its connection ends, and no new one carries anything
					proxy.Cut()
				case tasks:
					end()
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
	for _, id := range ids {
		if !ended[id] {
			t.Fatalf("task %s never ran: %+v", id, h.task(id))
		}
	}
}

// work gives assignments one after the other, by pull and feed, until it is over.
func (w *scripted) work(over context.Context, capability string) func(func(assignment) bool) {
	return func(yield func(assignment) bool) {
		for over.Err() == nil {
			select {
			case e := <-w.arrived:
				if a := w.read(e); w.isNew(a) && !yield(a) {
					return
				}
				continue
			default:
			}
			w.pullQuietly(capability)
			if len(w.arrived) == 0 {
				pauseUntil(over, time.Now().Add(20*time.Millisecond))
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
