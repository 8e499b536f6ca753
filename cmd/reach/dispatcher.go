package main

import (
	"cmp"
	"context"
	"net"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/cmd/internal/config"
)

func (a *app) dispatcherCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "dispatcher",
		Short: "Run a dispatcher on a broker that runs elsewhere",
		Long: `Run a dispatcher with its NATS front, and with an HTTP front if an address for it is given. A dispatcher stores nothing of
its own: run as many as you like on one broker.`,
		Example: `  reach dispatcher --nats nats://127.0.0.1:4222
  reach dispatcher --nats nats://127.0.0.1:4222 --http 127.0.0.1:8501`,
		Args: noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			settings, err := a.checked(command)
			if err != nil {
				return err
			}
			return stopped(command.Context(), a.runDispatcher(command.Context(), settings))
		},
	}
	configFlags(command)
	settingFlag(command, "nats", "broker.url", "URL of the broker (default "+defaultURL+")")
	settingFlag(command, "creds", "broker.creds_file", "file with NATS credentials")
	settingFlag(command, "replicas", "broker.replicas", "copies that a cluster of brokers keeps: 1, 3 or 5 (default 1)")
	settingFlag(command, "http", "server", "address of an HTTP front (default: none)")
	insecureFlag(command)
	sameFlag(command, "nats", "server")
	return command
}

func (a *app) runDispatcher(ctx context.Context, settings *config.Settings) error {
	log := a.logger(settings)
	now, err := a.clock()
	if err != nil {
		return err
	}
	h := &house{settings: settings, log: log, now: now}
	if settings.Given("server.port") || settings.Given("server.host") {
		listener, err := listenHTTP(ctx, settings)
		if err != nil {
			return err
		}
		defer func() { _ = listener.Close() }()
		h.http = listener
	}
	conn, err := connectBroker(ctx, settings, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	h.conn = conn
	h.ready = func() error {
		log.Info().Str("nats", config.MaskURLs(cmp.Or(settings.Broker.URL, defaultURL))).Str("http", httpURL(h.http)).Msg("dispatcher up")
		return nil
	}
	h.withdrawn = func() {}
	return h.run(ctx)
}

func httpURL(listener net.Listener) string {
	if listener == nil {
		return ""
	}
	return urlOf(listener)
}

// connectBroker connects to a broker that runs elsewhere and may still have to come up: it tries until ctx ends.
func connectBroker(ctx context.Context, s *config.Settings, log zerolog.Logger) (*broker.Conn, error) {
	password, err := config.Secret(s.Broker.PasswordFile)
	if err != nil {
		return nil, err
	}
	token, err := config.Secret(s.Broker.TokenFile)
	if err != nil {
		return nil, err
	}
	url := cmp.Or(s.Broker.URL, defaultURL)
	log.Info().Str("nats", config.MaskURLs(url)).Msg("connecting to the broker")
	conn, err := broker.Connect(ctx, broker.Config{
		URL: url, Name: "reach dispatcher", CredsFile: s.Broker.CredsFile, User: s.Broker.User, Password: password, Token: token,
		Replicas: s.Broker.Replicas, Logger: log, MaxMessages: s.Ledger.MaxMessages, MaxBytes: s.Ledger.MaxBytes,
	})
	if err != nil {
		return nil, err
	}
	if err := conn.Setup(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
