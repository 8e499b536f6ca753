// Package embedded runs a NATS server with JetStream inside our process, so that a laptop needs nothing else. It is the
// only package that knows nats-server. A Server belongs to whoever started it; all its methods may be called from any
// goroutine. The goroutines are the server's own and one that looks after it, and Close returns when they have ended.
package embedded

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const readinessPoll = 5 * time.Millisecond

// Server is a running NATS server. While its disk is full it is down, with the same addresses, and comes back by itself.
type Server struct {
	cfg     Config // with the addresses that it has
	running atomic.Pointer[server.Server]
	lock    *directoryLock
	url     string
	stop    context.CancelFunc
	mending sync.WaitGroup
	once    sync.Once
}

// Start runs a server and returns when JetStream can be used. A directory in use and a taken port are errors at once,
// and then nothing is left running. In a cluster "can be used" is said of this server: streams can be created as soon as a
// majority has found each other.
//
// The context bounds the start; the server then runs until Close.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	lock, err := lockDirectory(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if err := cfg.checkPorts(ctx); err != nil {
		lock.release()
		return nil, err
	}
	ns, mqtt, err := start(ctx, cfg)
	if err != nil {
		lock.release()
		return nil, fmt.Errorf("start broker: %w", err)
	}
	cfg.MQTT = mqtt
	s := &Server{cfg: cfg.at(ns), lock: lock, url: clientURL(ns.Addr())}
	s.running.Store(ns)
	mending, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.mending.Go(func() { s.mend(mending) })
	return s, nil
}

// at is the configuration of the same server at the addresses that it has.
func (c Config) at(ns *server.Server) Config {
	if addr := ns.Addr(); addr != nil && c.Listen != "" {
		c.Listen = addr.String()
	}
	if addr := ns.ClusterAddr(); addr != nil && c.Cluster.enabled() {
		c.Cluster.Listen = addr.String()
	}
	return c
}

// start gives a server that is ready, and the address of its MQTT listener, if it has one.
func start(ctx context.Context, cfg Config) (ns *server.Server, mqtt string, err error) {
	maxStore, err := storeLimit(cfg)
	if err != nil {
		return nil, "", err
	}
	o, err := cfg.options(maxStore)
	if err != nil {
		return nil, "", err
	}
	if ns, err = server.NewServer(o); err != nil {
		return nil, "", err
	}
	bridge := newLogBridge(cfg.Logger)
	ns.SetLoggerV2(bridge, false, false, false)
	ns.Start()
	if err := waitReady(ctx, ns, bridge.fatal); err != nil {
		shutDown(ns)
		return nil, "", err
	}
	bridge.ready.Store(true)
	if cfg.MQTT == "" {
		return ns, "", nil
	}
	return ns, net.JoinHostPort(o.MQTT.Host, strconv.Itoa(o.MQTT.Port)), nil // the server has put the port there that it got
}

// waitReady polls, because the server tells nobody when JetStream is up. A fatal log line is its only word about a port
// that is taken.
func waitReady(ctx context.Context, ns *server.Server, fatal <-chan error) error {
	tick := time.NewTicker(readinessPoll)
	defer tick.Stop()
	for {
		select {
		case err := <-fatal:
			return err
		default:
		}
		health := ns.Healthz(&server.HealthzOptions{JSEnabledOnly: true})
		if health.Error == "" {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until ready (%s): %w", health.Error, context.Cause(ctx))
		case err := <-fatal:
			return err
		case <-tick.C:
		}
	}
}

// clientURL is where clients of this machine reach the listener; "" without one.
func clientURL(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return ""
	}
	host := tcp.AddrPort().Addr().Unmap()
	if host.IsUnspecified() {
		return fmt.Sprintf("nats://%s:%d", loopback, tcp.Port)
	}
	return "nats://" + net.JoinHostPort(host.String(), fmt.Sprint(tcp.Port))
}

// MQTT is where MQTT clients of this machine connect, "" without such a listener.
func (s *Server) MQTT() string {
	host, port, err := net.SplitHostPort(s.cfg.MQTT)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = loopback
	}
	return "mqtt://" + net.JoinHostPort(host, port)
}

// URL is where clients of this machine connect, "" when the server opened no port.
func (s *Server) URL() string { return s.url }

// InProcessConn opens a connection that needs no port. It makes a Server a nats.InProcessConnProvider.
func (s *Server) InProcessConn() (net.Conn, error) { return s.running.Load().InProcessConn() }

// RouteAddress is where other servers of the cluster connect, "" outside a cluster.
func (s *Server) RouteAddress() string {
	if addr := s.running.Load().ClusterAddr(); addr != nil {
		return addr.String()
	}
	return ""
}

// Close stops the server and returns when everything has been written, the ports are free and the directory may be used
// by another. Clients should have drained before. Further calls wait for the first and do nothing.
func (s *Server) Close() {
	s.once.Do(func() {
		s.stop()
		s.mending.Wait()
		shutDown(s.running.Load())
		s.lock.release()
	})
}
