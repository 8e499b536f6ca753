//go:build unix

package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
)

// disconnectGrace is what a worker has to come back, where nothing else is configured.
const disconnectGrace = 5 * time.Second

// Though a worker says little by itself, and its silence would be noticed later: what it was running when it was killed runs elsewhere
// soon after the grace, since nobody answers for it any more.
func TestAKilledWorkersTaskRunsElsewhereSoonAfterTheGrace(t *testing.T) {
	t.Parallel()
	h := emptyHouse(t)
	const ttl = 2 * disconnectGrace
	h.write("reach.yaml", fmt.Sprintf("broker: {sync_interval: 20s}\nregistry: {heartbeat_interval: 4s, heartbeat_ttl: %v, receipt_interval: 15s}\nlog: {format: json}\n", ttl))
	h.apart(1)
	judging := time.Now().Add(ttl)
	s := at(t, h, h.worker(child("first", 1, "echo")), "echo", `{"ms":60000}`)
	h.startWorker(child("second", 1, "echo"))
	pause(t.Context(), time.Until(judging)) // before, nobody is judged
	killed := time.Now()
	s.victim.kill()
	brokertest.Eventually(t, "the second execution", func() bool { return s.executions() == 2 })
	for _, e := range readEffects(t, h.effects) {
		took := e.began.Sub(killed)
		if e.agent != "second" {
			continue
		}
		t.Logf("it began elsewhere after %v", took)
		if took < 0 || took >= ttl-time.Second { // by then, it might have been missed
			t.Error("that is not when nobody answers for it any more")
		}
	}
}
