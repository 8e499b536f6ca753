package index

import (
	"iter"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Foreign is an open task whose last event is of a version that this code does not speak: others look after it. All that is known of
// it is what the ledger says without its content.
type Foreign struct {
	Sequence uint64
	Previous uint64
	AgentID  string // empty where there is none

	until time.Time // the ledger forgets it
}

// foreign are the tasks of others.
type foreign struct {
	byAgent map[string]map[string]Foreign // by agent, then by task
	agents  map[string]string             // by task
	look    int                           // at so many it is time to see which the ledger has forgotten
}

// foreignLook is how many there are before it matters.
const foreignLook = 1024

func newForeign() foreign {
	return foreign{byAgent: make(map[string]map[string]Foreign), agents: make(map[string]string), look: foreignLook}
}

func (f *foreign) put(e Event) {
	f.remove(e.TaskID)
	if e.Phase == schemas.PhaseDone {
		return
	}
	if len(f.agents) >= f.look {
		f.prune(e.At)
	}
	if f.byAgent[e.AgentID] == nil {
		f.byAgent[e.AgentID] = make(map[string]Foreign)
	}
	f.byAgent[e.AgentID][e.TaskID] = Foreign{Sequence: e.Sequence, Previous: e.Previous, AgentID: e.AgentID, until: e.At.Add(e.TTL)}
	f.agents[e.TaskID] = e.AgentID
}

func (f *foreign) remove(taskID string) {
	agentID, found := f.agents[taskID]
	if !found {
		return
	}
	delete(f.agents, taskID)
	delete(f.byAgent[agentID], taskID)
	if len(f.byAgent[agentID]) == 0 {
		delete(f.byAgent, agentID)
	}
}

func (f *foreign) prune(now time.Time) {
	for taskID, agentID := range f.agents {
		if f.byAgent[agentID][taskID].until.Before(now) {
			f.remove(taskID)
		}
	}
	f.look = max(foreignLook, 2*len(f.agents))
}

// ForeignLen is how many open tasks are known whose last event this code could not understand.
func (x *Index) ForeignLen() int { return len(x.foreign.agents) }

// Foreign runs over those that an agent has.
func (x *Index) Foreign(agentID string) iter.Seq[Foreign] {
	return func(yield func(Foreign) bool) {
		for _, task := range x.foreign.byAgent[agentID] {
			if !yield(task) {
				return
			}
		}
	}
}

// leave takes a task out of all that is decided on: what it is now, only others know.
func (x *Index) leave(e Event) {
	if old := x.open[e.TaskID]; old != nil {
		if e.Sequence <= old.Sequence {
			return
		}
		x.remove(old)
	}
	x.foreign.put(e)
}
