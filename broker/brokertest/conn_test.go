package brokertest

import (
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/embedded"
	"github.com/agentreach/agent-reach/schemas"
)

func TestEveryBrokerCanBeConnectedTo(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		connect func(t *testing.T) *broker.Conn
	}{
		{"inside the test", func(t *testing.T) *broker.Conn { return New(t).Conn(t) }},
		{"without a port", func(t *testing.T) *broker.Conn { return New(t, noPort).Conn(t) }},
		{"in a child process", func(t *testing.T) *broker.Conn { return Child(t).Connect(t) }},
		{"of three nodes", func(t *testing.T) *broker.Conn { return Cluster(t, 3).Connect(t) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			conn := tt.connect(t)
			if _, err := conn.Ledger().State(t.Context()); err != nil {
				t.Errorf("ask for the ledger: %v", err)
			}
		})
	}
}

func noPort(cfg *embedded.Config) { cfg.Listen = "" }

func TestTheVariableDisturbsTheFeed(t *testing.T) {
	t.Setenv(DisturbVariable, "1")
	const events = 50
	want := disturbedSequence(seedOf(t.Name()), 1, events)

	conn := New(t).Conn(t)
	heard := make(chan int, 2*events)
	following, err := conn.Ledger().Follow(func(e broker.Entry) { heard <- int(e.Sequence) - 1 })
	if err != nil {
		t.Fatal(err)
	}
	defer following.Close()
	if err := conn.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range events {
		mustWrite(t, conn)
	}
	Eventually(t, "what such a feed lets through", func() bool { return len(heard) == len(want) })
	for i, event := range want {
		if got := <-heard; got != event {
			t.Errorf("event %d came as number %d, want event %d", got, i, event)
		}
	}
}

func TestATestMayChooseItsOwnDisturbance(t *testing.T) {
	t.Setenv(DisturbVariable, "1")
	conn := New(t).Connect(t, func(cfg *broker.Config) { cfg.Disturb = Disturbed(1, 0) })
	heard := make(chan broker.Entry, 1)
	following, err := conn.Ledger().Follow(func(e broker.Entry) { heard <- e })
	if err != nil {
		t.Fatal(err)
	}
	defer following.Close()
	if err := conn.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	wrote := mustWrite(t, conn)
	select {
	case e := <-heard:
		if e.TaskID != wrote.TaskID {
			t.Errorf("heard of %s, want %s", e.TaskID, wrote.TaskID)
		}
	case <-time.After(patience):
		t.Error("nothing was heard")
	}
}

func mustWrite(t *testing.T, conn *broker.Conn) broker.Entry {
	t.Helper()
	e, err := conn.Ledger().Write(t.Context(), broker.Entry{
		TaskID: schemas.NewTaskID(), Phase: schemas.PhaseQueued, Capability: "summarize", Agent: schemas.NoAgent, TTL: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
