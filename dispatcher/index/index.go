package index

import (
	"iter"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Index holds the open tasks, and a short memory of those that ended.
type Index struct {
	open     map[string]*Task
	common   common
	queues   queues
	inFlight map[string]*Load // by agent
	ended    ended
	dead     ended     // dead letters
	untold   ended     // whose callbacks were not delivered
	due      deadlines // scheduled tasks by start
	expiring deadlines // open tasks by expiry
	foreign  foreign
}

// New is an empty index.
func New() *Index {
	return &Index{
		open:     make(map[string]*Task),
		common:   make(common),
		queues:   newQueues(),
		inFlight: make(map[string]*Load),
		ended:    newEnded(),
		dead:     newEnded(),
		untold:   newEnded(),
		foreign:  newForeign(),
	}
}

// Apply folds one event. Events of one task must come in the order of their sequences. An event without content, which this code
// could not read, changes nothing; after one of a later version the task is no longer open here, whatever it is.
func (x *Index) Apply(e Event) {
	if e.Foreign {
		x.leave(e)
		return
	}
	if e.Message == nil && e.Record == nil {
		return
	}
	x.foreign.remove(e.TaskID)
	old := x.open[e.TaskID]
	if old != nil && e.Sequence <= old.Sequence {
		return
	}
	if old != nil {
		x.remove(old)
	}
	if e.Phase == schemas.PhaseDone {
		x.end(e)
		return
	}
	t := TaskOf(e)
	x.insert(t, old == nil)
	x.count(old, t)
}

// count keeps the turns of the queues: a task that gets a slot takes somebody's turn, whether it waited for it or not.
func (x *Index) count(old, t *Task) {
	if !t.InFlight() || old != nil && old.InFlight() {
		return
	}
	x.queues.served(t, old != nil && old.tried())
}

func (x *Index) end(e Event) {
	x.ended.put(e)
	keepIf(&x.dead, e, e.Record.DeadLetter)
	keepIf(&x.untold, e, e.Record.Callback != nil && e.Record.Callback.State != schemas.CallbackDelivered)
}

func (x *Index) insert(t *Task, isNew bool) {
	x.open[t.ID] = t
	if !t.InFlight() {
		x.common.share(t)
	}
	switch {
	case t.Phase == schemas.PhaseQueued:
		x.queues.add(t)
	case t.Phase == schemas.PhaseScheduled:
		x.due.add(t.Due(), t.ID)
	case t.InFlight():
		for _, agentID := range t.agents() {
			x.load(agentID).add(t)
		}
	}
	if isNew {
		x.expiring.add(t.ExpiresAt.Time, t.ID)
	}
}

func (x *Index) remove(t *Task) {
	delete(x.open, t.ID)
	x.due.compact(len(x.open), x.isOpen)
	x.expiring.compact(len(x.open), x.isOpen)
	x.common.release(t)
	switch {
	case t.Phase == schemas.PhaseQueued:
		x.queues.remove(t)
	case t.InFlight():
		x.unload(t)
	}
}

// Forget drops an open task that the ledger no longer has, if it still stands at that sequence, and reports whether it did.
func (x *Index) Forget(taskID string, sequence uint64) bool {
	t := x.open[taskID]
	if t == nil || t.Sequence != sequence {
		return false
	}
	x.remove(t)
	return true
}

func (x *Index) isOpen(taskID string) bool { return x.open[taskID] != nil }

func (x *Index) unload(t *Task) {
	for _, agentID := range t.agents() {
		load := x.inFlight[agentID]
		load.remove(t)
		if load.Total() == 0 {
			delete(x.inFlight, agentID)
		}
	}
}

func (x *Index) load(agentID string) *Load {
	load := x.inFlight[agentID]
	if load == nil {
		load = newLoad()
		x.inFlight[agentID] = load
	}
	return load
}

// Open is an open task; nil if none has that id.
func (x *Index) Open(taskID string) *Task { return x.open[taskID] }

// Len is the number of open tasks.
func (x *Index) Len() int { return len(x.open) }

// All runs over the open tasks, in no order.
func (x *Index) All() iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for _, t := range x.open {
			if !yield(t) {
				return
			}
		}
	}
}

// Load is what an agent has in flight; never nil.
func (x *Index) Load(agentID string) *Load {
	if load := x.inFlight[agentID]; load != nil {
		return load
	}
	return &noLoad
}

// Busy runs over the agents that have tasks in flight.
func (x *Index) Busy() iter.Seq2[string, *Load] {
	return func(yield func(string, *Load) bool) {
		for agent, load := range x.inFlight {
			if !yield(agent, load) {
				return
			}
		}
	}
}

// QueueLen is how many tasks wait for an agent with this capability, pinned ones included.
func (x *Index) QueueLen(capability string) int { return x.queues.lengths[capability] }

// PinnedLen is how many tasks wait for one agent alone.
func (x *Index) PinnedLen(agentID string) int { return x.queues.pinnedLen(agentID) }

// Waiting runs over the tasks that wait for a capability and that this agent may take, in the order in which they are to get
// slots: first those pinned to it, then those that any agent may take; among each the highest priority first, but one slot of
// LowShare for the others; what was tried before, then one tenant's oldest after the other's. An empty agentID runs over those
// that any may take. The index must not change meanwhile.
func (x *Index) Waiting(capability, agentID string) iter.Seq[*Task] {
	return x.queues.waiting(capability, agentID)
}

// WaitingCapabilities runs over the capabilities that tasks wait for.
func (x *Index) WaitingCapabilities() iter.Seq[string] {
	return func(yield func(string) bool) {
		for capability := range x.queues.lengths {
			if !yield(capability) {
				return
			}
		}
	}
}

// Before reports whether a task that waits, and that any agent may take, is to get a slot before a new one of that priority does.
func (x *Index) Before(capability string, priority int) bool {
	return x.queues.before(capability, priority)
}

// Oldest is since when the oldest task waits of those that any agent may take; zero if none does.
func (x *Index) Oldest(capability string) time.Time { return x.queues.oldest(capability) }

// Position is a queued task's place among those that any agent may take, from 1; counting stops at limit.
func (x *Index) Position(t *Task, limit int) int { return x.queues.position(t, limit) }

// Due gives the scheduled tasks whose start has come. They stay scheduled until an event moves them.
func (x *Index) Due(now time.Time) []*Task {
	return x.ripe(&x.due, now, func(t *Task) (time.Time, bool) { return t.Due(), t.Phase == schemas.PhaseScheduled })
}

// Expired gives the open tasks whose expiry has come. They stay open until an event ends them.
func (x *Index) Expired(now time.Time) []*Task {
	return x.ripe(&x.expiring, now, func(t *Task) (time.Time, bool) { return t.ExpiresAt.Time, true })
}

// ripe looks at the deadlines up to now. One whose task is gone or has another deadline is dropped; the others stay for the next look.
func (x *Index) ripe(list *deadlines, now time.Time, deadline func(*Task) (time.Time, bool)) []*Task {
	var tasks []*Task
	for _, d := range list.takeUntil(now) {
		t := x.open[d.taskID]
		if t == nil {
			continue
		}
		if at, counts := deadline(t); counts && at.UnixMilli() == d.at {
			tasks = append(tasks, t)
			list.add(at, d.taskID)
		}
	}
	return tasks
}

// Ended runs over the remembered ended tasks, newest first.
func (x *Index) Ended() iter.Seq[*Ended] { return x.ended.newestFirst() }

// Untold runs over the ended tasks whose callbacks wait or have failed, newest first.
func (x *Index) Untold() iter.Seq[*Ended] { return x.untold.newestFirst() }

// DeadLetters runs over the dead letters, newest first.
func (x *Index) DeadLetters() iter.Seq[*Ended] { return x.dead.newestFirst() }
