//go:build unix

package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
)

// Ten tasks wait while the only worker is at work. Another one comes and gets its share of them: none lies with the first.
func TestTasksDoNotWaitInAWorkersOwnBuffer(t *testing.T) {
	t.Parallel()
	const tasks, long = 10, time.Second
	h := newHouse(t)
	h.startWorker(child("first", 1, "echo"))
	w, nc := newWitness(t, h.url), newNATSCaller(t, h.url)
	_, letGo := h.held()
	var orders []*order
	for n := range tasks {
		o := newOrder(fmt.Sprint("task ", n), "echo", fmt.Sprintf(`{"ms":%d,"gate":%q}`, long.Milliseconds(), h.file("go")))
		o.place(t.Context(), newRand(t), []caller{nc})
		orders = append(orders, o)
	}
	h.startWorker(child("second", 1, "echo"))
	brokertest.Eventually(t, "both are at work", func() bool { return len(readEffects(t, h.effects)) == 2 })
	start := time.Now()
	letGo()
	p := h.prove(w, orders)

	share := make(map[string]int)
	effects, last := readEffects(t, h.effects), start
	for _, e := range effects {
		share[e.agent]++
		if e.ended.After(last) {
			last = e.ended
		}
	}
	took := last.Sub(start)
	t.Logf("%v in %v", share, took.Round(10*time.Millisecond))
	if len(effects) != tasks || len(p.effects) != tasks {
		t.Errorf("%d executions of %d tasks", len(effects), len(p.effects))
	}
	if second := share["second"]; second < 3 || second > 7 {
		t.Errorf("the second worker had %d of %d", second, tasks)
	}
	if alone := tasks * long; took >= alone {
		t.Errorf("it took %v, as long as one worker takes alone", took)
	}
	for agent := range share {
		wantOneAtATime(t, agent, effects)
	}
}

// wantOneAtATime: no execution of an agent begins before the one before it has ended.
func wantOneAtATime(t *testing.T, agent string, effects []*effect) {
	t.Helper()
	own := slices.DeleteFunc(slices.Clone(effects), func(e *effect) bool { return e.agent != agent })
	slices.SortFunc(own, func(a, b *effect) int { return a.began.Compare(b.began) })
	for i := range own[1:] {
		if own[i+1].began.Before(own[i].ended) {
			t.Errorf("%s began a task %v before it had ended another", agent, own[i].ended.Sub(own[i+1].began))
		}
	}
}
