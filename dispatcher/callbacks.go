package dispatcher

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/callback"
	"github.com/agentreach/agent-reach/dispatcher/failover"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/dispatcher/webhook"
	"github.com/agentreach/agent-reach/schemas"
)

// CallbackConfig is how callers are called back. All dispatchers on one broker are to have the same.
type CallbackConfig struct {
	Sender      *webhook.Sender // nil: tasks with a callback are refused
	Attempts    int             // 12
	BackoffBase time.Duration   // before the second attempt; 5 s
	BackoffCap  time.Duration   // 1 h
	Limits      callback.Limits // of what is under way at once
}

func (c CallbackConfig) withDefaults() CallbackConfig {
	c.Attempts = cmp.Or(c.Attempts, 12)
	c.BackoffBase = cmp.Or(c.BackoffBase, 5*time.Second)
	c.BackoffCap = cmp.Or(c.BackoffCap, time.Hour)
	return c
}

func (c CallbackConfig) policy() callback.Policy {
	return callback.Policy{
		Attempts: c.Attempts, Longest: c.BackoffCap,
		Pause: func(attempt int) time.Duration {
			return failover.Backoff(c.BackoffBase, c.BackoffCap, attempt-1, failover.Jitter)
		},
	}
}

// checkCallback refuses at submit what could never be called.
func (d *Dispatcher) checkCallback(url string) error {
	switch {
	case url == "":
		return nil
	case d.cfg.Callbacks.Sender == nil:
		return schemas.NewError(schemas.FailedPrecondition, "CALLBACKS_OFF",
			"callbacks are not configured: set callbacks.secret_file in the dispatchers' configuration (reach.yaml, or the file of --config) "+
				"to the file with the secret that signs them, and restart them").With("field", "/callback")
	}
	if problem := d.cfg.Callbacks.Sender.Check(url); problem != nil {
		return problem.With("field", "/callback")
	}
	return nil
}

// noteCallback notes what a record says of its callback; the caller holds the lock. That a callback is owed is part of the very record
// that ends its task, and how it went is an amendment of that record: whatever dies, who comes next finds what is still to be done.
func (d *Dispatcher) noteCallback(e index.Event) {
	c := e.Record.Callback
	switch {
	case c == nil:
	case c.State != schemas.CallbackWaiting:
		d.view.callbacks.Drop(e.TaskID, e.Sequence)
	default:
		if d.cfg.Callbacks.Sender == nil && !d.owedTold.Swap(true) {
			d.log.Error().Str("task_id", e.TaskID).
				Msg("callbacks are owed, and this dispatcher has no secret to sign them: give it callbacks.secret_file, as the others have it")
		}
		d.view.callbacks.Put(callback.Owed{TaskID: e.TaskID, Sequence: e.Sequence, Receiver: webhook.Receiver(c.URL), At: c.NextAt.Time})
		d.wakeCallbacks()
	}
}

func (d *Dispatcher) wakeCallbacks() {
	select {
	case d.callNow <- struct{}{}:
	default:
	}
}

// callbackLoop makes the callbacks that are owed and this dispatcher's own. When a dispatcher goes, its part falls to others; a
// callback that it was about to make is made again.
func (d *Dispatcher) callbackLoop(ctx context.Context) error {
	var calls sync.WaitGroup
	defer calls.Wait()
	tick := time.NewTicker(d.cfg.Tick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-d.callNow:
		}
		for _, owed := range d.startCallbacks() {
			calls.Go(func() { d.call(ctx, owed) })
		}
	}
}

func (d *Dispatcher) startCallbacks() []callback.Owed {
	if d.cfg.Callbacks.Sender == nil || !d.isCurrent() {
		return nil
	}
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	return d.view.callbacks.Start(d.now(), d.owns)
}

// callAgain is when a callback is looked at again that could not even be tried, or whose outcome could not be written.
const callAgain = time.Second

// call makes one callback and writes how it went.
func (d *Dispatcher) call(ctx context.Context, owed callback.Owed) {
	answered, err := d.tryCall(ctx, owed)
	if err != nil && ctx.Err() == nil {
		d.log.Warn().Err(err).Str("task_id", owed.TaskID).Msg("a callback was not made, or its outcome not written; it is tried again")
	}
	d.view.mu.Lock()
	d.view.callbacks.Done(owed, answered, d.now().Add(callAgain))
	d.view.mu.Unlock()
	d.wakeCallbacks()
}

// tryCall reports whether the receiver has taken the message. The error says that nothing was written.
func (d *Dispatcher) tryCall(ctx context.Context, owed callback.Owed) (answered bool, err error) {
	entry, err := d.ledger.At(ctx, owed.Sequence)
	if errors.Is(err, broker.ErrNotFound) { // another has changed the record, or its time has ended
		d.dropCallback(owed)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	event, err := decodeEvent(entry)
	if err != nil || event.Record == nil || event.Record.Callback == nil {
		d.dropCallback(owed)
		return false, err
	}
	telling, err := d.tellingOf(ctx, event.Record)
	if err != nil {
		return false, err
	}
	outcome := d.cfg.Callbacks.Sender.Send(ctx, telling)
	if outcome.Error != nil && ctx.Err() != nil {
		return false, nil // cut short because this dispatcher stops: another makes it
	}
	return outcome.Error == nil, d.writeCall(event.Record, outcome)
}

func (d *Dispatcher) dropCallback(owed callback.Owed) {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	d.view.callbacks.Drop(owed.TaskID, owed.Sequence)
}

// tellingOf is a task as its receiver is told of it: the same bytes at each attempt, under the same id. A result that is too large for a
// message is named, to be fetched.
func (d *Dispatcher) tellingOf(ctx context.Context, record *schemas.Record) (webhook.Message, error) {
	task := d.whole(ctx, record.Task)
	if task.ResultRef != nil && d.fitsMessage(task.ResultRef) {
		return webhook.Message{}, errors.New("the result cannot be read")
	}
	task.Callback, task.Cancel = nil, nil // they came later, if at all
	task.Revision = cmp.Or(record.First, record.Revision)
	return webhook.Message{URL: record.Callback.URL, ID: record.TaskID, At: d.now(), Body: schemas.MustEncode(task)}, nil
}

// writeCall amends the record by how a call went. Where another dispatcher has counted the same attempt, or somebody has asked for the
// callback again meanwhile, only a success still counts.
func (d *Dispatcher) writeCall(called *schemas.Record, outcome webhook.Outcome) error {
	ctx, cancel := context.WithTimeout(context.Background(), backgroundLimit)
	defer cancel()
	result := callback.Result{Status: outcome.Status, Error: outcome.Error, RetryAfter: outcome.RetryAfter}
	var now schemas.Callback
	_, err := d.amend(ctx, called.Tenant, called.TaskID, func(r *schemas.Record) bool {
		then := r.Callback
		if then == nil || then.State != schemas.CallbackWaiting || outcome.Error != nil && then.Attempts != called.Callback.Attempts {
			return false
		}
		now = callback.After(*then, result, d.cfg.Callbacks.policy(), d.now(), r.KeptUntil.Time)
		r.Callback = &now
		r.Hops = d.hop(r.Hops, schemas.HopCallback, calledHop{Attempt: now.Attempts, Status: now.Status, Reason: reasonOf(outcome.Error)})
		if keep := schemas.At(d.now().Add(d.cfg.KeepDead)); now.State == schemas.CallbackFailed && r.ResultRef == nil && keep.After(r.KeptUntil.Time) {
			r.KeptUntil = keep // a result that is kept apart goes at its own time
		}
		return true
	})
	if now.State == schemas.CallbackFailed {
		d.log.Warn().Str("task_id", called.TaskID).Int("attempts", now.Attempts).Str("reason", reasonOf(now.Error)).
			Msg("a callback has failed for good; `reach callback replay` makes it again")
	}
	return err
}

// calledHop is the detail of the hop of one call.
type calledHop struct {
	Attempt int    `json:"attempt"`
	Status  int    `json:"status,omitzero"`
	Reason  string `json:"reason,omitzero"`
}

func reasonOf(e *schemas.Error) string {
	if e == nil {
		return ""
	}
	return e.Reason
}

// Redeliver makes a task's callback again, at once and with all its attempts, whether it has failed, was delivered or still waits. Its
// id stays, so that a receiver which has it already can tell.
func (d *Dispatcher) Redeliver(ctx context.Context, tenant, taskID string) (*schemas.Task, error) {
	if err := schemas.CheckTaskID(taskID); err != nil {
		return nil, err
	}
	var refused error
	record, err := d.amend(ctx, tenant, taskID, func(r *schemas.Record) bool {
		if r.Callback == nil {
			refused = schemas.NewError(schemas.FailedPrecondition, "NO_CALLBACK", "the task was submitted without a callback")
			return false
		}
		if refused = d.checkCallback(r.Callback.URL); refused != nil {
			return false
		}
		again := callback.Again(*r.Callback, d.now())
		r.Callback = &again
		return true
	})
	switch {
	case err != nil:
		return nil, refusalOf(err)
	case refused != nil:
		return nil, refused
	}
	task := record.Task
	return &task, nil
}
