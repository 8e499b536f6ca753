package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/workerfile"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adopt"
)

// adopt is the worker that is told of no agent.
func (a *app) adopt(command *cobra.Command, w *workerFlags) error {
	for _, name := range append([]string{"file"}, ofAgent...) {
		if command.Flags().Changed(name) {
			return exit.UsageError("--%s describes an agent, and --adopt finds agents itself: give only one of them", name)
		}
	}
	settings, err := a.settings(command)
	if err != nil {
		return err
	}
	of := workerfile.Broker{URL: cmp.Or(w.nats, a.getenv("REACH_URL")), CredsFile: w.creds}
	return stopped(command.Context(), a.runAdopter(command.Context(), settings, of, w.patience()))
}

// runAdopter serves the agents that have registered only an endpoint, over a broker that runs elsewhere, until ctx ends.
func (a *app) runAdopter(ctx context.Context, settings *config.Settings, of workerfile.Broker, patience worker.Config) error {
	log := a.logger(settings)
	cfg, err := workerBroker(of)
	if err != nil {
		return err
	}
	cfg.Logger = log
	log.Info().Str("nats", config.MaskURLs(cfg.URL)).Msg("connecting to the broker")
	conn, err := broker.Connect(ctx, cfg)
	if err != nil {
		return err
	}
	defer conn.Close()
	log.Info().Msg("adopting agents without a worker")
	return adopt.Run(ctx, adopterConfig(conn, settings, patience, log))
}

func adopterConfig(conn *broker.Conn, settings *config.Settings, patience worker.Config, log zerolog.Logger) adopt.Config {
	return adopt.Config{
		Conn: conn, Logger: log, Silence: settings.Registry.HeartbeatTTL, Worker: patience,
		Drive: func(r *schemas.Registration) (adopt.Agent, error) { return drive(r, settings, log) },
	}
}

// drive puts an agent behind the adapter that its registration names.
func drive(r *schemas.Registration, settings *config.Settings, log zerolog.Logger) (adopt.Agent, error) {
	if !r.Transport.Adoptable() {
		return nil, fmt.Errorf("an agent with the transport %s needs a worker of its own", r.Transport.Type)
	}
	described := workerfile.Agent{AgentID: r.AgentID, Capabilities: r.Capabilities, Transport: workerfile.Transport{
		Type: r.Transport.Type, Endpoint: r.Transport.Endpoint, HealthCheck: r.Transport.HealthCheck, Input: r.Transport.Input,
	}}
	for _, problem := range (&workerfile.File{Agents: []workerfile.Agent{described}}).Problems() {
		return nil, problem
	}
	made, err := adapterOf(&described, settings, log)
	if err != nil {
		return nil, err
	}
	if r.Transport.HealthCheck != "" {
		return made, nil
	}
	return &reachable{adapter: made, endpoint: r.Transport.Endpoint}, nil
}

// reachable is an agent that names no health check: it is well while something listens at its endpoint.
type reachable struct {
	adapter
	endpoint string
}

// Health connects, and says nothing.
func (r *reachable) Health(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", hostOf(r.endpoint))
	if err != nil {
		return err
	}
	return conn.Close()
}

// hostOf is host and port of an endpoint, which is a URL or names them alone.
func hostOf(endpoint string) string {
	at, err := url.Parse(endpoint)
	if err != nil || at.Host == "" {
		return endpoint
	}
	if at.Port() != "" {
		return at.Host
	}
	if at.Scheme == "https" || at.Scheme == "wss" {
		return net.JoinHostPort(at.Hostname(), "443")
	}
	return net.JoinHostPort(at.Hostname(), "80")
}
