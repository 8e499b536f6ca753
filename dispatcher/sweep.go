package dispatcher

import (
	"context"
	"errors"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

const (
	patience    = 2 * time.Second // how long after its time a task is its owner's alone
	sweepWaitAt = 5               // ticks between two looks at the queues
	bindAtOnce  = 64              // waiting tasks of a capability that one look binds at most
)

// sweepLoop ends what has expired, starts what is due, and looks whether anything waits though somebody is free.
func (d *Dispatcher) sweepLoop(ctx context.Context) error {
	ticks := 0
	return d.every(ctx, d.cfg.Tick, func() {
		for _, t := range d.ripe((*index.Index).Expired) {
			d.inBackground(func(ctx context.Context) { d.expire(ctx, t) })
		}
		for _, t := range d.ripe((*index.Index).Due) {
			d.inBackground(func(ctx context.Context) { d.startDue(ctx, t) })
		}
		if ticks++; ticks%sweepWaitAt == 0 {
			d.sweepQueues()
		}
	})
}

// ripe grabs the tasks whose time has come: this dispatcher's own, and others' that nobody has looked after.
func (d *Dispatcher) ripe(select_ func(*index.Index, time.Time) []*index.Task) []*index.Task {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	var tasks []*index.Task
	late := make(map[*index.Task]bool)
	for _, t := range select_(d.view.tasks, d.now().Add(-patience)) {
		late[t] = true
	}
	for _, t := range select_(d.view.tasks, d.now()) {
		if (late[t] || d.owns(t.ID)) && d.view.grab(t.ID) {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// expire ends a task at its own expiry, wherever it stands.
func (d *Dispatcher) expire(ctx context.Context, t *index.Task) {
	defer d.view.release(t.ID)
	e := schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonExpired, "the task expired before it ended").With("phase", t.Phase)
	if t.Phase == schemas.PhaseBegun {
		e.With("may_have_executed", true)
	}
	if d.lost(d.fail(ctx, t, e), t, "expiry") {
		return
	}
	d.dismiss(t, schemas.ReasonExpired)
}

// startDue starts a scheduled task.
func (d *Dispatcher) startDue(ctx context.Context, t *index.Task) {
	defer d.view.release(t.ID)
	_, err := d.moveOn(ctx, t, moving{attempt: t.Terms.Attempt, hop: routed{Rule: "due"}})
	d.lost(err, t, "start")
}

// lost reports whether a write did not happen; only what is no lost race is worth a line.
func (d *Dispatcher) lost(err error, t *index.Task, what string) bool {
	var conflict *broker.Conflict
	if err != nil && !errors.As(err, &conflict) {
		d.log.Warn().Err(err).Str("task_id", t.ID).Str("step", what).Msg("a step failed; it is tried again")
	}
	return err != nil
}

// sweepQueues binds tasks of this dispatcher that wait though an agent is free.
func (d *Dispatcher) sweepQueues() {
	d.view.mu.Lock()
	var waiting []string
	for capability := range d.view.tasks.WaitingCapabilities() {
		looked := 0
		for t := range d.view.tasks.Waiting(capability, "") {
			if looked++; looked > bindAtOnce {
				break
			}
			if d.owns(t.ID) {
				waiting = append(waiting, t.ID)
			}
		}
	}
	d.view.mu.Unlock()
	for _, taskID := range waiting {
		d.bindSoon(taskID)
	}
}
