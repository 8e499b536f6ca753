package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// envelopeRoom is what a stored result may need beside the result itself: hops, ids, headers.
const envelopeRoom = 64 << 10

// Agent is one agent that the worker serves: what it declares of itself, and how it is called.
type Agent struct {
	Registration schemas.Registration // InstanceID is made up when empty
	Handler      Handler

	// Health says whether the agent can work now; nil means always. It is asked before each heartbeat and must end with its context.
	Health func(context.Context) error

	// Voice is what the agent says of itself beside that; nil where it does not.
	Voice *Voice
}

// Config of a worker. Conn and Agents are needed; the zero value of all else is useful.
type Config struct {
	Conn   *broker.Conn
	Agents []Agent
	Logger zerolog.Logger

	HeartbeatInterval time.Duration // a dispatcher may ask for a shorter one; 15 s
	HeartbeatGap      time.Duration // between two heartbeats at least, whatever changes; 1 s
	HealthTimeout     time.Duration // of one look at an agent's health; 3 s
	ProbeTimeout      time.Duration // of one probe; 4 s
	ReceiptAfter      time.Duration // an assignment is named in a receipt once it is held for that long; 500 ms
	ReceiptInterval   time.Duration // and then while it runs; a dispatcher may ask for a shorter one; 15 s
	RequestTimeout    time.Duration // for one answer of a dispatcher; 2 s
	PullTimeout       time.Duration // for the end of a pull; 5 s
	RunTimeout        time.Duration // of a task whose assignment names no run limit; 30 s
	StopGrace         time.Duration // for a handler to return once its context has ended; 10 s
	CancelWait        time.Duration // for a handler to return before a cancel is answered; 5 s
	DrainTimeout      time.Duration // for tasks to end when the worker is told to stop; 30 s
	ExcessWait        time.Duration // what would wait longer for a slot is handed back; 100 ms

	MaxWaiting  int // assignments that an agent holds beyond its slots; 1,024
	MaxBytes    int // of the payloads and results that an agent's assignments hold; 64 MiB
	MaxRequests int // begins, results and releases that all agents have on their way at once; 512
	ResultLimit int // bytes of one result; 128 MiB. A dispatcher may take less

	MaxPayloads int64 // bytes of large payloads that all agents hold at once; 256 MiB

	// JournalDir is the folder of the journal, by which a worker that was killed finishes what its agents had answered, and runs
	// nothing twice. One process has it at a time. Empty: no journal.
	JournalDir string

	Now func() time.Time // the clock; time.Now

	window   chan struct{}       // holds one for each of what MaxRequests bounds
	payloads *semaphore.Weighted // holds what MaxPayloads bounds
	reclaim  *reclaimer
}

func (c Config) withDefaults() Config {
	c.HeartbeatInterval = cmp.Or(c.HeartbeatInterval, 15*time.Second)
	c.HeartbeatGap = cmp.Or(c.HeartbeatGap, time.Second)
	c.HealthTimeout = cmp.Or(c.HealthTimeout, 3*time.Second)
	c.ProbeTimeout = cmp.Or(c.ProbeTimeout, 4*time.Second)
	c.ReceiptAfter = cmp.Or(c.ReceiptAfter, 500*time.Millisecond)
	c.ReceiptInterval = cmp.Or(c.ReceiptInterval, 15*time.Second)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, 2*time.Second)
	c.PullTimeout = cmp.Or(c.PullTimeout, 5*time.Second)
	c.RunTimeout = cmp.Or(c.RunTimeout, 30*time.Second)
	c.StopGrace = cmp.Or(c.StopGrace, 10*time.Second)
	c.CancelWait = cmp.Or(c.CancelWait, 5*time.Second)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 30*time.Second)
	c.ExcessWait = cmp.Or(c.ExcessWait, 100*time.Millisecond)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 1024)
	c.MaxBytes = cmp.Or(c.MaxBytes, 64<<20)
	c.MaxRequests = cmp.Or(c.MaxRequests, 512)
	c.ResultLimit = cmp.Or(c.ResultLimit, schemas.MaxBody)
	c.MaxPayloads = cmp.Or(c.MaxPayloads, 2*schemas.MaxBody)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.window = make(chan struct{}, max(1, c.MaxRequests))
	c.payloads = semaphore.NewWeighted(c.MaxPayloads)
	c.reclaim = new(reclaimer)
	agents := make([]Agent, len(c.Agents))
	for i, agent := range c.Agents {
		agents[i] = agent.withDefaults()
	}
	c.Agents = agents
	return c
}

// resultRoom is the largest result that fits one message of the broker, with its envelope.
func resultRoom(conn *broker.Conn) int {
	if conn == nil {
		return 0
	}
	most := int(conn.MaxPayload())
	return max(most-envelopeRoom, most/2)
}

func (c Config) check() error {
	if c.Conn == nil {
		return errors.New("a worker needs a connection to the broker")
	}
	if len(c.Agents) == 0 {
		return errors.New("a worker needs an agent")
	}
	if c.ResultLimit < 0 || c.MaxPayloads < 0 {
		return errors.New("the bounds of results and payloads are not negative")
	}
	seen := make(map[string]bool)
	for i := range c.Agents {
		id := c.Agents[i].Registration.AgentID
		if seen[id] {
			return fmt.Errorf("agent %q is there twice", id)
		}
		seen[id] = true
		if err := c.Agents[i].check(); err != nil {
			return fmt.Errorf("agent %q: %w", id, err)
		}
	}
	return nil
}

func (a *Agent) check() error {
	if a.Handler == nil {
		return errors.New("it has no handler")
	}
	if problem := a.Registration.Check(); problem != nil {
		return problem
	}
	_, err := schemas.Encode(&a.Registration) // fails where a schema or the metadata is no JSON
	return err
}

// withDefaults fills in what an agent written in Go need not say, and names the process that serves it.
func (a Agent) withDefaults() Agent {
	r := &a.Registration
	r.InstanceID = cmp.Or(r.InstanceID, uuid.Must(uuid.NewV7()).String())
	r.Version = cmp.Or(r.Version, "0.0.0")
	r.Transport.Type = cmp.Or(r.Transport.Type, "func")
	r.LargeBodies = true
	return a
}

// health asks the agent's own health check, if it has one. One that panics has failed.
func (a *Agent) health(ctx context.Context) (err error) {
	if a.Health == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the health check panicked (%T)", p)
		}
	}()
	return a.Health(ctx)
}
