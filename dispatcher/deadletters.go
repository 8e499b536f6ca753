package dispatcher

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// fail ends a task that no worker has ended: it failed on its way, and is kept whole for a person to look at.
func (d *Dispatcher) fail(ctx context.Context, t *index.Task, why *schemas.Error) error {
	_, err := d.failAs(ctx, t, "", why)
	return err
}

// failAs is fail for whoever asks by the name of a write.
func (d *Dispatcher) failAs(ctx context.Context, t *index.Task, writeID string, why *schemas.Error) (stored, error) {
	record := d.record(t, schemas.StateFailed)
	record.Error = why
	return d.endAsDeadLetter(ctx, t, writeID, record)
}

// endAsDeadLetter ends a task as a dead letter: with its whole message, and kept longer. While that cannot be read, the task does not end.
func (d *Dispatcher) endAsDeadLetter(ctx context.Context, t *index.Task, writeID string, record *schemas.Record) (stored, error) {
	m, err := d.messageWhole(ctx, t)
	if isUnreadable(err) {
		d.log.Warn().Err(err).Str("task_id", t.ID).Msg("a dead letter is kept without its payload")
		m, err = t.Order(), nil
	}
	if err != nil {
		return stored{}, err
	}
	record.DeadLetter = true
	if keep := schemas.At(d.now().Add(d.cfg.KeepDead)); keep.After(record.KeptUntil.Time) {
		record.KeptUntil = keep
	}
	c := d.end(t, record)
	c.ttl = ttl(record.KeptUntil.Time, d.now(), c.ttl)
	c.shelved = d.keepLonger(ctx, m, c.ttl)
	c.writeID = writeID
	record.Message = schemas.MustEncode(m)
	return d.write(ctx, c)
}

// isUnreadable reports whether a message is gone from the ledger, or is none: no later try would read it.
func isUnreadable(err error) bool {
	var garbled *schemas.Error
	return errors.Is(err, broker.ErrNotFound) || errors.As(err, &garbled)
}

// keepLonger keeps the large payload of a dead letter for as long as the letter, and names what is stored for that.
func (d *Dispatcher) keepLonger(ctx context.Context, m *schemas.ReachMessage, ttl time.Duration) (body string) {
	if m.PayloadRef == nil {
		return ""
	}
	ref, err := d.copyBody(ctx, m.TaskID, m.PayloadRef, ttl)
	if err != nil {
		d.log.Warn().Err(err).Str("task_id", m.TaskID).Msg("the payload of a dead letter is not kept longer than its task would be")
		return ""
	}
	m.PayloadRef = ref
	return ref.ID
}

// amend writes an ended task's record again, with something added that changes nothing of its end. add returns false where
// there is nothing to add.
func (d *Dispatcher) amend(ctx context.Context, tenant, taskID string, add func(*schemas.Record) bool) (*schemas.Record, error) {
	entry, err := d.last(ctx, taskID)
	for range cancelTries {
		if err != nil {
			return nil, err
		}
		event, decodeErr := decodeEvent(entry)
		if decodeErr != nil {
			return nil, schemas.AsError(decodeErr)
		}
		record, refused := d.endedRecord(tenant, taskID, event)
		if refused != nil {
			return nil, refused
		}
		if !add(record) {
			return record, nil
		}
		if !record.Amended {
			record.Amended, record.First = true, entry.Sequence
		}
		amended := *record // once it is written, the fold has it
		done, writeErr := d.write(ctx, amendment(entry, record, d))
		var conflict *broker.Conflict
		if !errors.As(writeErr, &conflict) {
			amended.Revision = done.entry.Sequence
			return &amended, writeErr
		}
		entry = conflict.Last
	}
	return nil, schemas.NewError(schemas.Unavailable, "", "the task's record is changing too fast; try again")
}

func (d *Dispatcher) endedRecord(tenant, taskID string, event index.Event) (*schemas.Record, error) {
	switch {
	case event.Record == nil && event.Message.Tenant != tenant, event.Record != nil && event.Record.Tenant != tenant:
		return nil, d.unknown(taskID)
	case event.Record == nil:
		return nil, schemas.NewError(schemas.FailedPrecondition, "NOT_ENDED", "the task has not ended: wait for it, or cancel it first")
	}
	return event.Record, nil
}

func amendment(entry broker.Entry, record *schemas.Record, d *Dispatcher) change {
	agentID := entry.Agent
	if agentID == schemas.NoAgent {
		agentID = ""
	}
	return change{
		taskID: entry.TaskID, previous: entry.Sequence, phase: schemas.PhaseDone, capability: entry.Capability, agentID: agentID,
		ttl: ttl(record.KeptUntil.Time, d.now(), entry.TTL), record: record,
	}
}

// mostLate bounds a late result: it is part of the record.
const mostLate = 128 << 10

// keepLate keeps a result that came after its task had ended because nobody knew the outcome: it changes nothing of the state, and
// tells the person who decides what has happened.
func (d *Dispatcher) keepLate(ctx context.Context, agentID string, r *schemas.Result, answer schemas.Answer) {
	if answer.Outcome != schemas.OutcomeSuperseded || r.State != schemas.StateCompleted || r.ResultRef != nil || len(r.Result) > mostLate {
		return
	}
	entry, err := d.ledger.LastAtLeader(ctx, r.TaskID)
	if err != nil || entry.Phase != schemas.PhaseDone || entry.Agent != agentID {
		return
	}
	event, err := decodeEvent(entry)
	if err != nil {
		return
	}
	_, err = d.amend(ctx, event.Record.Tenant, r.TaskID, func(record *schemas.Record) bool {
		wanted := record.Error != nil && record.Error.Reason == schemas.ReasonMayHaveExecuted && record.Attempt == r.Attempt && record.LateResult == nil
		if wanted {
			record.LateResult = r.Result
		}
		return wanted
	})
	if err != nil {
		d.log.Debug().Err(err).Str("task_id", r.TaskID).Msg("a late result was not kept")
	}
}

// Retry runs an ended task again, as a new task that says so (retry_of), while the old one says what it was retried as. Retrying
// twice gives the same new task.
func (d *Dispatcher) Retry(ctx context.Context, tenant, taskID string) (*schemas.Task, error) {
	if err := schemas.CheckTaskID(taskID); err != nil {
		return nil, err
	}
	m, err := d.messageOf(ctx, tenant, taskID)
	if err != nil {
		return nil, err
	}
	payload, release, err := d.receive(ctx, m, d.kept(ctx, m))
	defer release()
	if isGone(err) {
		return nil, notKept()
	}
	if err != nil {
		return nil, err
	}
	if err := d.rehearse(ctx, m, payload); err != nil {
		return nil, err
	}
	fresh := false
	record, err := d.amend(ctx, tenant, taskID, func(r *schemas.Record) bool {
		fresh = r.RetriedAs == ""
		if fresh {
			r.RetriedAs = schemas.NewTaskID()
		}
		return fresh
	})
	if err != nil {
		return nil, refusalOf(err)
	}
	if fresh {
		return d.again(ctx, m, payload, record)
	}
	return d.retriedBefore(ctx, m, payload, record)
}

// rehearse refuses a message that could not be placed now, before its old task says what it was retried as.
func (d *Dispatcher) rehearse(ctx context.Context, m *schemas.ReachMessage, payload *body) error {
	trial := *m
	trial.NotBefore = schemas.Time{}
	if _, err := d.resolve(ctx, &trial, payload); err != nil {
		return err
	}
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	return d.refuse(&trial, d.makePlan(d.wishOf(&trial)))
}

// retriedBefore is the task that an ended one was retried as. Where that one was never written it is written now; where its record is
// no longer kept nobody knows what became of it, and nothing runs again.
func (d *Dispatcher) retriedBefore(
	ctx context.Context, m *schemas.ReachMessage, payload *body, record *schemas.Record,
) (*schemas.Task, error) {
	task, err := d.Task(ctx, record.Tenant, record.RetriedAs)
	if err == nil {
		return task, nil
	}
	e := schemas.AsError(err)
	if e.Code != schemas.NotFound || e.Reason == schemas.ReasonExpired {
		return nil, e
	}
	return d.again(ctx, m, payload, record)
}

func refusalOf(err error) error {
	var e *schemas.Error
	if errors.As(err, &e) {
		return e
	}
	return refusal(err)
}

// again submits the message of an ended task as a new one. What the dispatcher had added to it is left out.
func (d *Dispatcher) again(ctx context.Context, m *schemas.ReachMessage, payload *body, record *schemas.Record) (*schemas.Task, error) {
	m.TaskID, m.MsgID, m.RetryOf = record.RetriedAs, record.RetriedAs, record.TaskID
	m.NotBefore, m.ExpiresAt, m.Traceparent = schemas.Time{}, schemas.Time{}, ""
	m.Tenant, m.Attempt, m.Assignment, m.Hops = record.Tenant, 0, nil, nil
	m.SubmittedAt = schemas.At(d.now())
	d.fillIn(m)
	return d.place(ctx, m, payload, nil)
}

// kept is where the large payload of an ended task is; nil where it is a part of its message.
func (d *Dispatcher) kept(ctx context.Context, m *schemas.ReachMessage) io.ReadSeekCloser {
	if m.PayloadRef == nil {
		return nil
	}
	return d.large.blobs.Reader(ctx, broker.OfTask(m.TaskID), m.PayloadRef)
}

// messageOf is the message of an ended task with its payload: a dead letter's own, else what the ledger still has of its open phases.
func (d *Dispatcher) messageOf(ctx context.Context, tenant, taskID string) (*schemas.ReachMessage, error) {
	entry, err := d.last(ctx, taskID)
	if err != nil {
		return nil, err
	}
	event, err := decodeEvent(entry)
	if err != nil {
		return nil, schemas.AsError(err)
	}
	record, err := d.endedRecord(tenant, taskID, event)
	if err != nil {
		return nil, err
	}
	m := new(schemas.ReachMessage)
	if record.Message != nil {
		return m, schemas.Decode(record.Message, m)
	}
	for _, phase := range []schemas.Phase{schemas.PhaseAssigned, schemas.PhaseQueued, schemas.PhaseScheduled} {
		if entry, err := d.ledger.LastOfPhase(ctx, taskID, phase); err == nil {
			return m, schemas.Decode(entry.Body, m)
		}
	}
	return nil, notKept()
}

func notKept() *schemas.Error {
	return schemas.NewError(schemas.NotFound, schemas.ReasonExpired, "the task's payload is no longer kept: submit it anew")
}

// Purge takes a task out of the dead letters, and drops the message that was kept for a replay. Its record stays until it is forgotten.
// A task that is not among them is refused.
func (d *Dispatcher) Purge(ctx context.Context, tenant, taskID string) (*schemas.Task, error) {
	if err := schemas.CheckTaskID(taskID); err != nil {
		return nil, err
	}
	var letter schemas.Payload
	dead := false
	record, err := d.amend(ctx, tenant, taskID, func(r *schemas.Record) bool {
		dead = r.DeadLetter
		letter = r.Message
		r.DeadLetter, r.Message = false, nil
		return dead
	})
	switch {
	case err != nil:
		return nil, refusalOf(err)
	case !dead:
		return nil, schemas.NewError(schemas.NotFound, schemas.ReasonNoDeadLetter,
			"this task is not among the dead letters, or no longer (reach deadletter list)")
	}
	d.dropPayload(letter)
	task := record.Task
	return &task, nil
}

// dropPayload forgets the large payload of a message that nobody will replay.
func (d *Dispatcher) dropPayload(message schemas.Payload) {
	var m schemas.ReachMessage
	if message != nil && schemas.Decode(message, &m) == nil && m.PayloadRef != nil {
		d.large.blobs.Drop(broker.OfTask(m.TaskID), m.PayloadRef.ID)
	}
}
