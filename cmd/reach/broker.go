package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/broker/embedded"
	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/cmd/internal/listen"
	"github.com/agentreach/agent-reach/cmd/internal/logging"
)

func (a *app) brokerCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "broker",
		Short: "Run a broker alone, or as a node of a cluster",
		Long: `Run a broker without dispatcher and fronts. Three nodes make a cluster that survives the loss of one: each has a folder,
a name and a cluster address of its own, the same cluster name, and the address of at least one other as a route.`,
		Example: `  reach broker --data /var/lib/reach --nats 127.0.0.1:4222
  reach broker --mqtt 127.0.0.1:1883
  reach broker --data n1 --nats 127.0.0.1:4222 --name n1 \
    --cluster-listen 127.0.0.1:6222 --cluster-name lab --routes nats://127.0.0.1:6223,nats://127.0.0.1:6224`,
		Args: noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			settings, err := a.settings(command)
			if err != nil {
				return err
			}
			return stopped(command.Context(), a.runBroker(command.Context(), settings))
		},
	}
	configFlags(command)
	settingFlag(command, "data", "broker.data", "data folder of the broker (default ./reach-data)")
	settingFlag(command, "nats", "broker.listen", "where clients connect (default 127.0.0.1:4222)")
	settingFlag(command, "name", "broker.name", "name of this node (default: host name and cluster port)")
	settingFlag(command, "cluster-listen", "broker.cluster.listen", "where other nodes connect")
	settingFlag(command, "cluster-name", "broker.cluster.name", "name of the cluster")
	command.Flags().StringSlice("routes", nil, "addresses of other nodes")
	annotate(command, "routes", "broker.cluster.routes")
	settingFlag(command, "cluster-user", "broker.cluster.user", "user name that all nodes share")
	settingFlag(command, "cluster-password-file", "broker.cluster.password_file", "`FILE` with the password that all nodes share")
	settingFlag(command, "mqtt", "broker.mqtt", "address of an MQTT listener (default: none)")
	insecureFlag(command)
	return command
}

func (a *app) runBroker(ctx context.Context, settings *config.Settings) error {
	log := a.logger(settings)
	server, err := startBroker(ctx, settings, log)
	if err != nil {
		return err
	}
	defer server.Close()
	dir := settings.Broker.Data
	if err := (endpoints{NATS: server.URL(), MQTT: server.MQTT()}).publish(dir); err != nil {
		return err
	}
	log.Info().Str("nats", server.URL()).Str("mqtt", server.MQTT()).Str("cluster", server.RouteAddress()).Str("data", dir).Msg("broker up")
	<-ctx.Done()
	return withdrawEndpoints(dir)
}

func (a *app) logger(settings *config.Settings) zerolog.Logger {
	return logging.New(a.stderr, a.terminal(a.stderr), settings.Log)
}

// startBroker starts the embedded broker, if its listeners may stand where they are told to.
func startBroker(ctx context.Context, settings *config.Settings, log zerolog.Logger) (*embedded.Server, error) {
	cfg, err := embeddedConfig(settings, log)
	if err != nil {
		return nil, err
	}
	server, err := embedded.Start(ctx, cfg)
	if err != nil {
		return nil, withFlag(err)
	}
	if err := withdrawEndpoints(cfg.Dir); err != nil {
		server.Close()
		return nil, err
	}
	return server, nil
}

// withFlag says how to choose another address for a listener that cannot be opened.
func withFlag(err error) error {
	taken := new(embedded.ListenError)
	if !errors.As(err, &taken) {
		return err
	}
	flag := map[embedded.Listener]string{embedded.Clients: "--nats", embedded.MQTT: "--mqtt"}[taken.Listener]
	return elsewhere(err, flag)
}

// elsewhere says what to do about a listener that cannot be opened.
func elsewhere(err error, flag string) error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return fmt.Errorf("%w; raise the number of files that may be open (ulimit -n)", err)
	}
	return fmt.Errorf("%w; choose another address with %s", err, flag)
}

func embeddedConfig(settings *config.Settings, log zerolog.Logger) (embedded.Config, error) {
	b := settings.Broker
	cfg := embedded.Config{
		Dir: b.Data, Listen: b.Listen, MQTT: b.MQTT, SyncInterval: b.SyncInterval, SyncAlways: b.SyncInterval == 0, ServerName: b.Name, Logger: log,
	}
	if err := listen.Check("the broker", b.Listen, settings.Server.InsecureListen); err != nil {
		return cfg, err
	}
	if b.MQTT != "" {
		if err := listen.Check("the MQTT listener", b.MQTT, settings.Server.InsecureListen); err != nil {
			return cfg, err
		}
	}
	if b.Cluster.Listen == "" {
		return cfg, nil
	}
	return joined(cfg, settings)
}

// joined makes the broker a node of a cluster. A password that the nodes share is a key: with it they may be on several machines.
func joined(cfg embedded.Config, settings *config.Settings) (embedded.Config, error) {
	c := settings.Broker.Cluster
	password, err := config.Secret(c.PasswordFile)
	if err != nil {
		return cfg, err
	}
	if err := listen.Check("the cluster", c.Listen, settings.Server.InsecureListen || password != ""); err != nil {
		return cfg, err
	}
	cfg.Cluster = embedded.Cluster{Name: c.Name, Listen: c.Listen, Routes: c.Routes, User: c.User, Password: password}
	if cfg.ServerName == "" {
		cfg.ServerName = nodeName(c.Listen)
	}
	return cfg, nil
}

// nodeName is the same after a restart, and another for each node of a machine.
func nodeName(clusterListen string) string {
	host, _ := os.Hostname()
	_, port, _ := net.SplitHostPort(clusterListen)
	return fmt.Sprintf("%s-%s", host, port)
}
