package dispatcher

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/breaker"
	"github.com/agentreach/agent-reach/dispatcher/callback"
	"github.com/agentreach/agent-reach/dispatcher/health"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/dispatcher/slots"
	"github.com/agentreach/agent-reach/dispatcher/stats"
	"github.com/agentreach/agent-reach/schemas"
)

// view is what a dispatcher knows at this moment. Everything in it is guarded by mu; nothing does I/O under it.
type view struct {
	mu       sync.Mutex
	order    *index.Order
	tasks    *index.Index
	roster   *roster
	speeds   *stats.Stats
	breakers *breaker.Breakers
	prober   *health.Prober
	slots    *slots.Reserved
	writing  map[string]*written // own writes on their way, by write id
	moving   map[string]bool     // tasks that a loop of this dispatcher is about to change, by id
	contacts map[string]*contact // what agents said of assigned tasks, by task id
	waiters  map[string][]chan *schemas.Record
	callers  map[string]string // where the ends of tasks are told beside their result subjects, by task id
	bells    followers
	peers    []string
	recent   recentlyEnded
	untold   []endedAt            // of recent, those whose peer may have gone before it told of them
	fullAt   map[string]time.Time // when all agents of a capability were last found full
	judging  time.Time            // nobody is judged before
	current  bool                 // the index has caught up with the ledger
	messages uint64               // in the ledger
	bytes    uint64

	callbacks  *callback.Lines   // those that are owed, everybody's
	candidates []score.Candidate // memory for the next plan
}

// contact is what is known of a task's way to its agent, beyond the ledger.
type contact struct {
	agentID   string
	sequence  uint64
	instance  string // the process that named it
	confirmed bool   // the agent's worker holds it
	running   bool   // the agent was asked: the attempt has happened
	progress  *schemas.Progress
	hops      []schemas.Hop
	resent    int
	resendAt  time.Time
	misfits   []*agent // whose own schema, as they are registered, does not take its payload
}

func newView(cfg Config) *view {
	return &view{
		breakers: breaker.New(maxBreakers),
		prober:   health.New(cfg.Probes, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))),
		order:    index.NewOrder(0),
		tasks:    index.New(),
		roster:   newRoster(),
		speeds:   stats.New(),
		slots:    slots.New(),
		writing:  make(map[string]*written),
		moving:   make(map[string]bool),
		contacts: make(map[string]*contact),
		fullAt:   make(map[string]time.Time),
		waiters:  make(map[string][]chan *schemas.Record),
		callers:  make(map[string]string),
		bells:    make(followers),

		callbacks: callback.New(cfg.Callbacks.Limits),
	}
}

// isOf reports whether the contact is one of this assignment. A begin is no new one; a move is, be it to the same agent.
func (c *contact) isOf(t *index.Task) bool {
	began := t.Phase == schemas.PhaseBegun && c.sequence == t.Previous
	return c.agentID == t.AgentID && (c.sequence == t.Sequence || began)
}

// unfit are the agents that a task's payload does not fit, whoever has the task. One that has registered anew is looked at anew.
func (v *view) unfit(taskID string) []*agent {
	c := v.contacts[taskID]
	if c == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.misfits), func(a *agent) bool { return v.roster.agents[a.id()] != a })
}

// contactOf is the contact of a task's present assignment; a new assignment starts a new one.
func (v *view) contactOf(t *index.Task) *contact {
	c := v.contacts[t.ID]
	if c == nil || !c.isOf(t) {
		c = &contact{agentID: t.AgentID, misfits: v.unfit(t.ID)}
		v.contacts[t.ID] = c
	}
	c.sequence = t.Sequence
	return c
}

// confirmed reports whether the agent's worker has named the task since it was assigned.
func (v *view) confirmed(t *index.Task) bool {
	c := v.contacts[t.ID]
	return t.Phase == schemas.PhaseBegun || c != nil && c.sequence == t.Sequence && c.confirmed
}

// reached reports whether the agent was asked to run the task since it was assigned.
func (v *view) reached(t *index.Task) bool {
	c := v.contacts[t.ID]
	return t.Phase == schemas.PhaseBegun || c != nil && c.sequence == t.Sequence && c.running
}

// stands reports whether a task is still where an event has left it; the caller holds the lock.
func (v *view) stands(taskID string, sequence uint64) bool {
	t := v.tasks.Open(taskID)
	return t != nil && t.Sequence == sequence
}

// grab claims a task for one change by a loop of this dispatcher; release gives it back. The caller of grab holds the lock.
func (v *view) grab(taskID string) bool {
	if v.moving[taskID] {
		return false
	}
	v.moving[taskID] = true
	return true
}

func (v *view) release(taskID string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.moving, taskID)
}

// wait registers a waiter for the end of a task; forget takes it back.
func (v *view) wait(taskID string) (ended chan *schemas.Record, forget func()) {
	ended = make(chan *schemas.Record, 1)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.waiters[taskID] = append(v.waiters[taskID], ended)
	return ended, func() { v.forgetWaiter(taskID, ended) }
}

func (v *view) forgetWaiter(taskID string, ended chan *schemas.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	left := v.waiters[taskID][:0]
	for _, w := range v.waiters[taskID] {
		if w != ended {
			left = append(left, w)
		}
	}
	if len(left) == 0 {
		delete(v.waiters, taskID)
		return
	}
	v.waiters[taskID] = left
}

func (v *view) wake(taskID string, record *schemas.Record) {
	for _, w := range v.waiters[taskID] {
		w <- record // buffered, and sent once: the list goes
	}
	delete(v.waiters, taskID)
}
