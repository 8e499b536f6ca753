// Package adopt serves agents that have registered an endpoint and have no worker beside them. It asks the dispatchers which there are,
// and runs a worker for each that nobody serves, until the agent changes, goes, or another serves it.
//
// One goroutine looks and decides; each worker has one of its own, which Run waits for.
package adopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// Agent is how an agent is driven: an adapter, as a rule.
type Agent interface {
	worker.Handler
	Health(ctx context.Context) error
	Close()
}

// Config of an adopter. Conn and Drive are needed.
type Config struct {
	Conn   *broker.Conn
	Logger zerolog.Logger

	// Drive makes of a registration an agent that can be driven. An error says that this adopter cannot.
	Drive func(registration *schemas.Registration) (Agent, error)

	Interval  time.Duration // between two looks; 1 s
	PingEvery int           // looks after which agents that others serve are asked for; 5
	Silence   time.Duration // of an agent that has said that it lives, after which it counts as ill; 45 s
	HoldOff   time.Duration // before an agent that could not be served is tried again; 30 s
	Timeout   time.Duration // for one answer of a dispatcher or worker; 2 s
	MaxAgents int           // served at once; 1,000

	Worker worker.Config // of each agent's worker; its Conn, Agents and Logger are set here
	Now    func() time.Time
}

func (c Config) withDefaults() Config {
	c.Interval = cmp.Or(c.Interval, time.Second)
	c.PingEvery = cmp.Or(c.PingEvery, 5)
	c.Silence = cmp.Or(c.Silence, 45*time.Second)
	c.HoldOff = cmp.Or(c.HoldOff, 30*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	c.MaxAgents = cmp.Or(c.MaxAgents, 1000)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// adopter is what Run's goroutine knows.
type adopter struct {
	Config
	fosters map[string]*foster // by agent
	heldOff map[string]time.Time
	looks   int
	unheard bool // the last look failed
	all     sync.WaitGroup
}

// foster is an agent that is served here.
type foster struct {
	described string // its registration, as it was when the worker was made
	stop      context.CancelFunc
	ended     chan struct{} // closed once the worker has
	failed    error         // why it ended by itself; set before ended is closed
}

// Run adopts until ctx ends; then it drains, and returns when nothing that it has started runs any more.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Conn == nil || cfg.Drive == nil {
		return errors.New("an adopter needs a connection to the broker, and somebody who drives")
	}
	a := &adopter{Config: cfg.withDefaults(), fosters: make(map[string]*foster), heldOff: make(map[string]time.Time)}
	defer a.all.Wait()
	tick := time.NewTicker(a.Interval)
	defer tick.Stop()
	for {
		a.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// look compares who is to be served with who is.
func (a *adopter) look(ctx context.Context) {
	agents, err := a.list(ctx)
	if ctx.Err() != nil {
		return
	}
	if a.unheard != (err != nil) {
		a.unheard = err != nil
		a.Logger.Debug().Err(err).Bool("answered", err == nil).Msg("asking which agents are to be adopted")
	}
	if err != nil {
		return
	}
	a.looks++
	a.part(agents)
	for id := range agents {
		if a.fosters[id] == nil && len(a.fosters) < a.MaxAgents && a.free(ctx, agents[id]) {
			a.adopt(ctx, &agents[id].Registration)
		}
	}
}

// list is every agent that may be adopted, by id.
func (a *adopter) list(ctx context.Context) (map[string]*schemas.Agent, error) {
	agents := make(map[string]*schemas.Agent)
	query := schemas.AgentQuery{Adopt: true, PageSize: schemas.MaxPageSize}
	for {
		body, err := a.Conn.RequestWithin(ctx, a.Timeout, broker.SubjectAPI("agent", "list"), schemas.MustEncode(query))
		if err != nil {
			return nil, err
		}
		var page schemas.AgentPage
		if err := schemas.Decode(body, &page); err != nil {
			return nil, fmt.Errorf("read agents: %w", err)
		}
		for i := range page.Items {
			agents[page.Items[i].AgentID] = &page.Items[i]
		}
		if page.NextPageToken == "" {
			return agents, nil
		}
		query.PageToken = page.NextPageToken
	}
}

// part ends the workers of agents that are others by now, or gone, and forgets those that have ended.
func (a *adopter) part(agents map[string]*schemas.Agent) {
	for id, f := range a.fosters {
		now := agents[id]
		if now == nil || describe(&now.Registration) != f.described {
			f.stop()
		}
		select {
		case <-f.ended:
			delete(a.fosters, id)
			if f.failed != nil {
				a.heldOff[id] = a.Now().Add(a.HoldOff)
				a.Logger.Warn().Err(f.failed).Str("agent_id", id).Msg("an adopted agent cannot be served")
			}
		default:
		}
	}
	for id, until := range a.heldOff {
		if agents[id] == nil || !a.Now().Before(until) {
			delete(a.heldOff, id)
		}
	}
}

// free reports whether an agent has nobody who serves it.
func (a *adopter) free(ctx context.Context, agent *schemas.Agent) bool {
	if _, held := a.heldOff[agent.AgentID]; held || agent.State == schemas.AgentPending {
		return false
	}
	if agent.Registration.InstanceID == "" {
		return true
	}
	if agent.State != schemas.AgentOffline && a.looks%a.PingEvery != 0 {
		return false
	}
	ping := schemas.MustEncode(schemas.Control{Do: schemas.DoPing, Reason: schemas.PingRegister})
	_, err := a.Conn.RequestWithin(ctx, a.Timeout, broker.SubjectControl(agent.AgentID), ping)
	return errors.Is(err, broker.ErrNoResponders)
}

// adopt begins to serve an agent.
func (a *adopter) adopt(ctx context.Context, r *schemas.Registration) {
	described := describe(r)
	driven, err := a.Drive(r)
	if err != nil {
		a.heldOff[r.AgentID] = a.Now().Add(a.HoldOff)
		a.Logger.Warn().Err(err).Str("agent_id", r.AgentID).Msg("an agent cannot be adopted")
		return
	}
	own := *r
	own.InstanceID = "" // the worker makes its own
	cfg := a.Worker
	cfg.Conn, cfg.Logger = a.Conn, a.Logger
	cfg.Agents = []worker.Agent{{
		Registration: own, Handler: driven, Health: driven.Health, Voice: &worker.Voice{Silence: a.Silence, Now: a.Now},
	}}
	serving, stop := context.WithCancel(ctx)
	f := &foster{described: described, stop: stop, ended: make(chan struct{})}
	a.fosters[r.AgentID] = f
	a.Logger.Info().Str("agent_id", r.AgentID).Str("transport", r.Transport.Type).Msg("adopted")
	a.all.Go(func() {
		defer close(f.ended)
		defer stop()
		defer driven.Close()
		f.failed = worker.Run(serving, cfg)
	})
}

// describe is what an agent says of itself, whoever serves it: nothing that its worker adds when it registers makes it another.
func describe(r *schemas.Registration) string {
	said := *r
	said.InstanceID, said.LargeBodies = "", false
	said.Capabilities = append([]schemas.Offer(nil), r.Capabilities...)
	for i := range said.Capabilities {
		said.Capabilities[i].Alignment = nil // a dispatcher's
	}
	return string(schemas.MustEncode(&said))
}
