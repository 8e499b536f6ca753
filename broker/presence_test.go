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

func TestPresence(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	const beat, ttl = 50 * time.Millisecond, 300 * time.Millisecond
	join := func(c *broker.Conn, id string) *broker.Presence {
		p, err := c.Presence(id, beat, ttl)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a := join(b.Conn(t), "dispatcher-a")
	changes := make(chan []string, 100)
	a.OnChange(func(peers []string) { changes <- peers })
	if diff := cmp.Diff([]string{"dispatcher-a"}, a.Peers()); diff != "" {
		t.Errorf("alone (-want +got):\n%s", diff)
	}
	proxy := brokertest.Proxy(t, b.URL())
	silent := join(through(t, b, proxy), "dispatcher-b")
	wantPeers(t, changes, "dispatcher-a", "dispatcher-b")
	polite := join(b.Conn(t), "dispatcher-c")
	wantPeers(t, changes, "dispatcher-a", "dispatcher-b", "dispatcher-c")
	brokertest.Eventually(t, "the others to know as much", func() bool {
		return slices.Equal(silent.Peers(), a.Peers()) && slices.Equal(polite.Peers(), a.Peers())
	})

	polite.Close()
	begin := time.Now()
	wantPeers(t, changes, "dispatcher-a", "dispatcher-b")
	if took := time.Since(begin); took > ttl {
		t.Errorf("the goodbye took %s", took)
	}
	proxy.Pause()
	wantPeers(t, changes, "dispatcher-a")
	proxy.Resume()
	wantPeers(t, changes, "dispatcher-a", "dispatcher-b")
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
		p, err := b.Conn(t).Presence(id, 20*time.Millisecond, 400*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if id == "dispatcher-a" {
			p.OnChange(func(peers []string) { changes <- peers })
		}
	}
	wantPeers(t, changes, "dispatcher-a", "dispatcher-b")
	b.Stop()
	select {
	case peers := <-changes:
		t.Errorf("the peers became %v", peers)
	case <-time.After(time.Second): // longer than it takes to be out
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
