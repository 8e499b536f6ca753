package index

import (
	"container/list"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Task is one open task. Its fields are those of the task's last event; they are not changed once it is in the index: the next
// event of the task puts a new Task in its place.
type Task struct {
	ID         string
	Sequence   uint64 // the fencing token: whoever changes the task must name it
	Previous   uint64
	Phase      schemas.Phase
	Capability string
	AgentID    string
	TTL        time.Duration
	At         time.Time
	Message    *schemas.ReachMessage // without its payload

	waiting *list.Element // its place in a queue, while it is queued
}

// TaskOf is the task as an event of an open phase leaves it.
func TaskOf(e Event) *Task {
	return &Task{
		ID: e.TaskID, Sequence: e.Sequence, Previous: e.Previous, Phase: e.Phase, Capability: e.Capability, AgentID: e.AgentID,
		TTL: e.TTL, At: e.At, Message: e.Message,
	}
}

// Tenant is whose task it is.
func (t *Task) Tenant() string { return t.Message.Tenant }

// InFlight reports whether an agent has the task.
func (t *Task) InFlight() bool {
	return t.Phase == schemas.PhaseAssigned || t.Phase == schemas.PhaseBegun
}

// Idempotent reports whether the task may run again after its outcome is unknown.
func (t *Task) Idempotent() bool {
	return t.Message.Assignment != nil && t.Message.Assignment.Idempotent
}

// Also is an agent that was asked before AgentID and may still be the one that finishes; empty if there is none.
func (t *Task) Also() string {
	if t.Message.Assignment == nil {
		return ""
	}
	return t.Message.Assignment.Also
}

// agents are those that have the task.
func (t *Task) agents() []string {
	if also := t.Also(); also != "" {
		return []string{t.AgentID, also}
	}
	return []string{t.AgentID}
}

// PinnedTo is the one agent that may run the task; empty if any may.
func (t *Task) PinnedTo() string {
	if t.Message.WaitForAgent {
		return t.Message.PreferAgent
	}
	return ""
}

// Due is when a scheduled task is to start.
func (t *Task) Due() time.Time { return t.Message.NotBefore.Time }

// level is the priority at which the task waits.
func (t *Task) level() int { return min(max(t.Message.PriorityOrDefault(), 0), schemas.MaxPriority) }

// tried reports whether the task has been with an agent before.
func (t *Task) tried() bool { return t.Message.Attempt > 0 }

// age is the moment from which the task counts as waiting: when it was submitted, or was to start; a retry keeps its first age.
func (t *Task) age() time.Time {
	if t.tried() {
		return t.Message.SubmittedAt.Time
	}
	if t.Message.NotBefore.After(t.Message.SubmittedAt.Time) {
		return t.Message.NotBefore.Time
	}
	return t.Message.SubmittedAt.Time
}

// View is the task as its readers see it.
func (t *Task) View() schemas.Task {
	m := t.Message
	view := schemas.Task{
		TaskID: t.ID, MsgID: m.MsgID, State: schemas.OpenState(t.Phase, m.Attempt), Phase: t.Phase, Capability: t.Capability,
		AgentID: t.AgentID, Attempt: m.Attempt, Revision: t.Sequence, SubmittedAt: m.SubmittedAt, ExpiresAt: m.ExpiresAt,
		NotBefore: m.NotBefore, KeptUntil: m.ForgetAt, RetryOf: m.RetryOf, TraceID: m.TraceID, Schedule: m.Schedule,
	}
	if m.Callback != "" {
		view.Callback = &schemas.Callback{State: schemas.CallbackWaiting, URL: m.Callback}
	}
	if m.Assignment != nil {
		view.StartedAt = m.Assignment.BegunAt
	}
	return view
}

// On is the task as the given one of its agents has it.
func (t *Task) On(agentID string) *Task {
	on := *t
	on.AgentID = agentID
	return &on
}
