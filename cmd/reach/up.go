package main

import (
	"context"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/embedded"
	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/cmd/internal/exit"
)

func (a *app) upCommand() *cobra.Command {
	adopts := true
	command := &cobra.Command{
		Use:   "up",
		Short: "Run broker, dispatcher and fronts in one process",
		Long: `Run everything that one machine needs in one process: the broker, a dispatcher, the NATS front and the HTTP front.
Once everything answers, endpoints.json in the data folder says where; a clean stop removes it.`,
		Example: `  reach up
  reach up --data /var/lib/reach --http 127.0.0.1:0 --nats 127.0.0.1:0
  reach up --mqtt 127.0.0.1:1883`,
		Args: noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			settings, err := a.checked(command)
			if err != nil {
				return err
			}
			return stopped(command.Context(), a.up(command.Context(), settings, adopts))
		},
	}
	configFlags(command)
	settingFlag(command, "data", "broker.data", "data folder of the broker (default ./reach-data)")
	settingFlag(command, "http", "server", "address of the HTTP front (default 127.0.0.1:8500)")
	settingFlag(command, "nats", "broker.listen", "address of the broker (default 127.0.0.1:4222)")
	settingFlag(command, "mqtt", "broker.mqtt", "address of an MQTT listener (default: none)")
	command.Flags().BoolVar(&adopts, "adopt", true, "serve agents that have registered an endpoint and have no worker")
	insecureFlag(command)
	return command
}

func (a *app) up(ctx context.Context, settings *config.Settings, adopts bool) error {
	if settings.Broker.URL != "" {
		return exit.UsageError("broker.url names a broker that runs elsewhere: use `reach dispatcher` with it; `reach up` starts its own")
	}
	log := a.logger(settings)
	now, err := a.clock()
	if err != nil {
		return err
	}
	server, err := startBroker(ctx, settings, log) // the first to fail, so that a folder in use is told before the ports of whoever uses it
	if err != nil {
		return err
	}
	defer server.Close()
	listener, err := listenHTTP(ctx, settings)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	conn, err := connectEmbedded(ctx, settings, server, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	here := endpoints{HTTP: urlOf(listener), NATS: server.URL(), MQTT: server.MQTT()}
	h := &house{
		settings: settings, log: log, conn: conn, now: now, http: listener, adopts: adopts,
		ready: func() error {
			if err := here.publish(settings.Broker.Data); err != nil {
				return err
			}
			a.welcome(log, settings, here)
			return nil
		},
		withdrawn: func() { logIf(log, withdrawEndpoints(settings.Broker.Data)) },
	}
	return h.run(ctx)
}

func connectEmbedded(ctx context.Context, s *config.Settings, server *embedded.Server, log zerolog.Logger) (*broker.Conn, error) {
	conn, err := broker.Connect(ctx, broker.Config{
		Embedded: server, Name: "reach up", Replicas: s.Broker.Replicas, Logger: log,
		MaxMessages: s.Ledger.MaxMessages, MaxBytes: s.Ledger.MaxBytes,
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

// welcome says that all is up: to a person with what to do next, else to the log.
func (a *app) welcome(log zerolog.Logger, settings *config.Settings, here endpoints) {
	if !a.terminal(a.stderr) {
		log.Info().Str("http", here.HTTP).Str("nats", here.NATS).Str("mqtt", here.MQTT).Str("data", settings.Broker.Data).Str("version", version).Msg("up")
		return
	}
	a.note(`
Agent-Reach %s is up.
  HTTP   %s  (%s/docs)
  NATS   %s%s
  data   %s

Next, in another terminal:
  reach worker --agent-id me --capability echo --exec cat
  reach task submit echo -d '{"hello":"world"}' --wait
`, version, here.HTTP, here.HTTP, here.NATS, mqttLine(here.MQTT), settings.Broker.Data)
}

// mqttLine is one more line of the welcome, where there is a listener.
func mqttLine(url string) string {
	if url == "" {
		return ""
	}
	return "\n  MQTT   " + url
}

func logIf(log zerolog.Logger, err error) {
	if err != nil {
		log.Warn().Err(err).Msg("stopping")
	}
}
