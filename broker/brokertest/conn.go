package brokertest

import (
	"context"
	"hash/fnv"
	"os"
	"strconv"
	"testing"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
)

// DisturbVariable is an environment variable with a share, say 0.01: the feed of every connection made by this package is
// then Disturbed that much, unless its test does so itself. Every test must pass with it.
const DisturbVariable = "REACH_BROKERTEST_DISTURB"

// Conn is a connection whose streams and buckets are set up. It ends with the test.
func (b *Broker) Conn(t testing.TB) *broker.Conn {
	t.Helper()
	return b.Connect(t)
}

// Connect is Conn with a configuration that the test changes.
func (b *Broker) Connect(t testing.TB, change ...func(*broker.Config)) *broker.Conn {
	t.Helper()
	cfg := broker.Config{URL: b.URL()}
	if cfg.URL == "" {
		cfg.Embedded = b
	}
	return connect(t, cfg, change)
}

// Connect is a connection to the child whose streams and buckets are set up. It ends with the test.
func (p *Process) Connect(t testing.TB, change ...func(*broker.Config)) *broker.Conn {
	t.Helper()
	return connect(t, broker.Config{URL: p.URL()}, change)
}

// Connect is a connection to any of the nodes, whose streams and buckets are set up on all of them. It ends with the test.
func (c *ClusterBroker) Connect(t testing.TB, change ...func(*broker.Config)) *broker.Conn {
	t.Helper()
	return connect(t, broker.Config{URL: c.URL(), Replicas: len(c.nodes)}, change)
}

func connect(t testing.TB, cfg broker.Config, change []func(*broker.Config)) *broker.Conn {
	t.Helper()
	cfg.Name, cfg.Logger = t.Name(), zerolog.Nop()
	for _, fn := range change {
		fn(&cfg)
	}
	if cfg.Disturb == nil {
		cfg.Disturb = disturbedByVariable(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := broker.Connect(ctx, cfg)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(conn.Close)
	if err := conn.Setup(ctx); err != nil {
		t.Fatalf("set up streams and buckets: %v", err)
	}
	return conn
}

func disturbedByVariable(t testing.TB) func(func(broker.Entry)) func(broker.Entry) {
	t.Helper()
	text := os.Getenv(DisturbVariable)
	if text == "" {
		return nil
	}
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("read %s: %v", DisturbVariable, err)
	}
	return Disturbed(seedOf(t.Name()), rate)
}

// seedOf disturbs a test the same way each time.
func seedOf(name string) int64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name))
	return int64(hash.Sum64())
}
