//go:build unix

package integration

import (
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

func TestTheBrokerIsAwayForThreeSecondsUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	h := newHouseApart(t, 2)
	h.startWorker(child("stats", 4, "echo", "text_stats"), h.startHTTPAgent("tests", 4, "echo", "test_run"))
	w := newWitness(t, h.url)
	load := startLoad(h, r, busy())
	pause(t.Context(), time.Second)
	h.broker.kill()
	pause(t.Context(), 3*time.Second)
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
