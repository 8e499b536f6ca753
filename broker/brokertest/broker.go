// Package brokertest gives each test a real broker of its own and ways to hurt it. The same server that ships runs inside
// the test (New), or in child processes that can be killed as a machine would lose them (Child, Cluster).
package brokertest

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker/embedded"
)

// patience bounds every wait of this package; a healthy machine needs a fraction of it.
const patience = 30 * time.Second

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
	b := &Broker{t: t, cfg: embedded.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Logger: zerolog.Nop()}}
	for _, opt := range opts {
		opt(&b.cfg)
	}
	b.Start()
	b.url = b.server.URL()
	b.cfg.Listen = strings.TrimPrefix(b.url, "nats://")
	t.Cleanup(b.Stop)
	return b
}

// URL of the server; the same before and after an outage.
func (b *Broker) URL() string { return b.url }

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
	server, err := startPatiently(b.cfg)
	if err != nil {
		b.t.Fatalf("start broker: %v", err)
	}
	b.server = server
}

// startPatiently tries again while the port is taken: in an outage a passing connection of another test may have been
// given it by the kernel.
func startPatiently(cfg embedded.Config) (*embedded.Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		server, err := embedded.Start(ctx, cfg)
		if !errors.Is(err, syscall.EADDRINUSE) || !pause(ctx) {
			return server, err
		}
	}
}

// pause waits one step of a polling loop; false when the time is up.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(20 * time.Millisecond):
		return true
	}
}
