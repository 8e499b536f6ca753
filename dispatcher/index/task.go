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

	MsgID       string
	TraceID     string
	SubmittedAt schemas.Time
	NotBefore   schemas.Time
	ExpiresAt   schemas.Time
	ForgetAt    schemas.Time

	Terms *Terms

	kind    *kind         // the tasks with the same terms, while it waits
	waiting *list.Element // its place in a queue, while it is queued
}

// TaskOf is the task as an event of an open phase leaves it.
func TaskOf(e Event) *Task {
	m := e.Message
	return &Task{
		ID: e.TaskID, Sequence: e.Sequence, Previous: e.Previous, Phase: e.Phase, Capability: e.Capability, AgentID: e.AgentID,
		TTL: e.TTL, At: e.At, MsgID: m.MsgID, TraceID: m.TraceID,
		SubmittedAt: m.SubmittedAt, NotBefore: m.NotBefore, ExpiresAt: m.ExpiresAt, ForgetAt: m.ForgetAt, Terms: termsOf(m),
	}
}

// Tenant is whose task it is.
func (t *Task) Tenant() string { return t.Terms.Tenant }

// InFlight reports whether an agent has the task.
func (t *Task) InFlight() bool {
	return t.Phase == schemas.PhaseAssigned || t.Phase == schemas.PhaseBegun
}

// Idempotent reports whether the task may run again after its outcome is unknown.
func (t *Task) Idempotent() bool {
	return t.Terms.Assignment != nil && t.Terms.Assignment.Idempotent
}

// Also is an agent that was asked before AgentID and may still be the one that finishes; empty if there is none.
func (t *Task) Also() string {
	if t.Terms.Assignment == nil {
		return ""
	}
	return t.Terms.Assignment.Also
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
	if t.Terms.WaitForAgent {
		return t.Terms.PreferAgent
	}
	return ""
}

// Due is when a scheduled task is to start.
func (t *Task) Due() time.Time { return t.NotBefore.Time }

// level is the priority at which the task waits.
func (t *Task) level() int { return min(max(t.Terms.Priority, 0), schemas.MaxPriority) }

// tried reports whether the task has been with an agent before.
func (t *Task) tried() bool { return t.Terms.Attempt > 0 }

// age is the moment from which the task counts as waiting: when it was submitted, or was to start; a retry keeps its first age.
func (t *Task) age() time.Time {
	if t.tried() {
		return t.SubmittedAt.Time
	}
	if t.NotBefore.After(t.SubmittedAt.Time) {
		return t.NotBefore.Time
	}
	return t.SubmittedAt.Time
}

// Slow reports whether the task is with its agent for longer than such a task is expected to take. Nothing is stopped by that.
func (t *Task) Slow(now time.Time) bool {
	a := t.Terms.Assignment
	if !t.InFlight() || a == nil || a.TimeoutHintMS == 0 {
		return false
	}
	began := a.BegunAt.Time
	if began.IsZero() {
		began = t.At
	}
	return now.Sub(began) > schemas.Duration(a.TimeoutHintMS)
}

// View is the task as its readers see it.
func (t *Task) View() schemas.Task {
	s := t.Terms
	view := schemas.Task{
		TaskID: t.ID, MsgID: t.MsgID, State: schemas.OpenState(t.Phase, s.Attempt), Phase: t.Phase, Capability: t.Capability,
		AgentID: t.AgentID, Attempt: s.Attempt, Revision: t.Sequence, SubmittedAt: t.SubmittedAt, ExpiresAt: t.ExpiresAt,
		NotBefore: t.NotBefore, KeptUntil: t.ForgetAt, RetryOf: s.RetryOf, TraceID: t.TraceID, Schedule: s.Schedule,
	}
	if s.Callback != "" {
		view.Callback = &schemas.Callback{State: schemas.CallbackWaiting, URL: s.Callback}
	}
	if s.Assignment != nil {
		view.StartedAt = s.Assignment.BegunAt
	}
	return view
}

// On is the task as the given one of its agents has it.
func (t *Task) On(agentID string) *Task {
	on := *t
	on.AgentID = agentID
	return &on
}
