package brokertest

import (
	"net"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
)

// Leafed is a hub that keeps everything, and a leaf node before it, as in a network into which nobody can connect. A client of the leaf
// sees no disconnect when the hub goes; it does not reach the hub's JetStream, which only dispatchers need.
type Leafed struct {
	t         testing.TB
	options   server.Options // of the hub
	hub, leaf *server.Server
}

// Leaf starts a hub and a leaf node. They end with the test.
func Leaf(t testing.TB) *Leafed {
	t.Helper()
	l := &Leafed{t: t}
	clients, leaves := hostPort(t), hostPort(t)
	l.options = server.Options{
		ServerName: "hub", Host: clients.host, Port: clients.port, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		SyncInterval: rarely, LeafNode: server.LeafNodeOpts{Host: leaves.host, Port: leaves.port},
	}
	l.hub = l.run(l.options)
	remote := &server.RemoteLeafOpts{URLs: []*url.URL{{Scheme: "nats", Host: leaves.String()}}}
	l.leaf = l.run(server.Options{
		ServerName: "leaf", Host: clients.host, Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		LeafNode: server.LeafNodeOpts{ReconnectInterval: 100 * time.Millisecond, Remotes: []*server.RemoteLeafOpts{remote}},
	})
	t.Cleanup(func() {
		for _, one := range []*server.Server{l.leaf, l.hub} {
			one.Shutdown()
			one.WaitForShutdown()
		}
	})
	l.joined()
	return l
}

// RestartHub ends the hub, waits, starts it again on the same data, and returns when the leaf has found it.
func (l *Leafed) RestartHub(after time.Duration) {
	l.t.Helper()
	l.hub.Shutdown()
	l.hub.WaitForShutdown()
	time.Sleep(after)
	l.hub = l.run(l.options)
	l.joined()
}

// Conn is a connection to the leaf.
func (l *Leafed) Conn(t testing.TB) *broker.Conn {
	t.Helper()
	conn, err := broker.Connect(t.Context(), broker.Config{URL: l.leaf.ClientURL(), Name: t.Name(), Logger: zerolog.Nop()})
	if err != nil {
		t.Fatalf("connect to the leaf: %v", err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// HubConn is a connection to the hub, with streams and buckets set up.
func (l *Leafed) HubConn(t testing.TB) *broker.Conn {
	t.Helper()
	return connect(t, broker.Config{URL: l.hub.ClientURL()}, nil)
}

func (l *Leafed) run(options server.Options) *server.Server {
	l.t.Helper()
	s, err := server.NewServer(&options)
	if err != nil {
		l.t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		l.t.Fatalf("%s is not ready", options.ServerName)
	}
	return s
}

func (l *Leafed) joined() {
	l.t.Helper()
	Eventually(l.t, "the leaf has found its hub", func() bool { return l.hub.NumLeafNodes() == 1 && l.leaf.NumLeafNodes() == 1 })
}

type endpoint struct {
	host string
	port int
}

func (e endpoint) String() string { return net.JoinHostPort(e.host, strconv.Itoa(e.port)) }

func hostPort(t testing.TB) endpoint {
	t.Helper()
	host, port, err := net.SplitHostPort(FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return endpoint{host, number}
}
