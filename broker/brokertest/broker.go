// Package brokertest gives each test a real broker of its own and ways to hurt it. The same server that ships runs inside
// the test (New), or in child processes that can be killed and frozen as a machine would be (Child, Cluster). Proxy stands
// between a client and its broker and loses what a network loses; Disturbed does the same to the feed.
//
// Everything ends with the test it was made for. A failure to hurt as told fails the test.
package brokertest

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker/embedded"
)

// Option changes the server's configuration before it starts.
type Option func(*embedded.Config)

// Broker is a server inside the test. Its methods may be called from any goroutine of the test.
type Broker struct {
	t   testing.TB
	cfg embedded.Config
	url string

	mu     sync.Mutex
	server *embedded.Server // nil while stopped
}

// New starts a fresh server on a random port, with an empty directory. It ends with the test.
func New(t testing.TB, opts ...Option) *Broker {
	t.Helper()
	b := &Broker{t: t, cfg: freshConfig(t, opts)}
	b.Start()
	b.url = b.server.URL()
	t.Cleanup(b.Stop)
	return b
}

// rarely is how often a test's server syncs its files. Only the death of the machine could tell the difference, and
// nats-server 2.15.2 starts its sync timer in a data race with the creation of the stream.
const rarely = time.Hour

func freshConfig(t testing.TB, opts []Option) embedded.Config {
	t.Helper()
	cfg := embedded.Config{Dir: t.TempDir(), Listen: FreeAddress(t), Logger: zerolog.Nop(), SyncInterval: rarely}
	for _, opt := range opts {
		opt(&cfg)
	}
	return cfg
}

// URL of the server; the same before and after an outage.
func (b *Broker) URL() string { return b.url }

// MQTT is the address of the MQTT listener, host:port, of a broker that was made WithMQTT; the same before and after an outage.
func (b *Broker) MQTT() string { return b.cfg.MQTT }

// WithMQTT gives the server an MQTT listener.
func WithMQTT(t testing.TB) Option {
	return func(cfg *embedded.Config) { cfg.MQTT = FreeAddress(t) }
}

// InProcessConn makes a Broker a nats.InProcessConnProvider that outlives an outage.
func (b *Broker) InProcessConn() (net.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server == nil {
		return nil, errors.New("broker is stopped")
	}
	return b.server.InProcessConn()
}

// Stop begins an outage: the server ends properly and its clients lose their connections. Stopping twice does nothing.
func (b *Broker) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server == nil {
		return
	}
	b.server.Close()
	b.server = nil
}

// Start ends an outage: a server on the same port, with the same directory. Starting twice does nothing.
func (b *Broker) Start() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server, err := startPatiently(ctx, b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.server = server
}

// startPatiently tries again while the port is taken, by connections of the outage that have not ended yet.
func startPatiently(ctx context.Context, cfg embedded.Config) (*embedded.Server, error) {
	for {
		server, err := embedded.Start(ctx, cfg)
		if !errors.Is(err, syscall.EADDRINUSE) || !pause(ctx) {
			return server, err
		}
	}
}
