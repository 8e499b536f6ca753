package brokertest_test

import (
	"testing"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/broker/brokertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnOutageKeepsPortAndData(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	url := b.URL()
	connect(t, url, func(js nats.JetStreamContext) {
		if _, err := js.AddStream(&nats.StreamConfig{Name: "KEPT", Subjects: []string{"kept"}}); err != nil {
			t.Fatal(err)
		}
	})

	b.Stop()
	b.Stop()
	if _, err := nats.Connect(url); err == nil {
		t.Fatal("a stopped broker answers")
	}
	b.Start()
	b.Start()

	connect(t, url, func(js nats.JetStreamContext) {
		if _, err := js.StreamInfo("KEPT"); err != nil {
			t.Fatalf("stream after the outage: %v", err)
		}
	})
}

func connect(t *testing.T, url string, fn func(nats.JetStreamContext)) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	fn(js)
}
