package dispatcher

import (
	"context"
	"errors"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// confirmFor is how long an agent has to confirm that it stopped.
const confirmFor = 5 * time.Second

// cancelTries bounds the races that one cancel may lose against moves of the same task before it gives up.
const cancelTries = 16

// Cancel ends a task that has not ended. The ledger decides first, so that a cancel and a finish never both win; then the agent is
// told to stop, and has 5 s to confirm. On a task that has ended nothing changes, and Won is false.
func (d *Dispatcher) Cancel(ctx context.Context, tenant, taskID string) (*schemas.Task, error) {
	if err := schemas.CheckTaskID(taskID); err != nil {
		return nil, err
	}
	entry, err := d.last(ctx, taskID)
	for range cancelTries {
		if err != nil {
			return nil, err
		}
		task, viewErr := d.viewOf(tenant, taskID, entry)
		if viewErr != nil {
			return nil, viewErr
		}
		if task.State.Terminal() {
			task.Cancel = &schemas.Cancel{}
			return task, nil
		}
		canceled, writeErr := d.cancelAt(ctx, entry)
		var conflict *broker.Conflict
		if !errors.As(writeErr, &conflict) {
			return canceled, writeErr
		}
		entry = conflict.Last
	}
	return nil, schemas.NewError(schemas.Unavailable, "", "the task is moving too fast to be canceled; try again")
}

// cancelAt ends the task where it stood at an entry.
func (d *Dispatcher) cancelAt(ctx context.Context, entry broker.Entry) (*schemas.Task, error) {
	event, err := decodeEvent(entry)
	if err != nil {
		return nil, schemas.AsError(err)
	}
	t := index.TaskOf(event)
	record := d.record(t, schemas.StateCanceled)
	record.Error = schemas.NewError(schemas.Cancelled, schemas.ReasonCanceled, "the caller canceled the task")
	task := record.Task
	done, err := d.write(ctx, d.end(t, record))
	var conflict *broker.Conflict
	if errors.As(err, &conflict) {
		return nil, err
	}
	if err != nil {
		return nil, refusal(err)
	}
	task.Revision = done.entry.Sequence
	task.Cancel = &schemas.Cancel{Won: true, Confirmed: d.stop(ctx, t, schemas.ReasonCanceled)}
	if t.InFlight() {
		d.noteConfirmed(&task, record.Tenant)
	}
	return &task, nil
}

// noteConfirmed keeps in a canceled task's record whether its agent confirmed: whoever looks later wants to know whether it may still be
// at work. Where that cannot be written, the one who canceled is told all the same.
func (d *Dispatcher) noteConfirmed(task *schemas.Task, tenant string) {
	ctx, cancel := context.WithTimeout(context.Background(), confirmFor)
	defer cancel()
	record, err := d.amend(ctx, tenant, task.TaskID, func(r *schemas.Record) bool {
		r.Cancel = task.Cancel
		return true
	})
	if err != nil {
		d.log.Warn().Err(err).Str("task_id", task.TaskID).Msg("whether the agent confirmed a cancel is not kept")
		return
	}
	task.Revision = record.Revision
}

// stop tells the agent of a task to stop working on it, and reports whether the agent confirmed. A task that no agent had counts as
// confirmed: nothing runs.
func (d *Dispatcher) stop(ctx context.Context, t *index.Task, reason string) bool {
	if !t.InFlight() {
		return true
	}
	d.stopOthers(t, t.AgentID)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), confirmFor)
	defer cancel()
	answer, err := d.conn.Request(ctx, broker.SubjectControl(t.AgentID), stopping(t.ID, t.Sequence, reason))
	if err != nil {
		return false
	}
	var reply schemas.ControlReply
	return schemas.Accept(answer, &reply) == nil && reply.Confirmed
}

// dismiss is stop where nobody needs to know whether the agent confirms: many tasks may expire at once with an agent that does not answer.
func (d *Dispatcher) dismiss(t *index.Task, reason string) {
	if !t.InFlight() {
		return
	}
	d.stopOthers(t, t.AgentID)
	d.tellToStop(t.AgentID, t.ID, t.Sequence, reason)
}

// tellToStop does not wait for an answer. An agent that misses it hears of it with its next heartbeat.
func (d *Dispatcher) tellToStop(agentID, taskID string, sequence uint64, reason string) {
	if err := d.conn.Publish(broker.SubjectControl(agentID), stopping(taskID, sequence, reason)); err != nil {
		d.log.Debug().Err(err).Str("agent_id", agentID).Str("task_id", taskID).Msg("an agent was not told to stop")
	}
}

func stopping(taskID string, sequence uint64, reason string) []byte {
	return schemas.MustEncode(schemas.Control{Do: schemas.DoCancel, TaskID: taskID, Sequence: sequence, Reason: reason})
}

// record is the record of a task that ends now. The hops that led to this point stay in the messages of its open phases.
func (d *Dispatcher) record(t *index.Task, state schemas.State) *schemas.Record {
	task := d.viewNow(t)
	task.State, task.Phase, task.Revision = state, schemas.PhaseDone, 0
	task.FinishedAt = schemas.At(d.now())
	return &schemas.Record{Task: task, Tenant: t.Terms.Tenant}
}
