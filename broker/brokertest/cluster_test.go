package brokertest

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func TestAClusterOutlivesOneOfItsNodes(t *testing.T) {
	t.Parallel()
	c := Cluster(t, 3)
	stored := &writer{t: t, cluster: c}
	stored.write()

	t.Run("the leader killed", func(t *testing.T) {
		leader := c.Leader("KEPT")
		c.Kill(leader)
		stored.write()
		c.Restart(leader)
		c.InSync("KEPT")
	})
	t.Run("the leader stepped down", func(t *testing.T) {
		c.StepDown("KEPT") // returns when another has led: a busy machine may elect again, and anybody
		stored.write()
	})
	t.Run("a follower frozen", func(t *testing.T) {
		follower := (c.Leader("KEPT") + 1) % len(c.URLs())
		c.Stop(follower)
		stored.write()
		c.Continue(follower)
		c.InSync("KEPT")
	})
	if len(c.URLs()) != 3 {
		t.Errorf("got %d addresses", len(c.URLs()))
	}
}

// writer stores message after message and sees that none is lost.
type writer struct {
	t       *testing.T
	cluster *ClusterBroker
	last    uint64
}

// write tries until a node has stored the message. A try whose answer was lost may have stored it too.
func (w *writer) write() {
	w.t.Helper()
	w.cluster.ask("a stored message", func(ctx context.Context, js jetstream.JetStream) bool {
		seq, err := store(ctx, js, len(w.cluster.nodes))
		if err != nil {
			return false
		}
		if seq <= w.last {
			w.t.Errorf("stored as %d after %d", seq, w.last)
		}
		w.last = seq
		return true
	})
}

func TestAnIsolatedLeaderStoresNothingAndComesBack(t *testing.T) {
	t.Parallel()
	c := SeparableCluster(t, 3)
	stored := &writer{t: t, cluster: c}
	stored.write()
	leader := c.Leader("KEPT")
	c.Isolate(leader)
	alone := dial(t, c.URLs()[leader])
	ctx, cancel := context.WithTimeout(t.Context(), askTimeout)
	defer cancel()
	if ack, err := alone.Publish(ctx, "kept", []byte("nobody is to have this")); err == nil {
		t.Errorf("a leader without followers has stored message %d", ack.Sequence)
	}
	stored.write()
	Eventually(t, "the node that nobody of the others hears leads no longer", func() bool { return c.Leader("KEPT") != leader })
	c.Join(leader)
	stored.write()
	c.InSync("KEPT")
}
