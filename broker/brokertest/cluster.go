package brokertest

import (
	"context"
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
}

// Cluster starts n brokers that replicate, and returns when streams with n replicas can be created. TestMain must call Main.
func Cluster(t testing.TB, n int, opts ...Option) *ClusterBroker {
	t.Helper()
	c := &ClusterBroker{t: t}
	for _, cfg := range clusterConfigs(t, n, opts) {
		c.nodes = append(c.nodes, newProcess(t, cfg))
	}
	c.startAll()
	c.awaitReplication()
	return c
}

func clusterConfigs(t testing.TB, n int, opts []Option) []embedded.Config {
	t.Helper()
	routes := make([]string, n)
	for i := range routes {
		routes[i] = freeAddress(t)
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
		return js.DeleteStream(ctx, probe.Name) == nil
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
