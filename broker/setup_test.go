package broker_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
)

// bare is a connection without Setup, and the plain client beside it.
func bare(t *testing.T, b *brokertest.Broker) (*broker.Conn, jetstream.JetStream) {
	t.Helper()
	conn, err := broker.Connect(within(t, time.Minute), broker.Config{URL: b.URL(), Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn, plain(t, b.URL())
}

// plain is a NATS client that knows nothing of the house.
func plain(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
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

func TestSetupTwice(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	write(t, b.Conn(t).Ledger(), queued())
	again := b.Conn(t)
	if state, err := again.Ledger().State(t.Context()); err != nil || state.Messages != 1 {
		t.Errorf("after the second Setup the ledger has %+v (%v)", state, err)
	}
}

func TestSetupByManyAtOnce(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	var all sync.WaitGroup
	for range 6 {
		conn, _ := bare(t, b)
		all.Go(func() {
			if err := conn.Setup(within(t, 20*time.Second)); err != nil {
				t.Errorf("set up: %v", err)
			}
		})
	}
	all.Wait()
}

func TestSetupRefusesAStreamThatIsNoLedger(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		spoil  func(*jetstream.StreamConfig)
		remedy string
	}{
		{"schedules", func(s *jetstream.StreamConfig) {
			s.AllowMsgSchedules, s.Discard = true, jetstream.DiscardOld
		}, "schedules"},
		{"roll-ups", func(s *jetstream.StreamConfig) { s.AllowRollup = true }, "roll-ups"},
		{"a maximum age", func(s *jetstream.StreamConfig) { s.MaxAge = time.Hour }, "maximum age"},
		{"a limit that discards old messages", func(s *jetstream.StreamConfig) {
			s.MaxMsgs, s.Discard = 10, jetstream.DiscardOld
		}, "number of messages"},
		{"a limit that discards old bytes", func(s *jetstream.StreamConfig) {
			s.MaxBytes, s.Discard = 1<<20, jetstream.DiscardOld
		}, "number of bytes"},
		{"more than one message per subject", func(s *jetstream.StreamConfig) { s.MaxMsgsPerSubject = 5 }, "one message per subject"},
		{"no feed", func(s *jetstream.StreamConfig) { s.RePublish = nil }, "republish"},
		{"another feed", func(s *jetstream.StreamConfig) {
			s.RePublish.Source = "reach.task.>"
			s.RePublish.Destination = "elsewhere.>"
		}, "republish"},
		{"no time to live", func(s *jetstream.StreamConfig) { s.AllowMsgTTL = false }, "time to live"},
		{"no direct get", func(s *jetstream.StreamConfig) { s.AllowDirect = false }, "direct get"},
		{"memory", func(s *jetstream.StreamConfig) { s.Storage = jetstream.MemoryStorage }, "memory"},
		{"work queue retention", func(s *jetstream.StreamConfig) { s.Retention = jetstream.WorkQueuePolicy }, "retention"},
		{"more subjects", func(s *jetstream.StreamConfig) { s.Subjects = append(s.Subjects, "more.>") }, "subjects"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := brokertest.New(t)
			conn, js := bare(t, b)
			if err := conn.Setup(within(t, time.Minute)); err != nil {
				t.Fatal(err)
			}
			stream, err := js.Stream(t.Context(), "REACH")
			if err != nil {
				t.Fatal(err)
			}
			cfg := stream.CachedInfo().Config
			if err := js.DeleteStream(t.Context(), "REACH"); err != nil {
				t.Fatal(err)
			}
			tt.spoil(&cfg)
			if _, err := js.CreateStream(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			err = conn.Setup(within(t, time.Minute))
			if err == nil || !strings.Contains(err.Error(), tt.remedy) {
				t.Errorf("got %v, want an error that names %q", err, tt.remedy)
			}
		})
	}
}

func TestSetupRefusesABucketThatForgets(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn, js := bare(t, b)
	cfg := jetstream.KeyValueConfig{Bucket: "REACH_AGENTS", History: 5, TTL: time.Hour}
	if _, err := js.CreateKeyValue(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	err := conn.Setup(within(t, time.Minute))
	for _, remedy := range []string{"KV_REACH_AGENTS", "all keys", "history of 1", "marker"} {
		if err == nil || !strings.Contains(err.Error(), remedy) {
			t.Errorf("got %v, want an error that names %q", err, remedy)
		}
	}
}

func TestSetupWaitsUntilTheBrokerIsThere(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn, _ := bare(t, b)
	b.Stop()
	done := make(chan error, 1)
	ctx := within(t, 20*time.Second)
	go func() { done <- conn.Setup(ctx) }()
	b.Start()
	if err := receive(t, "Setup", done); err != nil {
		t.Error(err)
	}
}

func TestSetupGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn, _ := bare(t, b)
	b.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := conn.Setup(ctx); err == nil || !strings.Contains(err.Error(), "not ready") {
		t.Errorf("got %v", err)
	}
}

func TestReplicasNeedServers(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn, err := broker.Connect(within(t, time.Minute), broker.Config{URL: b.URL(), Replicas: 3, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	begin := time.Now()
	if err := conn.Setup(within(t, time.Minute)); err == nil || !strings.Contains(err.Error(), "replicas") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}
