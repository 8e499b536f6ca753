package dispatcher

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/dispatcher/slots"
	"github.com/agentreach/agent-reach/schemas"
)

// change is one step of a task that a dispatcher writes to the ledger: a compare-and-set on the task's last message. Exactly one of
// message, with its payload, and record is set.
type change struct {
	taskID     string
	previous   uint64 // the sequence that it acts on; 0 creates the task
	phase      schemas.Phase
	capability string
	agentID    string // empty where there is none
	ttl        time.Duration
	writeID    string // empty: made up
	message    *schemas.ReachMessage
	record     *schemas.Record
	payload    *body  // the message's, where it is not kept yet and in no memory; else nil
	shelved    string // a body that was stored for it: dropped if it does not come about
}

// minTTL is the least that the broker takes.
const minTTL = time.Second

// ttl is how long a phase of a task is kept. It never ends before an earlier phase of the same task would, whatever clock that was
// written by: a finished task must not open again.
func ttl(forgetAt, now time.Time, earlier time.Duration) time.Duration {
	return max(forgetAt.Sub(now), earlier, minTTL)
}

// next is the change of an open task to another open phase.
func (d *Dispatcher) next(t *index.Task, phase schemas.Phase, agentID string, message *schemas.ReachMessage) change {
	return change{
		taskID: t.ID, previous: t.Sequence, phase: phase, capability: t.Capability, agentID: agentID,
		ttl: ttl(message.ForgetAt.Time, d.now(), t.TTL), message: message,
	}
}

// end is the change that ends an open task.
func (d *Dispatcher) end(t *index.Task, record *schemas.Record) change {
	return change{
		taskID: t.ID, previous: t.Sequence, phase: schemas.PhaseDone, capability: t.Capability, agentID: t.AgentID,
		ttl: ttl(t.ForgetAt.Time, d.now(), t.TTL), record: record,
	}
}

// write stores a change and folds it. The error is a *broker.Conflict where someone else was first, or says that the outcome is
// not known, or why the ledger refused it. Where the change takes a slot at an agent, that is reserved by the caller and kept until
// the index counts it.
func (d *Dispatcher) write(ctx context.Context, c change) (stored, error) {
	c, err := d.shelve(ctx, c)
	if err != nil {
		d.unshelve(c, err)
		return stored{}, err
	}
	body, err := schemas.Encode(c.body())
	if err != nil {
		return stored{}, err
	}
	if c.writeID == "" {
		c.writeID = newWriteID()
	}
	event := c.event()
	d.expect(c.writeID, &written{body, event})
	entry, err := d.ledger.Write(ctx, broker.Entry{
		TaskID: c.taskID, Phase: c.phase, Capability: c.capability, Agent: agentToken(c.agentID), Body: body,
		Previous: c.previous, Write: c.writeID, TTL: c.ttl,
	})
	d.wrote(c.writeID)
	if err != nil {
		d.forgetGone(c, err)
		d.unshelve(c, err)
		return stored{}, err
	}
	event.Sequence = entry.Sequence
	if !bytes.Equal(entry.Body, body) { // another dispatcher was asked for the same before, and what that one made of it counts
		if event, err = decodeEvent(entry); err != nil {
			return stored{}, err
		}
	}
	d.add(event)
	d.countEnd(c)
	return stored{entry, event}, nil
}

// forgetGone drops an open task that the ledger no longer has. Whoever reads the ledger while it forgets may see a task open and miss its
// end.
func (d *Dispatcher) forgetGone(c change, err error) {
	var conflict *broker.Conflict
	if c.previous == 0 || !errors.As(err, &conflict) || conflict.Last.Sequence != 0 {
		return
	}
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	if d.view.tasks.Forget(c.taskID, c.previous) {
		delete(d.view.contacts, c.taskID)
		d.log.Debug().Str("task_id", c.taskID).Msg("the ledger has forgotten a task that was open here")
	}
}

// stored is a change that the ledger has taken: as the ledger has it, and as the index does.
type stored struct {
	entry broker.Entry
	event index.Event
}

// writeReserved is write for a change that takes a slot which the caller has reserved.
func (d *Dispatcher) writeReserved(ctx context.Context, c change) (stored, error) {
	done, err := d.write(ctx, c)
	s := c.slot()
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	if err == nil {
		d.view.breakers.Sent(breakerOf(c.agentID, c.capability), d.clock())
	}
	if err != nil || done.entry.Sequence <= d.view.order.Applied() {
		d.view.slots.GiveBack(s)
	} else {
		d.view.slots.Until(done.entry.Sequence, s)
	}
	return done, err
}

// slot is the place that an assignment takes.
func (c change) slot() slots.Slot { return slots.Slot{AgentID: c.agentID, Capability: c.capability} }

func (c change) body() any {
	if c.record != nil {
		return c.record
	}
	return c.message
}

func (c change) event() index.Event {
	event := index.Event{
		Previous: c.previous, TaskID: c.taskID, Phase: c.phase, Capability: c.capability, AgentID: c.agentID, TTL: c.ttl, Record: c.record,
	}
	if c.message != nil {
		kept := *c.message
		slim(&kept)
		event.Message = &kept
	}
	return event
}

// written is an own write on its way. A peer may write under the same id, if its worker has asked both, and make another body of it.
type written struct {
	body  []byte
	event index.Event
}

func (d *Dispatcher) expect(writeID string, w *written) {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	d.view.writing[writeID] = w
}

func (d *Dispatcher) wrote(writeID string) {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	delete(d.view.writing, writeID)
}

func agentToken(agentID string) string {
	if agentID == "" {
		return schemas.NoAgent
	}
	return agentID
}

// refusal is what a caller hears when a write did not succeed and it was no conflict: an unknown outcome is never called a refusal.
func refusal(err error) *schemas.Error {
	var e *schemas.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, broker.ErrUnknownOutcome):
		return schemas.NewError(schemas.Unavailable, schemas.ReasonOutcomeUnknown,
			"the broker did not answer: whether this was stored is not known; repeat it with the same msg_id")
	case errors.Is(err, context.Canceled): // the caller has left, or this dispatcher stops
		return schemas.NewError(schemas.Unavailable, schemas.ReasonOutcomeUnknown,
			"the dispatcher stops: whether this was stored is not known; repeat it with the same msg_id")
	case errors.Is(err, broker.ErrDisconnected), errors.Is(err, broker.ErrNoResponders), errors.Is(err, broker.ErrNotNow),
		errors.Is(err, context.DeadlineExceeded):
		return schemas.NewError(schemas.Unavailable, schemas.ReasonBrokerOutage, "the broker cannot be reached; try again")
	}
	return schemas.AsError(err)
}

// hop notes a step of a task, as long as there is room.
func (d *Dispatcher) hop(hops []schemas.Hop, name string, detail any) []schemas.Hop {
	h := schemas.Hop{Hop: name, At: schemas.At(d.now()), By: d.cfg.ID}
	if detail != nil {
		h.Detail = schemas.MustEncode(detail)
	}
	return appendHops(hops, h)
}

// appendHops adds hops within the bounds of a task's hops; the input is not changed.
func appendHops(hops []schemas.Hop, more ...schemas.Hop) []schemas.Hop {
	out := append(hops[:len(hops):len(hops)], more...)
	size := 0
	for i, h := range out {
		size += len(h.Detail) + len(h.Hop) + len(h.By) + 64
		if i >= schemas.MaxHops || size > schemas.MaxHopBytes {
			return out[:i]
		}
	}
	return out
}
