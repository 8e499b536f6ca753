package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker/internal/freeport"
)

var _ nats.InProcessConnProvider = (*Server)(nil)

const patience = 20 * time.Second

func TestAServerWithoutPortIsHeardInThisProcess(t *testing.T) {
	t.Parallel()
	s := mustStart(t, Config{Dir: t.TempDir()})
	if s.URL() != "" || s.RouteAddress() != "" {
		t.Errorf("it has an address: %q, %q", s.URL(), s.RouteAddress())
	}
	js := connect(t, "", nats.InProcessServer(s))
	mustStore(t, js, 1)
}

func TestAStoppedServerLeavesEverythingToTheNext(t *testing.T) {
	t.Parallel()
	cfg := Config{Dir: t.TempDir(), Listen: freeport.Address(t)}
	first := mustStart(t, cfg)
	mustStore(t, connect(t, first.URL()), 1)
	closeTwice(first)

	second := mustStart(t, cfg)
	if second.URL() != first.URL() {
		t.Errorf("second server is at %s, want %s", second.URL(), first.URL())
	}
	mustStore(t, connect(t, second.URL()), 2)
}

func closeTwice(s *Server) {
	var both sync.WaitGroup
	both.Go(s.Close)
	both.Go(s.Close)
	both.Wait()
}

func TestADirectoryHasOneServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustStart(t, Config{Dir: dir})
	_, err := Start(t.Context(), Config{Dir: dir})
	for _, part := range []string{dir, "in use by process", "choose another directory"} {
		if !strings.Contains(errorText(err), part) {
			t.Errorf("error %q does not say %q", errorText(err), part)
		}
	}
}

func TestATakenPortIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	tests := []struct {
		name string
		cfg  Config
	}{
		{"of clients", Config{Listen: address}},
		{"of MQTT clients", Config{MQTT: address}},
		{"of routes", Config{
			Listen: "127.0.0.1:0", ServerName: "a",
			Cluster: Cluster{Name: "c", Listen: address, Routes: []string{"127.0.0.1:1"}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := tt.cfg
			cfg.Dir = t.TempDir()
			began := time.Now()
			_, err := Start(t.Context(), cfg)
			if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), address) {
				t.Errorf("got error %v, want one that names %s", err, address)
			}
			if took := time.Since(began); took > patience {
				t.Errorf("it took %s", took)
			}
			mustStart(t, Config{Dir: cfg.Dir})
		})
	}
}

func TestAStartCanBeCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if _, err := Start(ctx, Config{Dir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
	mustStart(t, Config{Dir: dir})
}

func TestADirectoryThatCannotBeIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := Start(t.Context(), Config{Dir: "/dev/null/data"}); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("got error %v, want %v", err, syscall.ENOTDIR)
	}
}

func TestLimitsAndLogs(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	cfg := Config{Dir: t.TempDir(), MaxStore: 1 << 60, Logger: zerolog.New(&log)}
	s := mustStart(t, cfg)
	js := connect(t, "", nats.InProcessServer(s))
	limits := s.running.Load().JetStreamConfig()
	if limits.MaxMemory != DefaultMaxMemory || limits.MaxStore >= 1<<60 || limits.SyncInterval != DefaultSyncInterval {
		t.Errorf("got limits %+v", limits)
	}
	if info, err := js.AccountInfo(t.Context()); err != nil || info.Limits.MaxConsumers > 0 {
		t.Errorf("got account %+v, %v, want one without a limit of consumers", info, err)
	}
	for _, part := range []string{"bounded by free disk", "Starting nats-server", `"component":"nats-server"`} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("log does not say %q: %s", part, log.String())
		}
	}
}

func TestThreeServersReplicate(t *testing.T) {
	t.Parallel()
	routes := freeAddresses(t, 3)
	var urls []string
	for i, route := range routes {
		s := mustStart(t, Config{
			Dir: t.TempDir(), Listen: "127.0.0.1:0", ServerName: fmt.Sprintf("node-%d", i), SyncAlways: true,
			Cluster: Cluster{Name: "c", Listen: route, Routes: routes, User: "reach", Password: "secret"},
		})
		if s.RouteAddress() != route {
			t.Errorf("routes come to %s, want %s", s.RouteAddress(), route)
		}
		urls = append(urls, s.URL())
	}
	js := connect(t, strings.Join(urls, ","))
	deadline := time.Now().Add(patience)
	for {
		err := createReplicated(t.Context(), js, len(routes))
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no replicated stream: %v", err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// createReplicated asks once. While there is no leader nobody answers.
func createReplicated(ctx context.Context, js jetstream.JetStream, replicas int) error {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "REPLICATED", Subjects: []string{"replicated"}, Replicas: replicas})
	return err
}

func TestClientURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"10.1.2.3:4222": "nats://10.1.2.3:4222",
		"0.0.0.0:4222":  "nats://127.0.0.1:4222",
		"[::]:4222":     "nats://127.0.0.1:4222",
		"[::1]:4222":    "nats://[::1]:4222",
	} {
		addr, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if got := clientURL(addr); got != want {
			t.Errorf("clientURL(%s) = %s, want %s", address, got, want)
		}
	}
}

func mustStart(t *testing.T, cfg Config) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// freeAddresses are n loopback addresses where nobody listens.
func freeAddresses(t *testing.T, n int) (addresses []string) {
	t.Helper()
	for range n {
		addresses = append(addresses, freeport.Address(t))
	}
	return addresses
}

func connect(t *testing.T, url string, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url, opts...)
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

// mustStore publishes one message and expects it to be the want-th of its stream.
func mustStore(t *testing.T, js jetstream.JetStream, want uint64) {
	t.Helper()
	ctx := t.Context()
	if _, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	ack, err := js.Publish(ctx, "s", nil)
	if err != nil || ack.Sequence != want {
		t.Fatalf("got %+v, %v, want sequence %d", ack, err, want)
	}
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
