package broker_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func join(t *testing.T, c *broker.Conn, id string, ttl time.Duration) *broker.Presence {
	t.Helper()
	p, err := c.Presence(id, 20*time.Millisecond, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPresence(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	const ttl = time.Hour // whoever leaves is out by its word
	a := join(t, b.Conn(t), "dispatcher-a", ttl)
	changes := make(chan []string, 100)
	a.OnChange(func(peers []string) { changes <- peers })
	wantPeers(t, changes, "dispatcher-a")
	other := join(t, b.Conn(t), "dispatcher-b", ttl)
	wantPeers(t, changes, "dispatcher-a", "dispatcher-b")
	polite := join(t, b.Conn(t), "dispatcher-c", ttl)
	wantPeers(t, changes, "dispatcher-a", "dispatcher-b", "dispatcher-c")
	brokertest.Eventually(t, "the others to know as much", func() bool {
		return slices.Equal(other.Peers(), a.Peers()) && slices.Equal(polite.Peers(), a.Peers())
	})
	polite.Close()
	wantPeers(t, changes, "dispatcher-a", "dispatcher-b")
}

func TestPresenceOfASilentOne(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	const ttl = 300 * time.Millisecond
	a := join(t, b.Conn(t), "dispatcher-a", ttl)
	knows := func(want ...string) func() bool { return func() bool { return slices.Equal(a.Peers(), want) } }
	proxy := brokertest.Proxy(t, b.URL())
	join(t, through(t, b, proxy), "dispatcher-b", ttl)
	brokertest.Eventually(t, "both to be there", knows("dispatcher-a", "dispatcher-b"))
	proxy.Pause()
	brokertest.Eventually(t, "the silent one to be out", knows("dispatcher-a"))
	proxy.Resume()
	brokertest.Eventually(t, "both to be there again", knows("dispatcher-a", "dispatcher-b"))
}

func wantPeers(t *testing.T, changes <-chan []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, receive(t, "the peers to change", changes)); diff != "" {
		t.Fatalf("peers (-want +got):\n%s", diff)
	}
}

// TestPresenceJudgesNobodyWhileItIsDeaf: an outage of the broker is not the death of everybody else.
func TestPresenceJudgesNobodyWhileItIsDeaf(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	changes := make(chan []string, 100)
	for _, id := range []string{"dispatcher-a", "dispatcher-b"} {
		p, err := b.Conn(t).Presence(id, 20*time.Millisecond, 800*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if id == "dispatcher-a" {
			p.OnChange(func(peers []string) { changes <- peers })
		}
	}
	wantPeers(t, changes, "dispatcher-a")
	wantPeers(t, changes, "dispatcher-a", "dispatcher-b")
	b.Stop()
	select {
	case peers := <-changes:
		t.Errorf("the peers became %v", peers)
	case <-time.After(1500 * time.Millisecond): // longer than it takes to be out
	}
	b.Start()
}

func TestPresenceRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	_, err := conn.Presence("a.b", 0, 0)
	wantCode(t, err, schemas.InvalidArgument, schemas.ReasonBadName)
	if _, err := conn.Presence("a", time.Second, time.Second); err == nil {
		t.Error("a beat as long as the time to live is accepted")
	}
}
