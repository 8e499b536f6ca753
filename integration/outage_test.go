//go:build unix

package integration

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

var outage = flag.Duration("outage", 3*time.Second, "how long the broker is away under load")

func TestTheBrokerIsAwayUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	h := newHouseApart(t, 2)
	h.startWorker(child("stats", 4, "echo", "text_stats"), h.startHTTPAgent("tests", 4, "echo", "test_run"))
	w := newWitness(t, h.url)
	load := startLoad(h, r, busy())
	pause(t.Context(), time.Second)
	h.broker.kill()
	pause(t.Context(), *outage)
	h.startBroker()
	pause(t.Context(), time.Second)
	p := h.prove(w, load.stop())
	p.again()
	for id, task := range p.ended { // the agents and their workers have lived all the time
		if task.State != schemas.StateCompleted || p.effects[id] != 1 {
			t.Errorf("task %s is %s after %d executions: %s", id, task.State, p.effects[id], p.story(id))
		}
	}
}

// Nobody is told of a task while there is nowhere to keep it. What is said instead may be tried again, by every front, and what comes of
// the repeats with one msg_id is one task.
func TestASubmitWhileTheBrokerIsAwayIsRefusedAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	h := newHouseApart(t, 1)
	h.startWorker(child("stats", 4, "echo"))
	sdk, web := newSDKCaller(t, h.url), newHTTPCaller(t, h.fronts[0])
	cli := &cliCaller{filepath.Join(h.bin, "reach"), h.url}
	o := newOrder("away", "echo", `{"text":"a"}`)
	h.broker.kill()
	fronts := []struct {
		way  caller
		most time.Duration
	}{{sdk, 3 * time.Second}, {web, patience}, {cli, patience}} // the SDK repeats itself for as long as it may
	together(len(fronts), func(n int) {
		ctx, cancel := context.WithTimeout(t.Context(), fronts[n].most)
		defer cancel()
		task, err := fronts[n].way.submit(ctx, o.message)
		var refused *schemas.Error
		if !errors.As(err, &refused) || refused.Code != schemas.Unavailable || !refused.Retryable {
			t.Errorf("front %d: got %+v, %v", n, task, err)
		}
	})
	if status := web.status(t, "/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("/readyz says %d", status)
	}
	h.startBroker()
	w, r := newWitness(t, h.url), newRand(t)
	for _, way := range []caller{web, sdk, cli} {
		o.place(t.Context(), r, []caller{way})
	}
	h.prove(w, []*order{o})
}
