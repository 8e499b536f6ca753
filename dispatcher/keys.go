package dispatcher

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
)

// A key must not outlive its task's record, or a late repeat would find no task and run it again.
const keyMargin = time.Minute

// awaitFor is how long an equal submit waits for the one that was first.
const awaitFor = 5 * time.Second

// key is a caller's idempotency key: where it is kept, what body it stands for, and, if it was used before, the task of then.
type key struct {
	name        string
	fingerprint string
	record      broker.KeyRecord
}

// lookUp finds out whether a message repeats an earlier one. known is the task of then. Without a known task, key is what claim
// needs; it names a task if an equal submit has taken the key but its task is not there, or not yet.
func (d *Dispatcher) lookUp(ctx context.Context, m *schemas.ReachMessage, payload *body) (*key, *schemas.Task, error) {
	if m.MsgID == "" {
		m.MsgID = m.TaskID
		return nil, nil, nil
	}
	k := &key{name: broker.IdempotencyKey(m.Tenant, m.MsgID), fingerprint: fingerprint(m, payload)}
	item, err := d.conn.Keys().Get(ctx, k.name)
	if errors.Is(err, broker.ErrNotFound) {
		return k, nil, nil
	}
	if err != nil {
		return nil, nil, refusal(err)
	}
	return d.found(ctx, m, k, item.Value)
}

func (d *Dispatcher) found(ctx context.Context, m *schemas.ReachMessage, k *key, record broker.KeyRecord) (*key, *schemas.Task, error) {
	if record.Fingerprint != k.fingerprint {
		return nil, nil, keyReused(record)
	}
	k.record = record
	task, err := d.Task(ctx, m.Tenant, record.TaskID)
	if err == nil {
		return k, task, nil
	}
	if schemas.AsError(err).Code != schemas.NotFound {
		return nil, nil, err
	}
	return k, nil, nil
}

// claim takes the key for a message that has been routed. Whoever finds it taken by an equal one goes on with that one's task_id:
// of the writes that follow, exactly one creates the task.
func (d *Dispatcher) claim(ctx context.Context, m *schemas.ReachMessage, k *key) error {
	if k == nil || k.record.TaskID != "" {
		return nil
	}
	record := broker.KeyRecord{TaskID: m.TaskID, Fingerprint: k.fingerprint, ForgetAt: m.ForgetAt}
	_, err := d.conn.Keys().Create(ctx, k.name, record, m.ForgetAt.Sub(m.SubmittedAt.Time)-keyMargin)
	if err == nil {
		return nil
	}
	if !errors.Is(err, broker.ErrExists) {
		return refusal(err)
	}
	return d.goWith(ctx, m, k)
}

// goWith has a message that is too late for its key go on under the task_id of the one that has it, if they mean the same.
func (d *Dispatcher) goWith(ctx context.Context, m *schemas.ReachMessage, k *key) error {
	item, err := d.conn.Keys().Get(ctx, k.name)
	if err != nil {
		return refusal(err)
	}
	if item.Value.Fingerprint != k.fingerprint {
		return keyReused(item.Value)
	}
	k.record, m.TaskID = item.Value, item.Value.TaskID
	return nil
}

func keyReused(record broker.KeyRecord) *schemas.Error {
	return schemas.NewError(schemas.AlreadyExists, schemas.ReasonKeyReused,
		"this msg_id was used for another request: use a new one, or send the same body").With("task_id", record.TaskID)
}

// late answers a message whose time has passed. If it repeats one that was in time it gets the task of then, also where a leader that
// was away has just said that nobody knows its key: submit goes on with what is noted here of the key. A key ends before its task is
// forgotten, so of an older message nothing is asked.
func (d *Dispatcher) late(ctx context.Context, m *schemas.ReachMessage, k *key, refused error) error {
	if k == nil || k.record.TaskID != "" || !m.ForgetAt.After(m.SubmittedAt.Time) {
		return refused
	}
	err := d.conn.Keys().Absent(ctx, k.name)
	if err != nil && !errors.Is(err, broker.ErrExists) {
		return refusal(err)
	}
	if err != nil {
		err = d.goWith(ctx, m, k)
	}
	return cmp.Or(err, refused)
}

// awaitFirst is for a submit that found its key taken, no task, and could not place the task itself: the first may still do so.
func (d *Dispatcher) awaitFirst(ctx context.Context, m *schemas.ReachMessage, cause error) (*schemas.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, awaitFor)
	defer cancel()
	poll := time.NewTicker(awaitFor / 50)
	defer poll.Stop()
	for {
		task, err := d.Task(ctx, m.Tenant, m.TaskID)
		if err == nil {
			return task, nil
		}
		select {
		case <-ctx.Done():
			return nil, cause
		case <-poll.C:
		}
	}
}

// fingerprint is equal for messages that mean the same.
func fingerprint(m *schemas.ReachMessage, payload *body) string {
	what := m.Capability
	if what == "" {
		what = "intent:" + m.Intent
	}
	if payload.from != nil {
		return contract.FingerprintOf(what, payload.skeleton, string(m.QualityOfService), m.Callback)
	}
	return contract.Fingerprint(what, m.Payload, string(m.QualityOfService), m.Callback)
}
