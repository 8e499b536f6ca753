//go:build unix

package integration

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// clusterFaults are what can happen to one of several brokers.
func (s *stage) clusterFaults() []fault {
	node := func(hurt, heal func(int)) func(*rand.Rand) func() {
		return func(r *rand.Rand) func() {
			i := r.IntN(len(s.cluster.URLs()))
			hurt(i)
			return func() { heal(i) }
		}
	}
	return []fault{
		{"a node is killed", 3, node(s.cluster.Kill, s.cluster.Restart)},
		{"a node is frozen", 2, s.freezingNode},
		{"a node is isolated", 4, node(s.cluster.Isolate, s.cluster.Join)},
		{"the ledger's leader hands over", 3, s.movingLeader},
		{"all nodes are restarted, one by one", 1, s.rolling},
	}
}

// freezingNode freezes a node that lives; of one that another fault has killed nothing is left to freeze.
func (s *stage) freezingNode(r *rand.Rand) func() {
	i := r.IntN(len(s.cluster.URLs()))
	if !s.cluster.Lives(i) {
		return func() {}
	}
	s.cluster.Stop(i)
	return func() {
		if s.cluster.Lives(i) {
			s.cluster.Continue(i)
		}
	}
}

// movingLeader asks the leader to step down. Whether there is one, and whether it answers, is left to what else happens.
func (s *stage) movingLeader(*rand.Rand) func() {
	nc, err := nats.Connect(s.url, nats.Timeout(time.Second))
	if err != nil {
		return func() {}
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = nc.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN.REACH", nil)
	return func() {}
}

// rolling restarts each node as soon as the one before is ready, which is before it has caught up.
func (s *stage) rolling(*rand.Rand) func() {
	for i := range s.cluster.URLs() {
		s.cluster.Restart(i)
	}
	return func() {}
}

// TestAClusterIsHurtUnderLoad hurts three brokers one way after the other, each time until all is well again: the leader of the ledger is
// killed, is cut off from the others, freezes for longer than anybody waits, and hands over; then all are restarted in turn.
func TestAClusterIsHurtUnderLoad(t *testing.T) {
	r := newRand(t)
	s := newStage(t, r, 3)
	w := newWitness(t, s.url)
	c := s.openDoors(r, 2*time.Minute)
	for _, hurt := range []struct {
		name         string
		strike, heal func(int)
		hold         time.Duration
	}{
		{"killed", s.cluster.Kill, s.cluster.Restart, time.Second},
		{"isolated", s.cluster.Isolate, s.cluster.Join, 3 * time.Second},
		{"frozen", s.cluster.Stop, s.cluster.Continue, 8 * time.Second},
		{"relieved", func(int) { s.cluster.StepDown("REACH") }, func(int) {}, 0},
	} {
		leader := s.cluster.Leader("REACH")
		hurt.strike(leader)
		pause(t.Context(), hurt.hold)
		hurt.heal(leader)
		s.cluster.InSync("REACH")
		t.Logf("node %d was %s", leader, hurt.name)
	}
	for node := range s.cluster.URLs() {
		s.cluster.Restart(node)
		s.cluster.InSync("REACH")
	}
	p := s.prove(w, c.close())
	c.calledBack(p)
	c.history.fits(p)
	p.again()
	s.noSlotIsLost()
	t.Log(c.history)
}
