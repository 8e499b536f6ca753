package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/cmd/internal/listen"
	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/dispatcher/desk"
	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
	"github.com/agentreach/agent-reach/dispatcher/front/mqttfront"
	"github.com/agentreach/agent-reach/dispatcher/front/natsfront"
	"github.com/agentreach/agent-reach/dispatcher/health"
	"github.com/agentreach/agent-reach/dispatcher/meaning"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adopt"
)

// house is a dispatcher with its fronts, over one connection.
type house struct {
	settings *config.Settings
	log      zerolog.Logger
	conn     *broker.Conn
	now      func() time.Time
	http     net.Listener // nil: no HTTP front
	adopts   bool         // it serves agents that have no worker

	// ready is called once callers are answered; withdrawn once ctx has ended, before anything stops.
	ready     func() error
	withdrawn func()
}

// capabilitiesOf reads the dictionary files.
func capabilitiesOf(settings *config.Settings) ([]schemas.Capability, error) {
	var all []schemas.Capability
	for _, file := range settings.Dictionary.Files {
		entries, err := dictionary.ReadFile(file)
		if err != nil {
			return nil, badFile(err)
		}
		all = append(all, entries...)
	}
	return all, nil
}

// run serves until ctx ends. The fronts end before the dispatcher that they ask.
func (h *house) run(ctx context.Context) error {
	capabilities, err := capabilitiesOf(h.settings)
	if err != nil {
		return err
	}
	calls, err := newCallbacks(&h.settings.Callbacks, h.log)
	if err != nil {
		return err
	}
	defer calls.close()
	cfg := h.dispatcherConfig(capabilities)
	if cfg.Meaning, err = h.meaning(); err != nil {
		return err
	}
	cfg.Callbacks = calls.config(&h.settings.Callbacks)
	d, err := dispatcher.New(h.conn, cfg)
	if err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	dispatching, stop := context.WithCancel(context.WithoutCancel(ctx))
	all.Go(func() error { return d.Run(dispatching) })
	all.Go(func() error {
		defer stop()
		return h.fronts(ctx, d)
	})
	all.Go(func() error { return calls.follow(ctx) })
	return all.Wait()
}

func (h *house) dispatcherConfig(capabilities []schemas.Capability) dispatcher.Config {
	s := h.settings
	return dispatcher.Config{
		Logger:             h.log,
		Now:                h.now,
		Capabilities:       capabilities,
		HeartbeatInterval:  s.Registry.HeartbeatInterval,
		HeartbeatTTL:       s.Registry.HeartbeatTTL,
		ReceiptInterval:    s.Registry.ReceiptInterval,
		Probes:             health.Config{Every: s.Registry.ProbeInterval, Again: s.Registry.ProbeRetry},
		Retention:          s.Ledger.Retention,
		KeepDead:           s.Ledger.DeadLetters,
		MaxPayload:         int(s.Limits.PayloadBytes),
		InlineBytes:        int(s.Limits.InlineBytes),
		MaxBodyBytes:       s.Ledger.MaxBodyBytes,
		QueuePerCapability: s.Limits.QueuePerCapability,
		QueuePerAgent:      s.Limits.QueuePerAgent,
		MaxSchedules:       s.Limits.Schedules,
		SubmitWait:         s.Limits.SubmitWait,
		MaxMessages:        uint64(s.Ledger.MaxMessages),
		MaxBytes:           uint64(s.Ledger.MaxBytes),
		Strategy:           score.Strategy(s.Router.DefaultStrategy),
		Weights:            s.Router.ScoreWeights,
	}
}

// meaning is the endpoint that finds what intents mean; nil where none is configured.
func (h *house) meaning() (*meaning.Ranker, error) {
	e := h.settings.Router.Embeddings
	if e.URL == "" {
		return nil, nil
	}
	key, err := config.Secret(e.KeyFile)
	if err != nil {
		return nil, err
	}
	return meaning.New(meaning.Config{URL: e.URL, Model: e.Model, Key: key, Timeout: e.Timeout, Least: e.MinSimilarity})
}

// fronts answer callers once the dispatcher can, until ctx ends.
func (h *house) fronts(ctx context.Context, d *dispatcher.Dispatcher) error {
	select {
	case <-d.Ready():
	case <-ctx.Done():
		return nil
	}
	routes := &routes{watched: watched{file: h.settings.Router.Routes}, d: d, log: h.log}
	if err := routes.load(); err != nil {
		return err
	}
	api, err := natsfront.Serve(h.conn, d, natsfront.Config{Version: version, Logger: h.log})
	if err != nil {
		return err
	}
	defer api.Close()
	bridge, err := h.bridge(d)
	if err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return routes.follow(ctx) })
	all.Go(func() error { return bridge.Run(ctx) })
	if h.http != nil {
		work, err := desk.New(h.deskConfig())
		if err != nil {
			return err
		}
		all.Go(func() error { return work.Run(ctx) })
		all.Go(func() error { return h.serveHTTP(ctx, d, work) })
	}
	if h.adopts {
		all.Go(func() error {
			return adopt.Run(ctx, adopterConfig(h.conn, h.settings, worker.Config{DrainTimeout: adoptedDrain}, h.log))
		})
	}
	all.Go(func() error {
		select {
		case <-bridge.Ready():
		case <-ctx.Done():
			return nil
		}
		if err := h.ready(); err != nil {
			return err
		}
		<-ctx.Done()
		h.withdrawn()
		return nil
	})
	return all.Wait()
}

// bridge stands between the dispatcher and devices on the broker's MQTT listener, wherever that is. The dispatchers share the devices.
func (h *house) bridge(d *dispatcher.Dispatcher) (*mqttfront.Bridge, error) {
	return mqttfront.New(mqttfront.Config{
		Conn: h.conn, Service: d, Logger: h.log, HeartbeatTTL: h.settings.Registry.HeartbeatTTL,
		Owns: func(device string) bool { return score.Owner(d.Peers(), device) == d.ID() },
	})
}

// adoptedDrain is how long the tasks of adopted agents have to end when the house stops.
const adoptedDrain = 10 * time.Second

func (h *house) deskConfig() desk.Config {
	return desk.Config{Conn: h.conn, Logger: h.log, Silence: h.settings.Registry.HeartbeatTTL}
}

func (h *house) serveHTTP(ctx context.Context, d *dispatcher.Dispatcher, work *desk.Desk) error {
	handler, err := httpfront.New(httpfront.Config{
		Service: d, Work: work, Logger: h.log, Version: version, Limits: httpfront.Limits{PayloadBytes: h.settings.Limits.PayloadBytes},
		Ready: h.connected, Metrics: d.Metrics(),
	})
	if err != nil {
		return err
	}
	server := httpfront.Server{Handler: handler, Logger: h.log, Insecure: h.settings.Server.InsecureListen}
	return server.Run(ctx, h.http)
}

func (h *house) connected(context.Context) error {
	if h.conn.Connected() {
		return nil
	}
	return broker.ErrDisconnected
}

// listenHTTP opens the HTTP front's listener before the dispatcher is started, so that a taken port is told at once.
func listenHTTP(ctx context.Context, s *config.Settings) (net.Listener, error) {
	address := net.JoinHostPort(s.Server.Host, strconv.Itoa(s.Server.Port))
	if err := listen.Check("the HTTP front", address, s.Server.InsecureListen); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, elsewhere(fmt.Errorf("the HTTP front cannot %w", err), "--http")
	}
	return listener, nil
}

// urlOf is where clients of this machine reach an HTTP listener.
func urlOf(listener net.Listener) string {
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok || !address.IP.IsUnspecified() {
		return "http://" + listener.Addr().String()
	}
	return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(address.Port))
}
