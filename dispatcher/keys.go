package dispatcher

import (
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
func (d *Dispatcher) lookUp(ctx context.Context, m *schemas.ReachMessage) (*key, *schemas.Task, error) {
	if m.MsgID == "" {
		m.MsgID = m.TaskID
		return nil, nil, nil
	}
	k := &key{name: broker.IdempotencyKey(m.Tenant, m.MsgID), fingerprint: fingerprint(m)}
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
		return nil, nil, schemas.NewError(schemas.AlreadyExists, schemas.ReasonKeyReused,
			"this msg_id was used for another request: use a new one, or send the same body").With("task_id", record.TaskID)
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
	item, err := d.conn.Keys().Get(ctx, k.name)
	if err != nil {
		return refusal(err)
	}
	if item.Value.Fingerprint != k.fingerprint {
		return schemas.NewError(schemas.AlreadyExists, schemas.ReasonKeyReused,
			"this msg_id was used for another request: use a new one, or send the same body").With("task_id", item.Value.TaskID)
	}
	m.TaskID = item.Value.TaskID
	return nil
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
func fingerprint(m *schemas.ReachMessage) string {
	what := m.Capability
	if what == "" {
		what = "intent:" + m.Intent
	}
	return contract.Fingerprint(what, m.Payload, string(m.QualityOfService), m.Callback)
}
