package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/schemas"
)

// readyPath is what an HTTP front is asked for where the URL names no path.
const readyPath = "/readyz"

// probe is one question to a process: does it do its work?
type probe struct {
	url, agent string
	timeout    time.Duration
}

func (a *app) healthCommand() *cobra.Command {
	p := new(probe)
	command := &cobra.Command{
		Use:   "health URL",
		Short: "Check the health of a dispatcher, a broker or a worker",
		Long: `Check the health of one process: an HTTP front by its http:// URL, a broker by its nats:// URL, or the worker of an agent,
through a broker. It prints ok and exits with 0, or says what is wrong and exits with another code. It is made for the health
checks of containers, whose image contains nothing but reach.`,
		Example: `  reach health http://127.0.0.1:8500
  reach health nats://127.0.0.1:4222
  reach health nats://127.0.0.1:4222 --agent laptop-1`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.UsageError("reach health takes one URL, such as http://127.0.0.1:8500 or %s", defaultURL)
			}
			p.url = args[0]
			return p.check()
		},
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(command.Context(), p.timeout)
			defer cancel()
			if err := p.ask(ctx); err != nil {
				return err
			}
			a.show(struct {
				OK bool `json:"ok"`
			}{true}, func(w io.Writer) { _, _ = fmt.Fprintln(w, "ok") })
			return nil
		},
	}
	command.Flags().StringVar(&p.agent, "agent", "", "ask the worker that serves this agent")
	command.Flags().DurationVar(&p.timeout, "timeout", connectTimeout, "how long the answer may take")
	return command
}

// check refuses what cannot be asked.
func (p *probe) check() error {
	if p.timeout <= 0 {
		return exit.UsageError("--timeout takes a time such as 3s")
	}
	if p.agent != "" {
		if err := schemas.CheckAgentID(p.agent); err != nil {
			return err
		}
	}
	switch {
	case p.overHTTP() && p.agent != "":
		return exit.UsageError("--agent asks a worker, through the broker: give a nats:// URL with it")
	case p.overHTTP() || config.BrokerURL(p.url):
		return nil
	}
	return exit.UsageError("give a URL such as http://127.0.0.1:8500 or %s", defaultURL)
}

func (p *probe) overHTTP() bool {
	parsed, err := url.Parse(p.url)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Host != ""
}

func (p *probe) ask(ctx context.Context) error {
	if p.overHTTP() {
		return p.askFront(ctx)
	}
	return p.askBroker(ctx)
}

// askFront is well with any status of the 200s. Where that lies must be said in the URL: no redirect and no proxy is followed.
func (p *probe) askFront(ctx context.Context) error {
	target, err := url.Parse(p.url)
	if err != nil {
		return err
	}
	if target.Path == "" || target.Path == "/" {
		target.Path = readyPath
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return err
	}
	reply, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return p.unwell("no HTTP front answers at %s", target.Redacted())
	}
	defer func() { _ = reply.Body.Close() }()
	if reply.StatusCode < 200 || reply.StatusCode > 299 {
		return p.unwell("%s answers %s", target.Redacted(), reply.Status)
	}
	return nil
}

// askBroker is well where the broker answers, and with an agent where the worker that serves it does.
func (p *probe) askBroker(ctx context.Context) error {
	conn, err := broker.Connect(ctx, broker.Config{URL: p.url, Name: "reach health", Logger: zerolog.Nop()})
	if err != nil {
		return p.unwell("no broker answers at %s%s", config.MaskURLs(p.url), p.perhapsHTTP())
	}
	defer conn.Close()
	if p.agent == "" {
		return conn.Flush(ctx)
	}
	_, err = conn.Request(ctx, broker.SubjectControl(p.agent), schemas.MustEncode(schemas.Control{Do: schemas.DoPing}))
	var refused *schemas.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, broker.ErrNoResponders):
		return p.unwell("no worker serves the agent %s", p.agent)
	}
	return p.unwell("the worker of the agent %s does not answer", p.agent)
}

// perhapsHTTP is for an address without a scheme, which a broker has been looked for at.
func (p *probe) perhapsHTTP() string {
	if strings.Contains(p.url, "://") {
		return ""
	}
	return "; if an HTTP front is meant, write http://" + p.url
}

func (p *probe) unwell(format string, args ...any) error {
	return schemas.NewError(schemas.Unavailable, "", "%s", fmt.Sprintf(format, args...))
}
