package dispatcher

import (
	"context"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/failover"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// While releases of two versions run side by side, each leaves to the other what it does not understand: a worker gives a message
// back, and a dispatcher keeps its hands off an entry of the ledger.

// unspoken reports whether an entry is of a version that this code does not speak. A later version may have given a member another
// type, so that reading it fails.
func unspoken(e broker.Entry, v schemas.Version, err error) bool {
	if err != nil {
		v = schemas.VersionIn(e.Body)
	}
	return !v.Understood()
}

// foreignEvent is all that is known of such an entry, and what a reader hears.
func foreignEvent(event index.Event) (index.Event, error) {
	event.Message, event.Record, event.Foreign = nil, nil, true
	return event, schemas.NewError(schemas.Unavailable, schemas.ReasonVersion,
		"this task belongs to a later release, whose version of the wire this dispatcher does not support; ask again: another dispatcher may answer")
}

// tellForeign tells the log once that there are such entries.
func (d *Dispatcher) tellForeign(event index.Event) {
	if d.foreignTold.Swap(true) {
		return
	}
	d.log.Warn().Str("task_id", event.TaskID).Uint64("sequence", event.Sequence).
		Msg("the ledger has entries of a later release: this dispatcher leaves their tasks to others")
}

// Foreign is how many open tasks this dispatcher leaves to others, because it does not speak the version of their last entry.
func (d *Dispatcher) Foreign() int {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	return d.view.tasks.ForeignLen()
}

// leaveToOthers gives a task whose worker does not speak its version to another agent; if none of a chain does, it waits. It costs no
// attempt, and ends as every task that expires: whole, as a dead letter.
func (d *Dispatcher) leaveToOthers(ctx context.Context, t *index.Task, r *schemas.Result) (stored, error) {
	how := moving{
		writeID: r.WriteID, attempt: t.Terms.Attempt, tried: t.AgentID,
		hop: routed{Rule: "failover", From: t.AgentID, Code: string(r.Error.Code), Reason: r.Error.Reason},
	}
	if d.anotherMaySpeak(t) {
		return d.moveOn(ctx, t, how)
	}
	how.hop.Rule = "retry"
	waited := d.now().Sub(t.SubmittedAt.Time)
	return d.retryLater(ctx, t, how, asLongAgain(waited, d.cfg.BackoffBase, d.cfg.BackoffCap, failover.Jitter))
}

func (d *Dispatcher) anotherMaySpeak(t *index.Task) bool {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	w := d.wishOf(t.Order())
	w.want.Tried = append(w.want.Tried, t.AgentID)
	return len(w.want.Tried) < chainLength && d.makePlan(w).online > 0
}

// asLongAgain is a back-off that needs no count: as long as the task has waited until now, and as much again at random.
func asLongAgain(waited, base, limit time.Duration, random func() float64) time.Duration {
	return failover.Backoff(min(max(waited, base), limit), limit, 0, random)
}
