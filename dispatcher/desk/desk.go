package desk

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// Config of a desk. Only Conn is needed.
type Config struct {
	Conn   *broker.Conn
	Logger zerolog.Logger

	Silence        time.Duration // after which an agent's place is given up; 45 s
	Again          time.Duration // between two looks for work while a claim waits; 10 s
	Fresh          time.Duration // how long what the feed has brought waits for a claim: later, it is asked for; 1 s
	RequestTimeout time.Duration // for one answer of a dispatcher; 2 s
	PullTimeout    time.Duration // for the end of a pull; 5 s
	FinishTimeout  time.Duration // for a dispatcher's last word on a result; 20 s
	ChunkWait      time.Duration // how long a chunk waits for room in the window; 10 s
	CancelWait     time.Duration // for an agent to confirm a cancel; 5 s
	RunTimeout     time.Duration // of a task whose assignment names no run limit; 30 s
	StopGrace      time.Duration // for a result, after the run limit; 10 s
	Tick           time.Duration // of the loop; 250 ms

	MaxPlaces int   // agents; 10,000
	Memory    int64 // bytes that large payloads take while they are handed out; 512 MiB
	MaxVisits int   // claims that one agent has open at once; 64

	Now func() time.Time // the clock; time.Now
}

func (c Config) withDefaults() Config {
	c.Silence = cmp.Or(c.Silence, 45*time.Second)
	c.Again = cmp.Or(c.Again, 10*time.Second)
	c.Fresh = cmp.Or(c.Fresh, time.Second)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, 2*time.Second)
	c.PullTimeout = cmp.Or(c.PullTimeout, 5*time.Second)
	c.FinishTimeout = cmp.Or(c.FinishTimeout, 20*time.Second)
	c.ChunkWait = cmp.Or(c.ChunkWait, 10*time.Second)
	c.CancelWait = cmp.Or(c.CancelWait, 5*time.Second)
	c.RunTimeout = cmp.Or(c.RunTimeout, 30*time.Second)
	c.StopGrace = cmp.Or(c.StopGrace, 10*time.Second)
	c.Tick = cmp.Or(c.Tick, 250*time.Millisecond)
	c.MaxPlaces = cmp.Or(c.MaxPlaces, 10_000)
	c.Memory = cmp.Or(c.Memory, 4*schemas.MaxBody)
	c.MaxVisits = cmp.Or(c.MaxVisits, 64)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Desk is where agents without a connection to the broker are served. Its methods may be called from any goroutine, and fail with an
// *schemas.Error. It works while Run does.
type Desk struct {
	cfg    Config
	conn   *broker.Conn
	log    zerolog.Logger
	memory *semaphore.Weighted

	mu     sync.Mutex
	places map[string]*place // by agent
	closed bool
	errand sync.WaitGroup
}

// New makes a desk.
func New(cfg Config) (*Desk, error) {
	if cfg.Conn == nil {
		return nil, errors.New("a desk needs a connection to the broker")
	}
	cfg = cfg.withDefaults()
	return &Desk{cfg: cfg, conn: cfg.Conn, log: cfg.Logger, memory: semaphore.NewWeighted(cfg.Memory), places: make(map[string]*place)}, nil
}

// Run serves until ctx ends, and returns when nothing that the desk has started runs any more. Claims that wait then are answered as
// if their time were over.
func (d *Desk) Run(ctx context.Context) error {
	deafen := d.conn.OnTrouble(func(broker.Trouble) { d.lookAgain() })
	defer deafen()
	tick := time.NewTicker(d.cfg.Tick)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			d.sweep()
		case <-ctx.Done():
			d.close()
			d.errand.Wait()
			return nil
		}
	}
}

func (d *Desk) close() {
	d.mu.Lock()
	d.closed = true
	places := d.places
	d.places = make(map[string]*place)
	d.mu.Unlock()
	for _, p := range places {
		p.close()
	}
}

// lookAgain makes every open claim ask for its work: what was heard may have holes.
func (d *Desk) lookAgain() {
	for _, p := range d.all() {
		p.wake(true)
	}
}

func (d *Desk) all() []*place {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]*place, 0, len(d.places))
	for _, p := range d.places {
		all = append(all, p)
	}
	return all
}

// sweep gives up the places of agents that are silent, and tells those that are late.
func (d *Desk) sweep() {
	now := d.cfg.Now()
	for _, p := range d.all() {
		if p.silentSince(now) >= d.cfg.Silence {
			d.leave(p)
			continue
		}
		for _, j := range p.overdue(now) {
			d.errand.Go(func() { p.giveUp(j) })
		}
	}
}

// leave gives a place up.
func (d *Desk) leave(p *place) {
	d.mu.Lock()
	if d.places[p.agentID] == p {
		delete(d.places, p.agentID)
	}
	d.mu.Unlock()
	p.close()
}

// place is the place of an agent's present process: one that the registry does not name has none.
func (d *Desk) place(ctx context.Context, agentID, instanceID string) (*place, error) {
	if p := d.known(agentID, instanceID); p != nil {
		return p, nil
	}
	registration, err := d.present(ctx, agentID, instanceID)
	switch {
	case err != nil:
		return nil, err
	case registration.Transport.Type == schemas.TransportMQTT:
		return nil, schemas.NewError(schemas.FailedPrecondition, "OTHER_TRANSPORT",
			"this agent is a device on MQTT, and is given its tasks there: fetch payloads and bring results here, and nothing else")
	}
	p := d.newPlace(registration)
	if err := p.listen(); err != nil {
		return nil, err
	}
	return d.keep(p)
}

// bodies is the place of an agent that comes for a payload or with a result. A device on MQTT is answered for elsewhere: its place is for
// this alone, and hears nothing.
func (d *Desk) bodies(ctx context.Context, agentID, instanceID string) (*place, error) {
	if p := d.known(agentID, instanceID); p != nil {
		return p, nil
	}
	registration, err := d.present(ctx, agentID, instanceID)
	if err == nil && registration.Transport.Type == schemas.TransportMQTT {
		return d.newPlace(registration), nil
	}
	return d.place(ctx, agentID, instanceID)
}

// present is the registration of an agent's present process.
func (d *Desk) present(ctx context.Context, agentID, instanceID string) (*schemas.Registration, error) {
	registration, err := d.registered(ctx, agentID)
	switch {
	case err != nil:
		return nil, err
	case instanceID == "" || registration.InstanceID != instanceID:
		return nil, superseded()
	}
	return registration, nil
}

// registered is what the registry knows of an agent.
func (d *Desk) registered(ctx context.Context, agentID string) (*schemas.Registration, error) {
	item, err := d.conn.Agents().Get(ctx, agentID)
	switch {
	case errors.Is(err, broker.ErrNotFound):
		return nil, schemas.NewError(schemas.NotFound, schemas.ReasonUnknownAgent, "no such agent is registered: register first")
	case err != nil:
		return nil, unreachable()
	}
	return &item.Value.Registration, nil
}

func (d *Desk) known(agentID, instanceID string) *place {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.places[agentID]
	if p == nil || p.instance != instanceID {
		return nil
	}
	p.hear()
	return p
}

// keep puts a place in, unless another request was first; a predecessor's goes.
func (d *Desk) keep(p *place) (*place, error) {
	d.mu.Lock()
	old := d.places[p.agentID]
	same := old != nil && old.instance == p.instance
	full := old == nil && len(d.places) >= d.cfg.MaxPlaces
	if !d.closed && !same && !full {
		d.places[p.agentID] = p
	}
	closed := d.closed
	d.mu.Unlock()
	switch {
	case same:
		p.close()
		return old, nil
	case closed:
		p.close()
		return nil, unreachable()
	case full:
		p.close()
		return nil, schemas.NewError(schemas.ResourceExhausted, "TOO_MANY_AGENTS", "%d agents are served here, and no more are", d.cfg.MaxPlaces)
	case old != nil:
		old.close()
	}
	return p, nil
}

func unreachable() *schemas.Error {
	return schemas.NewError(schemas.Unavailable, schemas.ReasonBrokerOutage, "the broker does not answer now; send the same again")
}

// superseded is what a process hears that is not, or no longer, the one that serves the agent.
func superseded() *schemas.Error {
	return schemas.NewError(schemas.FailedPrecondition, "SUPERSEDED",
		"another process serves this agent_id now: stop, or register again and wait until it has gone").With("field", "/instance_id")
}
