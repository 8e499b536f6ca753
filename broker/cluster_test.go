package broker_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// TestCluster is about what only replicas can do: lose their leader, and be in each other's way.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster takes seconds to elect a leader")
	}
	t.Parallel()
	c := brokertest.Cluster(t, 3)
	short := func(cfg *broker.Config) { cfg.TryTimeout = 500 * time.Millisecond }
	home := c.Connect(t).Ledger()
	raceOverLostLeaders(t, c, home, []*broker.Ledger{c.Connect(t, short).Ledger(), c.Connect(t, short).Ledger()})
	createOnce(t, []*broker.Bucket[broker.KeyRecord]{c.Connect(t).Keys(), c.Connect(t).Keys(), c.Connect(t).Keys()})
}

// raceOverLostLeaders has two racers for each step of many tasks, while leaders are killed and step down.
func raceOverLostLeaders(t *testing.T, c *brokertest.ClusterBroker, home *broker.Ledger, racers []*broker.Ledger) {
	t.Helper()
	var stop atomic.Bool
	var tasks sync.WaitGroup
	var count atomic.Int32
	for range 6 {
		tasks.Go(func() {
			for !stop.Load() && !t.Failed() {
				raceOne(t, home, racers)
				count.Add(1)
			}
		})
	}
	old := c.Leader("REACH")
	c.Kill(old)
	c.Leader("REACH")
	c.Restart(old)
	c.StepDown("REACH")
	seen := count.Load()
	brokertest.Eventually(t, "more races", func() bool { return count.Load() > seen+50 })
	stop.Store(true)
	tasks.Wait()
	t.Logf("%d tasks were raced for", count.Load())
}

// raceOne takes one task through its life, each step with two racers: one wins, and the ledger says the same.
func raceOne(t *testing.T, home *broker.Ledger, racers []*broker.Ledger) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	e, err := home.Write(ctx, queued())
	if err != nil {
		t.Errorf("submit: %v", err)
		return
	}
	for _, phase := range []schemas.Phase{schemas.PhaseAssigned, schemas.PhaseBegun, schemas.PhaseDone} {
		won := make([]broker.Entry, len(racers))
		lost := make([]error, len(racers))
		var race sync.WaitGroup
		for r, ledger := range racers {
			race.Go(func() { won[r], lost[r] = ledger.Write(ctx, after(e, phase, fmt.Sprintf("agent-%d", r))) })
		}
		race.Wait()
		winner := 0
		if lost[0] != nil {
			winner = 1
		}
		last, err := home.LastAtLeader(ctx, e.TaskID)
		if err != nil || lost[winner] != nil || lost[1-winner] == nil || last.Write != won[winner].Write {
			t.Errorf("%s of %s: the racers got %v, the ledger has %+v (%v)", phase, e.TaskID, lost, last, err)
			return
		}
		e = won[winner]
	}
}

// createOnce: of several who create a key at once one does, and the others hear that it exists.
func createOnce(t *testing.T, buckets []*broker.Bucket[broker.KeyRecord]) {
	t.Helper()
	for i := range 30 {
		var created atomic.Int32
		var race sync.WaitGroup
		for r, keys := range buckets {
			race.Go(func() {
				record := broker.KeyRecord{TaskID: fmt.Sprint(r)}
				if _, err := keys.Create(within(t, 20*time.Second), broker.IdempotencyKey("t", fmt.Sprint(i)), record, time.Hour); err == nil {
					created.Add(1)
				}
			})
		}
		race.Wait()
		if created.Load() != 1 {
			t.Errorf("key %d was created %d times", i, created.Load())
		}
	}
}
