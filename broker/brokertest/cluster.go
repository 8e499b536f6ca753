package brokertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentreach/agent-reach/broker/embedded"
)

// askTimeout bounds one question to the cluster; a frozen node answers none, and another is asked.
const askTimeout = time.Second

// ClusterBroker is a cluster of brokers, each in a child process of its own. Nodes are counted from 0. Its methods may be
// called from any goroutine of the test.
type ClusterBroker struct {
	t     testing.TB
	nodes []*Process
	lines map[line]*Relay // between nodes; nil where they are not to be cut
}

// line is the way on which one node reaches another.
type line struct{ from, to int }

// Cluster starts n brokers that replicate, and returns when streams with n replicas can be created. TestMain must call Main.
func Cluster(t testing.TB, n int, opts ...Option) *ClusterBroker {
	t.Helper()
	c := &ClusterBroker{t: t}
	c.startNodes(clusterConfigs(t, n, opts))
	return c
}

// SeparableCluster is a Cluster whose nodes reach each other through relays, so that one can be isolated.
func SeparableCluster(t testing.TB, n int, opts ...Option) *ClusterBroker {
	t.Helper()
	c := &ClusterBroker{t: t, lines: make(map[line]*Relay)}
	configs := clusterConfigs(t, n, opts)
	for from := range configs {
		var routes []string
		for to := range configs {
			if from == to {
				continue
			}
			relay := newRelay(t, configs[to].Cluster.Listen, (*Relay).carryBytes)
			c.lines[line{from, to}], routes = relay, append(routes, address(relay.URL()))
		}
		configs[from].Cluster.Routes = routes
	}
	for i := range configs {
		configs[i].Cluster.Advertise = nowhere
	}
	c.startNodes(configs)
	return c
}

// nowhere is what separable nodes say of themselves: they are to use no way but the relays.
const nowhere = "127.0.0.1:1"

func (c *ClusterBroker) startNodes(configs []embedded.Config) {
	c.t.Helper()
	for _, cfg := range configs {
		c.nodes = append(c.nodes, newProcess(c.t, cfg))
	}
	c.startAll()
	c.awaitReplication()
}

// Isolate cuts node i off from the others of a separable cluster, until Join: what they say to each other is held up, and no
// connection ends. Clients reach all of them as before.
func (c *ClusterBroker) Isolate(i int) { c.eachLine(i, (*Relay).Pause) }

// Join ends the isolation of node i.
func (c *ClusterBroker) Join(i int) { c.eachLine(i, (*Relay).Resume) }

func (c *ClusterBroker) eachLine(i int, do func(*Relay)) {
	c.t.Helper()
	if c.lines == nil {
		c.t.Fatal("only nodes of a SeparableCluster can be isolated")
	}
	for l, relay := range c.lines {
		if l.from == i || l.to == i {
			do(relay)
		}
	}
}

func clusterConfigs(t testing.TB, n int, opts []Option) []embedded.Config {
	t.Helper()
	routes := make([]string, n)
	for i := range routes {
		routes[i] = FreeAddress(t)
	}
	configs := make([]embedded.Config, n)
	for i := range configs {
		configs[i] = freshConfig(t, opts)
		configs[i].ServerName = nodeName(i)
		configs[i].Cluster = embedded.Cluster{Name: "brokertest", Listen: routes[i], Routes: without(routes, i)}
	}
	return configs
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

func without(addresses []string, i int) []string {
	return slices.Delete(slices.Clone(addresses), i, i+1)
}

// startAll spawns every process before it waits for the first.
func (c *ClusterBroker) startAll() {
	c.t.Helper()
	ready := make([]*os.File, len(c.nodes))
	for i, node := range c.nodes {
		ready[i] = node.spawn()
	}
	for i, node := range c.nodes {
		node.await(ready[i])
	}
}

// awaitReplication creates a stream on all nodes, the one proof that there is a leader and that it knows them all.
func (c *ClusterBroker) awaitReplication() {
	c.t.Helper()
	probe := jetstream.StreamConfig{
		Name: "BROKERTEST_PROBE", Subjects: []string{"brokertest.probe"}, Storage: jetstream.MemoryStorage, Replicas: len(c.nodes),
	}
	c.ask("a stream on all nodes", func(ctx context.Context, js jetstream.JetStream) bool {
		_, err := js.CreateStream(ctx, probe)
		return err == nil
	})
	c.ask("the end of the stream on all nodes", func(ctx context.Context, js jetstream.JetStream) bool {
		err := js.DeleteStream(ctx, probe.Name)
		return err == nil || errors.Is(err, jetstream.ErrStreamNotFound) // an earlier answer may have come too late
	})
}

// URLs of the nodes, in their order.
func (c *ClusterBroker) URLs() []string {
	urls := make([]string, len(c.nodes))
	for i, node := range c.nodes {
		urls[i] = node.URL()
	}
	return urls
}

// URL names all nodes, for a client that may use any of them.
func (c *ClusterBroker) URL() string { return strings.Join(c.URLs(), ",") }

// MQTT are the addresses of the nodes' MQTT listeners, of a cluster that was made WithMQTT.
func (c *ClusterBroker) MQTT() []string {
	var addresses []string
	for _, node := range c.nodes {
		addresses = append(addresses, node.cfg.MQTT)
	}
	return addresses
}

// Kill ends node i with SIGKILL.
func (c *ClusterBroker) Kill(i int) { c.nodes[i].Kill() }

// Stop freezes node i with SIGSTOP.
func (c *ClusterBroker) Stop(i int) { c.nodes[i].Stop() }

// Continue lets the frozen node i go on.
func (c *ClusterBroker) Continue(i int) { c.nodes[i].Continue() }

// Restart starts node i again on the same port and directory. It is ready then; its replicas may still be catching up.
func (c *ClusterBroker) Restart(i int) {
	c.t.Helper()
	c.nodes[i].Restart()
}

// Lives reports whether node i runs, frozen or not.
func (c *ClusterBroker) Lives(i int) bool { return c.nodes[i].Lives() }

// Leader is the node that leads a stream now; it waits while there is none.
func (c *ClusterBroker) Leader(stream string) int {
	c.t.Helper()
	leader := -1
	c.ask("a leader of "+stream, func(ctx context.Context, js jetstream.JetStream) bool {
		leader = leaderOf(ctx, js, stream)
		return leader >= 0
	})
	return leader
}

// StepDown makes the leader of a stream hand over, gracefully, and returns when another node leads.
func (c *ClusterBroker) StepDown(stream string) {
	c.t.Helper()
	old := c.Leader(stream)
	c.ask("another leader of "+stream, func(ctx context.Context, js jetstream.JetStream) bool {
		leader := leaderOf(ctx, js, stream)
		if leader == old {
			_, _ = js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil)
		}
		return leader >= 0 && leader != old
	})
}

// InSync returns when every replica of a stream has all of it.
func (c *ClusterBroker) InSync(stream string) {
	c.t.Helper()
	c.ask("replicas of "+stream+" in sync", func(ctx context.Context, js jetstream.JetStream) bool {
		cluster := clusterOf(ctx, js, stream)
		if cluster == nil || cluster.Leader == "" || len(cluster.Replicas) != len(c.nodes)-1 {
			return false
		}
		return !slices.ContainsFunc(cluster.Replicas, func(r *jetstream.PeerInfo) bool { return r.Offline || !r.Current })
	})
}

func leaderOf(ctx context.Context, js jetstream.JetStream, stream string) int {
	cluster := clusterOf(ctx, js, stream)
	if cluster == nil {
		return -1
	}
	var i int
	if _, err := fmt.Sscanf(cluster.Leader, "node-%d", &i); err != nil {
		return -1
	}
	return i
}

// clusterOf is nil when nobody answered.
func clusterOf(ctx context.Context, js jetstream.JetStream, stream string) *jetstream.ClusterInfo {
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return nil
	}
	return s.CachedInfo().Cluster
}

// ask puts a question until it is answered with yes, each time on a new connection to a node that answers.
func (c *ClusterBroker) ask(what string, question func(context.Context, jetstream.JetStream) bool) {
	c.t.Helper()
	Eventually(c.t, what, func() bool {
		nc, err := nats.Connect(c.URL(), nats.Timeout(askTimeout))
		if err != nil {
			return false
		}
		defer nc.Close()
		js, err := jetstream.New(nc)
		if err != nil {
			return false
		}
		ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
		defer cancel()
		return question(ctx, js)
	})
}
