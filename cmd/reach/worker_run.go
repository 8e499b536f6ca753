package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/cmd/internal/workerfile"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/httpagent"
	"github.com/agentreach/agent-reach/worker/adapter/subprocess"
)

// runWorker serves the agents of a file until ctx ends. The broker may come later: it tries until then.
func (a *app) runWorker(ctx context.Context, settings *config.Settings, file *workerfile.File, patience worker.Config) error {
	log := a.logger(settings)
	agents, err := agentsOf(ctx, file, settings, log)
	if err != nil {
		return err
	}
	defer agents.close()
	cfg, err := workerBroker(file.Broker)
	if err != nil {
		return err
	}
	cfg.Logger = log
	now, err := a.clock()
	if err != nil {
		return err
	}
	log.Info().Str("nats", config.MaskURLs(cfg.URL)).Msg("connecting to the broker")
	conn, err := broker.Connect(ctx, cfg)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := agents.keepKnown(ctx, conn, log); err != nil {
		return err
	}
	w, err := worker.New(worker.Config{
		Conn: conn, Agents: agents.served, Logger: log, DrainTimeout: patience.DrainTimeout, StopGrace: patience.StopGrace, Now: now,
		JournalDir: a.journalDir(file.Journal, agents.ids(), cfg.URL, log),
	})
	if err != nil {
		return err
	}
	err = runUntilReady(ctx, w, func() { log.Info().Strs("agents", agents.ids()).Msg("worker up") })
	if err == nil {
		log.Info().Strs("agents", agents.ids()).Msg("worker stopped")
	}
	return err
}

// runUntilReady runs w, and calls ready once it serves.
func runUntilReady(ctx context.Context, w *worker.Worker, ready func()) error {
	all, ctx := errgroup.WithContext(ctx)
	ended := make(chan struct{})
	all.Go(func() error {
		defer close(ended)
		return w.Run(ctx)
	})
	all.Go(func() error {
		select {
		case <-w.Ready():
			ready()
		case <-ended:
		}
		return nil
	})
	return all.Wait()
}

// workerBroker is how the worker connects.
func workerBroker(b workerfile.Broker) (broker.Config, error) {
	password, err := config.Secret(b.PasswordFile)
	if err != nil {
		return broker.Config{}, err
	}
	token, err := config.Secret(b.TokenFile)
	if err != nil {
		return broker.Config{}, err
	}
	return broker.Config{
		URL: cmp.Or(b.URL, defaultURL), Name: "reach worker", CredsFile: b.CredsFile, User: b.User, Password: password, Token: token,
	}, nil
}

// agents are the agents of one worker, each behind its adapter.
type agents struct {
	served  []worker.Agent
	named   []int     // those of served whose servers named their capabilities
	texts   []toolbox // those whose texts have no field that their owner named
	closers []func()
}

// adapter is what makes an agent reachable.
type adapter interface {
	worker.Handler
	Health(ctx context.Context) error
	Close()
}

// agentsOf puts each agent of the file behind the adapter of its transport.
func agentsOf(ctx context.Context, file *workerfile.File, settings *config.Settings, log zerolog.Logger) (*agents, error) {
	all := new(agents)
	for i := range file.Agents {
		described := &file.Agents[i]
		adapter, err := adapterOf(described, settings, log)
		if err != nil {
			all.close()
			return nil, schemas.NewError(schemas.InvalidArgument, "BAD_AGENT", "agent %s: %s", described.AgentID, err)
		}
		all.closers = append(all.closers, adapter.Close)
		if described.OffersTools() && len(described.Transport.Tools) == 0 {
			all.named = append(all.named, i)
		}
		if of, ok := adapter.(toolbox); ok && described.Transport.TextField == "" {
			all.texts = append(all.texts, of)
		}
		if err := offerTools(ctx, described, adapter, log); err != nil {
			all.close()
			return nil, schemas.NewError(schemas.Unavailable, "NO_TOOLS", "agent %s: %s", described.AgentID, err)
		}
		all.served = append(all.served, worker.Agent{
			Registration: *described.Registration(), Handler: adapter, Health: adapter.Health,
		})
	}
	return all, nil
}

func adapterOf(described *workerfile.Agent, settings *config.Settings, log zerolog.Logger) (adapter, error) {
	t := described.Transport
	switch t.Type {
	case workerfile.HTTP:
		return httpagent.New(httpagent.Config{
			Endpoint: t.Endpoint, HealthCheck: t.HealthCheck, Input: httpagent.Input(t.Input), Headers: t.Headers,
			ConnectTimeout: time.Duration(settings.Adaptor.HTTPConnectTimeoutMS) * time.Millisecond,
			ReadTimeout:    time.Duration(settings.Adaptor.HTTPReadTimeoutMS) * time.Millisecond,
		})
	case workerfile.Subprocess:
		return subprocess.New(subprocess.Config{
			Command: t.Command, Dir: t.Dir, Env: environment(t.Env), KeepAlive: t.Mode == workerfile.KeepAlive,
			Logger: log.With().Str("agent_id", described.AgentID).Logger(),
		})
	}
	return otherAdapterOf(described, settings, log)
}

func environment(env map[string]string) []string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		pairs = append(pairs, name+"="+env[name])
	}
	return pairs
}

func (a *agents) ids() []string {
	var ids []string
	for i := range a.served {
		ids = append(ids, a.served[i].Registration.AgentID)
	}
	return ids
}

func (a *agents) close() {
	for _, closeOne := range a.closers {
		closeOne()
	}
}
