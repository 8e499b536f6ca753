package dispatcher

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

// refuse says why a new task cannot be taken, if it cannot; the caller holds the lock.
func (d *Dispatcher) refuse(m *schemas.ReachMessage, p plan) error {
	if m.NotBefore.After(m.SubmittedAt.Time) {
		return nil
	}
	if p.online == 0 && !m.WaitForAgent && m.Schedule == "" {
		return noAgent(m.Capability, p.left)
	}
	if p.agent != "" {
		return nil
	}
	if m.FailFast {
		return d.busy(m, p)
	}
	return d.queueFull(m, p)
}

// named is how many of the agents that were left out a refusal names in its words; its details have more.
const named = 3

// noAgent says, of the agents that offer a capability, why each cannot have the task. Those whose groups the caller may not reach do not
// exist for it.
func noAgent(capability string, left []exclusion) *schemas.Error {
	left = slices.DeleteFunc(slices.Clone(left), func(x exclusion) bool { return x.Why == score.WhyGroup })
	var why strings.Builder
	for i, x := range left {
		if i == named {
			fmt.Fprintf(&why, ", and %d more", len(left)-named)
			break
		}
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		fmt.Fprintf(&why, "%s%s (%s)", separator, x.AgentID, x.Why)
	}
	e := schemas.NewError(schemas.Unavailable, schemas.ReasonNoAgent,
		"no agent for %s that takes this task is online%s; start a worker for it, or submit with wait_for_agent", capability, why.String())
	if len(left) > 0 {
		e = e.With("left_out", left)
	}
	return e
}

// leastRetry is the least time after which a caller that was refused for want of room is told to come back.
const leastRetry = 100 // milliseconds

func (d *Dispatcher) busy(m *schemas.ReachMessage, p plan) error {
	e := schemas.NewError(schemas.ResourceExhausted, schemas.ReasonBusy,
		"every agent for %s is busy (%d of %d slots)", m.Capability, p.taken, p.slots)
	e.RetryAfterMS = max(d.estimate(m.Capability, p, 1), leastRetry)
	return e.With("estimated_start_ms", e.RetryAfterMS)
}

func (d *Dispatcher) queueFull(m *schemas.ReachMessage, p plan) error {
	length, limit, where := d.view.tasks.QueueLen(m.Capability), d.cfg.QueuePerCapability, "the queue of "+m.Capability
	if m.WaitForAgent && m.PreferAgent != "" && d.view.tasks.PinnedLen(m.PreferAgent) >= d.cfg.QueuePerAgent {
		length, limit, where = d.view.tasks.PinnedLen(m.PreferAgent), d.cfg.QueuePerAgent, "the queue of agent "+m.PreferAgent
	}
	if length < limit {
		return nil
	}
	e := schemas.NewError(schemas.ResourceExhausted, schemas.ReasonQueueFull, "%s is full (%d tasks wait): try again later", where, length)
	e.RetryAfterMS = max(d.estimate(m.Capability, p, 1), leastRetry)
	return e
}

// estimate is a guess, in milliseconds, of when a task at a place of the queue starts; 0 where nothing is known of its agents.
func (d *Dispatcher) estimate(capability string, p plan, position int) int64 {
	if len(p.chain) == 0 || p.slots == 0 {
		return 0
	}
	mean, known := d.view.speeds.Mean(p.chain[0], capability)
	if !known && len(p.best) > 0 {
		mean = p.best[0].Median // as it was declared
	}
	return (mean * time.Duration(position) / time.Duration(p.slots)).Milliseconds()
}
