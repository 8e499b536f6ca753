package dispatcher

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// news is the end of a task, and who is to hear of it.
type news struct {
	record *schemas.Record
	all    bool   // whoever listens on its result subject
	caller string // the subject of the one who has submitted it here; empty where there is none
}

// Tell has the end of a task sent to one subject more, by this dispatcher alone. It is a hint: whoever may have missed it looks. forget
// takes it back.
func (d *Dispatcher) Tell(taskID, subject string) (forget func()) {
	v := d.view
	subject = shared(subject)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.callers[taskID] = subject
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.callers[taskID] == subject {
			delete(v.callers, taskID)
		}
	}
}

// publishWhole is publishResult with the result, where a message holds that.
func (d *Dispatcher) publishWhole(ctx context.Context, n news) {
	d.publishResult(n, d.whole(ctx, n.record.Task))
}

// publishResult publishes a terminal record as task, which may have its result in it. It is a hint: whoever may have missed it looks.
func (d *Dispatcher) publishResult(n news, task schemas.Task) {
	body, err := schemas.Encode(&task)
	if err == nil && n.all {
		err = d.conn.Publish(broker.SubjectResult(n.record.Tenant, task.TaskID), body)
	}
	if err == nil && n.caller != "" {
		err = d.conn.Publish(n.caller, body)
	}
	if err != nil {
		d.log.Debug().Err(err).Str("task_id", task.TaskID).Msg("a result was not published")
	}
}

// tellEvery is how often is tried again to tell what could not be told.
const tellEvery = time.Second

// tellAgainLoop publishes what peers may not have published before they went, and what this dispatcher may have in vain.
func (d *Dispatcher) tellAgainLoop(ctx context.Context) error {
	again := time.NewTicker(tellEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.tellAgain:
		case <-again.C:
		}
		d.tellUntold(ctx)
	}
}

// tellUntold publishes what is to be published again. While the ledger is away, what is left waits for it.
func (d *Dispatcher) tellUntold(ctx context.Context) {
	d.view.mu.Lock()
	untold := d.view.untold
	d.view.untold = nil
	d.view.mu.Unlock()
	for n, e := range untold {
		if err := d.publishAgain(ctx, e.taskID); err != nil {
			d.untold(untold[n:])
			return
		}
	}
}

// tellSoon has results published again, without waiting for that.
func (d *Dispatcher) tellSoon(results []endedAt) {
	d.untold(results)
	select {
	case d.tellAgain <- struct{}{}:
	default:
	}
}

// ownSince are the results of the last seconds that were this dispatcher's to publish, of tasks that have ended since then.
func (d *Dispatcher) ownSince(then time.Time) (mine []endedAt) {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	for _, e := range d.view.recent.ring {
		if !e.at.Before(then) && d.owns(e.taskID) {
			mine = append(mine, e)
		}
	}
	return mine
}

// untold notes results that are to be published again. The caller does not hold the lock.
func (d *Dispatcher) untold(results []endedAt) {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	all := append(d.view.untold, results...)
	d.view.untold = all[max(0, len(all)-maxRecent):]
}

// publishAgain publishes a result that may not have arrived, as its record stands now: something may have been added to it since. One that
// the ledger has forgotten is told to nobody.
func (d *Dispatcher) publishAgain(ctx context.Context, taskID string) error {
	entry, err := d.last(ctx, taskID)
	if err != nil {
		if schemas.AsError(err).Code == schemas.NotFound {
			return nil
		}
		return err
	}
	if event, err := decodeEvent(entry); err == nil && event.Record != nil {
		d.publishWhole(ctx, news{record: event.Record, all: true})
	}
	return nil
}

// whole is a task with its result, where a message holds that: most of those that the ledger's own messages do not.
func (d *Dispatcher) whole(ctx context.Context, task schemas.Task) schemas.Task {
	if task.ResultRef == nil || !d.fitsMessage(task.ResultRef) {
		return task
	}
	result, release, err := d.loadBody(ctx, &body{ref: task.ResultRef, shelf: broker.OfTask(task.TaskID)})
	defer release()
	if err == nil {
		task.Result, task.ResultRef = result, nil
	}
	return task
}

// fitsMessage reports whether one message holds a task with that result.
func (d *Dispatcher) fitsMessage(ref *schemas.BodyRef) bool {
	return ref.Bytes <= d.conn.MaxPayload()-envelopeRoom
}

// stored is a task as the ledger has it: whoever asks for a result may have heard of it before this dispatcher.
func (d *Dispatcher) stored(ctx context.Context, tenant, taskID string) (*schemas.Task, error) {
	if err := schemas.CheckTaskID(taskID); err != nil {
		return nil, err
	}
	entry, err := d.last(ctx, taskID)
	if err != nil {
		return nil, err
	}
	return d.viewOf(tenant, taskID, entry)
}

// Result opens the result of a task that has completed.
func (d *Dispatcher) Result(ctx context.Context, tenant, taskID string) (*schemas.Task, io.ReadSeekCloser, error) {
	task, err := d.stored(ctx, tenant, taskID)
	if err != nil {
		return nil, nil, err
	}
	if task.State != schemas.StateCompleted {
		return nil, nil, noResult(task)
	}
	if task.ResultRef == nil {
		return task, inMemory{bytes.NewReader(task.Result)}, nil
	}
	return task, d.large.blobs.Reader(ctx, broker.OfTask(taskID), task.ResultRef), nil
}

// inMemory is a result that was a part of its record.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// noResult is why a task has no result: how it ended, or that it has not.
func noResult(task *schemas.Task) *schemas.Error {
	if task.Error != nil {
		return task.Error
	}
	return schemas.NewError(schemas.FailedPrecondition, "NOT_ENDED", "the task is %s and has no result yet: wait for it", task.State)
}

// ResultPart is one part of a result that is kept apart from its record.
func (d *Dispatcher) ResultPart(ctx context.Context, tenant, taskID string, part int) ([]byte, error) {
	task, err := d.stored(ctx, tenant, taskID)
	if err != nil {
		return nil, err
	}
	if task.ResultRef == nil || part < 0 || part >= task.ResultRef.Parts() {
		return nil, schemas.NewError(schemas.NotFound, reasonBodyMissing, "the result of this task has no such part")
	}
	data, err := d.large.blobs.Part(ctx, broker.OfTask(taskID), task.ResultRef.ID, part)
	if err != nil {
		return nil, bodyError(err)
	}
	return data, nil
}
