package mqttfront

import (
	"context"
	"errors"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

// callerVerbs are answered by any one dispatcher.
func (b *Bridge) callerVerbs() map[string]func(ctx context.Context, device string, body []byte) {
	return map[string]func(context.Context, string, []byte){
		verbSubmit: b.submit,
		verbGet:    b.onTask(verbGet, b.service.Task),
		verbCancel: b.onTask(verbCancel, b.service.Cancel),
	}
}

// tenant decides who the device belongs to. Where no tenants are configured, every one is the default's.
func (b *Bridge) tenant(string) string { return schemas.DefaultTenant }

// submit accepts a task for a device. That its end is owed is durable before the device hears that the task is accepted; until it hears
// that, it says the same again.
func (b *Bridge) submit(ctx context.Context, device string, body []byte) {
	message, err := front.Message(body)
	about := schemas.DeviceAnswer{About: verbSubmit}
	if err == nil {
		about.MsgID = message.MsgID
		err = b.mayOwe(device, message)
	}
	if err != nil {
		b.fail(device, about, err)
		return
	}
	task, err := b.service.Submit(ctx, b.tenant(device), message)
	if err == nil {
		about.TaskID = task.TaskID
		err = b.oweTo(ctx, device, task, message.ResponseMode == schemas.ModeStream)
	}
	if err != nil {
		b.fail(device, about, err)
		return
	}
	_ = b.send(device, kindAccepted, task)
}

// mayOwe refuses a message that must not be repeated, and one of a device that acknowledges nothing.
func (b *Bridge) mayOwe(device string, message *schemas.ReachMessage) error {
	if message.MsgID == "" {
		return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadName,
			"msg_id is required over MQTT: without it a message that arrives twice would be two tasks").With("field", "/msg_id")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.owed[device]) < b.cfg.MaxOwed {
		return nil
	}
	return schemas.NewError(schemas.ResourceExhausted, "UNACKNOWLEDGED",
		"the ends of %d tasks are not acknowledged: publish their task_id to reach/v1/%s/ack", b.cfg.MaxOwed, device)
}

// oweTo notes that the device is to hear of the task's end, for as long as that is kept.
func (b *Bridge) oweTo(ctx context.Context, device string, task *schemas.Task, stream bool) error {
	record := broker.OwedRecord{Device: device, TaskID: task.TaskID, Stream: stream}
	_, err := b.conn.Owed().Create(ctx, broker.OwedKey(device, task.TaskID), record, b.keep(task))
	if err == nil || errors.Is(err, broker.ErrExists) {
		return nil
	}
	b.log.Warn().Err(err).Str("task_id", task.TaskID).Msg("what is owed to a device was not noted")
	return schemas.NewError(schemas.Unavailable, schemas.ReasonOutcomeUnknown,
		"the task is accepted, but it could not be noted whom to tell of its end: send the same again")
}

// keep is how long a task is worth telling of.
func (b *Bridge) keep(task *schemas.Task) time.Duration {
	if left := task.KeptUntil.Sub(b.cfg.Now()); !task.KeptUntil.IsZero() && left > time.Minute {
		return left
	}
	return time.Minute
}

// onTask answers a question about one task with how it stands.
func (b *Bridge) onTask(
	verb string, ask func(ctx context.Context, tenant, taskID string) (*schemas.Task, error),
) func(context.Context, string, []byte) {
	return func(ctx context.Context, device string, body []byte) {
		about := schemas.DeviceAnswer{About: verb}
		ref, err := front.TaskRef(body)
		if err != nil {
			b.fail(device, about, err)
			return
		}
		about.TaskID = ref.TaskID
		task, err := ask(ctx, b.tenant(device), ref.TaskID)
		if err == nil {
			task, err = b.whole(ctx, device, task)
		}
		if err == nil {
			err = b.send(device, kindState, task)
		}
		if err != nil {
			b.fail(device, about, err)
		}
	}
}
