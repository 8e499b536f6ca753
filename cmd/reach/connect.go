package main

import (
	"cmp"
	"context"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/natscontext"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

// defaultURL is where a broker is looked for that nobody named.
const defaultURL = "nats://127.0.0.1:4222"

// Times of a command that asks a dispatcher.
const (
	connectTimeout = 3 * time.Second
	patience       = 5 * time.Second // for an answer
)

// target is how a caller finds the broker: the flags of the nats command line tool.
type target struct{ server, context, creds string }

// targetFlags are the flags of every command that talks to a dispatcher.
func targetFlags(command *cobra.Command, t *target) {
	flags := command.PersistentFlags()
	flags.StringVarP(&t.server, "server", "s", "",
		"`URL` of the broker (default: REACH_URL, the selected nats context, "+defaultURL+")")
	flags.StringVar(&t.context, "context", "", "`NAME` of the nats tool's context to connect with")
	flags.StringVar(&t.creds, "creds", "", "`FILE` with NATS credentials")
	sameFlag(command, "server", "nats")
}

// clientConfig is how to connect: a flag before REACH_URL before the selected nats context before the default. A URL given beside a
// context takes the place of the context's own.
func (t target) clientConfig(getenv func(string) string) (client.Config, error) {
	cfg := client.Config{URL: defaultURL, Name: "reach command line", Logger: zerolog.Nop()}
	found, err := t.natsContext(getenv)
	if err != nil {
		return cfg, exit.UsageError("%s", err)
	}
	if found != nil {
		cfg.URL = cmp.Or(found.URL, defaultURL)
		cfg.User, cfg.Password, cfg.Token = found.User, found.Password, found.Token
		cfg.CredsFile, cfg.InboxPrefix = found.Creds, found.InboxPrefix
	}
	if t.context == "" {
		cfg.URL = cmp.Or(getenv("REACH_URL"), cfg.URL)
	}
	cfg.URL = cmp.Or(t.server, cfg.URL)
	cfg.CredsFile = cmp.Or(t.creds, cfg.CredsFile)
	if !config.BrokerURL(cfg.URL) {
		return cfg, exit.UsageError("the broker's URL is not valid: give one such as %s", defaultURL)
	}
	return cfg, nil
}

// natsContext is the one that is named, or the selected one where nobody names a broker.
func (t target) natsContext(getenv func(string) string) (*natscontext.Context, error) {
	dir := natscontext.Dir(getenv)
	if t.context != "" {
		return natscontext.Load(dir, t.context)
	}
	if t.server != "" || getenv("REACH_URL") != "" {
		return nil, nil
	}
	return natscontext.Selected(dir)
}

// withClient calls do with a client of the dispatchers, over a connection of its own.
func (a *app) withClient(ctx context.Context, t target, do func(*client.Client) error, options ...client.Option) error {
	cfg, err := t.clientConfig(a.getenv)
	if err != nil {
		return err
	}
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	c, err := client.Connect(connecting, cfg, append(options, client.WithTimes(0, patience))...)
	if err != nil {
		return unconnected(err, config.MaskURLs(cfg.URL))
	}
	defer c.Close()
	return do(c)
}

// unconnected says of which broker the error is, and what to do.
func unconnected(err error, url string) error {
	switch e := exit.Error(err); e.Code {
	case schemas.Unavailable:
		return schemas.NewError(e.Code, e.Reason,
			"no broker answers at %s: start one with `reach up`, or name it with --server or REACH_URL", url)
	case schemas.Unauthenticated:
		return schemas.NewError(e.Code, e.Reason, "the broker at %s refuses these credentials", url)
	default:
		return e
	}
}
