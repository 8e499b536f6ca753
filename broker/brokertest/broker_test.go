package brokertest

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestMain(m *testing.M) { Main(m) }

func TestAnOutageKeepsPortAndData(t *testing.T) {
	t.Parallel()
	b := New(t)
	mustStore(t, b.URL(), 1)

	b.Stop()
	b.Stop()
	if _, err := nats.Connect(b.URL()); err == nil {
		t.Fatal("a stopped broker answers")
	}
	if _, err := b.InProcessConn(); err == nil {
		t.Fatal("a stopped broker answers in process")
	}
	b.Start()
	b.Start()

	mustStore(t, b.URL(), 2)
}

func TestAnInProcessConnectionOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	b := New(t)
	nc, err := nats.Connect("", nats.InProcessServer(b), nats.ReconnectWait(time.Millisecond), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	b.Stop()
	b.Start()
	Eventually(t, "a reconnect", func() bool { return nc.Stats().Reconnects > 0 && nc.IsConnected() })
}

// mustStore publishes one message and expects it to be the want-th of its stream.
func mustStore(t *testing.T, url string, want uint64) {
	t.Helper()
	seq, err := store(t.Context(), dial(t, url), 1)
	if err != nil || seq != want {
		t.Fatalf("stored as %d, %v, want %d", seq, err, want)
	}
}

func dial(t *testing.T, url string, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url, append(opts, nats.ReconnectWait(10*time.Millisecond), nats.MaxReconnects(-1))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// store publishes one message, to a stream that it creates if need be.
func store(ctx context.Context, js jetstream.JetStream, replicas int) (uint64, error) {
	cfg := jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept"}, Replicas: replicas}
	if _, err := js.CreateOrUpdateStream(ctx, cfg); err != nil {
		return 0, err
	}
	ack, err := js.Publish(ctx, "kept", []byte("x"))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}
