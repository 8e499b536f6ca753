package worker

import (
	"context"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// step is how far an assignment has come in this worker.
type step int

const (
	waiting   step = iota // for a slot
	releasing             // it is being handed back
	beginning             // it has a slot; the right to run it is asked for where that is needed
	running               // the handler has it
	finishing             // the handler has returned or was given up; the result is on its way
)

// assignment is one (task, sequence) that this worker holds, from its arrival until a dispatcher has the last word on it. The
// first group of fields never changes; the second is the inbox's, under its lock.
type assignment struct {
	message *schemas.ReachMessage
	offer   *schemas.Offer  // nil for what the agent does not offer
	refusal *schemas.Error  // why it can never run here; nil if it can
	answer  *schemas.Result // how the attempt has ended before; nil if it was not made yet
	first   uint64          // the sequence under which it came
	bytes   int
	arrived time.Time
	expires time.Time
	account *account
	life    context.Context // ends when the worker no longer waits for a dispatcher's word
	ctx     context.Context // ends, before life, when the task is to stop
	cancel  context.CancelCauseFunc
	left    chan struct{} // closed once no handler has it and none will

	step      step
	sequence  uint64 // the fencing token: begin moves it on
	slot      bool
	confirmed bool // the agent acknowledged that it has stopped, or it never began
	givenUp   bool
	lost      bool // with the agent, which another process serves: if it comes back, this may too
	started   time.Time
	listed    time.Time // when a receipt last named it
	unsent    int       // bytes of its result
	idle      bool      // a dispatcher said that nothing waits for the agent

	held int64 // bytes of its large bodies that were moved, and not noted as done with; of the goroutine that carries it
}

func (a *assignment) taskID() string     { return a.message.TaskID }
func (a *assignment) capability() string { return a.message.Capability }
func (a *assignment) attempt(agentID string) attemptKey {
	return attemptKey{agentID, a.taskID(), a.message.Attempt}
}

// before is the order in which tasks wait: by priority, then by age.
func (a *assignment) before(other *assignment) int {
	if p, q := a.message.PriorityOrDefault(), other.message.PriorityOrDefault(); p != q {
		return q - p
	}
	if a.first < other.first {
		return -1
	}
	return 1
}

// readAssignment reads what came for an agent; nil for what is no assignment of its.
func readAssignment(e broker.Entry, r *schemas.Registration, now time.Time) *assignment {
	if e.Phase != schemas.PhaseAssigned || e.Agent != r.AgentID || e.Sequence == 0 || schemas.CheckTaskID(e.TaskID) != nil {
		return nil
	}
	message, why := readMessage(e)
	if message == nil {
		return nil
	}
	if why == nil {
		why = refusal(message, r)
	}
	return &assignment{
		message: message, offer: r.Offer(message.Capability), refusal: why,
		first: e.Sequence, sequence: e.Sequence, bytes: len(e.Body),
		arrived: now, expires: now.Add(lifetime(message, e.At, now)),
		left: make(chan struct{}),
	}
}

// readMessage reads the message of an assignment; nil if it makes no sense. Of one of a later version no more is believed than where
// it came says, and why tells that it was not understood.
func readMessage(e broker.Entry) (message *schemas.ReachMessage, why *schemas.Error) {
	message = new(schemas.ReachMessage)
	err := schemas.DecodeTask(e.Body, message)
	v := message.V
	if err != nil {
		v = schemas.VersionIn(e.Body)
	}
	if !v.Understood() {
		message = &schemas.ReachMessage{TaskID: e.TaskID, Capability: e.Capability, Attempt: 1, Assignment: new(schemas.Assignment)}
		return message, schemas.NewError(schemas.FailedPrecondition, schemas.ReasonVersion,
			"%s supports version %d of the wire, and the task has version %d", e.Agent, schemas.CurrentVersion, v)
	}
	if err != nil || message.Assignment == nil || message.TaskID != e.TaskID || message.Capability != e.Capability {
		return nil, nil
	}
	return message, nil
}

// refusal is why the agent can never run the task; nil if it can.
func refusal(m *schemas.ReachMessage, r *schemas.Registration) *schemas.Error {
	if r.Offer(m.Capability) == nil {
		return schemas.NewError(schemas.FailedPrecondition, schemas.ReasonUnknownCapability,
			"%s does not offer %s", r.AgentID, m.Capability)
	}
	return nil
}

// unboundLife is how long a result is kept for a task that names no expiry.
const unboundLife = 24 * time.Hour

// lifetime is how long the task has to live, measured on the dispatchers' clock where the message says when it was stored: the
// clock of this machine may be wrong.
func lifetime(m *schemas.ReachMessage, stored, now time.Time) time.Duration {
	if m.ExpiresAt.IsZero() {
		return unboundLife
	}
	if stored.IsZero() {
		stored = now
	}
	return max(time.Second, m.ExpiresAt.Sub(stored))
}
