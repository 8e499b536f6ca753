// Package fronttest has a house for the tests of fronts: a front.Service in memory, whose agents answer as a test tells them to. It
// knows nothing of brokers, agents or routes; what it shares with the real house is what a caller can see.
package fronttest

import (
	"slices"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

// AgentID is the agent that every task goes to.
const AgentID = "laptop-1"

// House is a front.Service. All its methods may be called at once. Its clock stands still at Now.
type House struct {
	mu           sync.Mutex
	tasks        map[string]*held
	byKey        map[string]string // tenant and msg_id to task_id
	agents       map[string]*schemas.Agent
	capabilities map[string]*schemas.Capability
	schedules    map[string]*schemas.Schedule // by tenant and name
	scripts      map[string]Script
	failure      error
	calls        []string
	revision     uint64
	staged       map[staged]map[int][]byte
	inline       int           // results beyond it part from their tasks; 0: none does
	changed      chan struct{} // closed and made anew when a task ends, or its agent says something
	onEnd        func(tenant string, task *schemas.Task)
}

// Script is how the tasks of a capability go: Refuse at submit, Hold until End is called, fail with Error, or, the zero value, echo
// the payload at once.
type Script struct {
	Refuse *schemas.Error
	Error  *schemas.Error
	Hold   bool
}

type held struct {
	tenant  string
	task    schemas.Task
	message schemas.ReachMessage
	result  []byte        // where it is no part of the task
	said    []front.Event // by its agent
}

// Now is the only time that a House knows.
var Now = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

var _ front.Service = (*House)(nil)

// New makes a house with one agent that offers the capabilities echo, which answers at once, and hold, which does not.
func New() *House {
	h := &House{
		tasks: map[string]*held{}, byKey: map[string]string{},
		agents: map[string]*schemas.Agent{}, capabilities: map[string]*schemas.Capability{},
		scripts: map[string]Script{"hold": {Hold: true}}, changed: make(chan struct{}), staged: map[staged]map[int][]byte{},
		schedules: map[string]*schemas.Schedule{},
	}
	h.addAgent(&schemas.Registration{
		AgentID: AgentID, Version: "1.2.0", Transport: schemas.Transport{Type: "func"},
		Capabilities: []schemas.Offer{{ID: "echo"}, {ID: "hold"}},
	})
	for _, id := range []string{"echo", "hold"} {
		h.capabilities[id] = &schemas.Capability{ID: id, InputSchema: []byte("true"), OutputSchema: []byte("true")}
	}
	return h
}

// On scripts a capability, which is known from then on.
func (h *House) On(capability string, script Script) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.scripts[capability] = script
	h.capabilities[capability] = &schemas.Capability{ID: capability, InputSchema: []byte("true"), OutputSchema: []byte("true")}
}

// OnEnd has fn called with every task that ends, once.
func (h *House) OnEnd(fn func(tenant string, task *schemas.Task)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.onEnd = fn
}

// FailWith makes every call fail until it is called with nil.
func (h *House) FailWith(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failure = err
}

// Calls are the methods called so far, in order.
func (h *House) Calls() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

// Message is a task as it was submitted; nil if there is none of that id.
func (h *House) Message(taskID string) *schemas.ReachMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.tasks[taskID]; t != nil {
		return &t.message
	}
	return nil
}

// Len is how many tasks there are.
func (h *House) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.tasks)
}

// End ends a task, completed with result, or failed with failure if that is given. A task that has ended stays as it is.
func (h *House) End(taskID string, result schemas.Payload, failure *schemas.Error) {
	h.mu.Lock()
	state := schemas.StateCompleted
	if failure != nil {
		state = schemas.StateFailed
	}
	tell := h.end(h.tasks[taskID], state, result, failure)
	h.mu.Unlock()
	tell()
}

// end is called with the lock held; what it returns, without.
func (h *House) end(t *held, state schemas.State, result schemas.Payload, failure *schemas.Error) (tell func()) {
	if t == nil || t.task.State.Terminal() {
		return func() {}
	}
	h.revision++
	t.task.State, t.task.Phase, t.task.Revision = state, schemas.PhaseDone, h.revision
	t.task.Result, t.task.Error = result, failure
	h.partResult(t)
	t.task.FinishedAt, t.task.KeptUntil = schemas.At(Now.Add(time.Second)), schemas.At(Now.Add(24*time.Hour))
	close(h.changed)
	h.changed = make(chan struct{})
	onEnd, tenant, task := h.onEnd, t.tenant, t.task
	return func() {
		if onEnd != nil {
			onEnd(tenant, &task)
		}
	}
}

// enter notes a call and takes the lock, unless calls fail.
func (h *House) enter(call string) error {
	h.mu.Lock()
	h.calls = append(h.calls, call)
	if err := h.failure; err != nil {
		h.mu.Unlock()
		return err
	}
	return nil
}

func (h *House) find(tenant, taskID string) (*held, error) {
	t := h.tasks[taskID]
	if t == nil || t.tenant != tenant {
		return nil, schemas.NewError(schemas.NotFound, schemas.ReasonUnknownTask, "no task has this id")
	}
	return t, nil
}

// Newest is the task submitted last.
func (h *House) Newest() *schemas.Task {
	h.mu.Lock()
	defer h.mu.Unlock()
	var newest *schemas.Task
	for _, t := range h.tasks {
		if newest == nil || t.task.TaskID > newest.TaskID {
			newest = &t.task
		}
	}
	if newest == nil {
		return nil
	}
	task := *newest
	return &task
}

// Plant puts an open task of a tenant into the house, and gives its id.
func (h *House) Plant(tenant string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.accept(tenant, "hold", &schemas.ReachMessage{Capability: "hold"}).task.TaskID
}
