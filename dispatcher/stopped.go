package dispatcher

import (
	"context"

	"github.com/agentreach/agent-reach/dispatcher/failover"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// afterStop decides on a task that its worker gives up because it was told to stop: as if it were lost, but what the agent has not
// begun is known. A stop never costs more than a kill.
func (d *Dispatcher) afterStop(ctx context.Context, t *index.Task, r *schemas.Result, failed *schemas.Error) (stored, error) {
	l := failover.Loss{
		Phase: schemas.PhaseBegun, Idempotent: t.Idempotent(), Confirmed: true, Attempt: t.Terms.Attempt,
		Attempts: attemptsFor(t),
	}
	if r.Ran == schemas.RanNo {
		l.Phase, l.Confirmed = schemas.PhaseAssigned, false
	}
	switch l.Verdict() {
	case failover.Aborts:
		return d.endDead(ctx, t, r, failover.MayHaveExecuted(t.AgentID, l.Attempt, failed))
	case failover.Ends:
		return d.endDead(ctx, t, r, failed)
	}
	return d.moveOn(ctx, t, moving{
		writeID: r.WriteID, attempt: l.NextAttempt(), avoidNow: t.AgentID, streamed: streamed{last: r.Chunks},
		hop: routed{Rule: "rescue", From: t.AgentID, Code: string(failed.Code), Reason: failed.Reason},
	})
}

// workerStopped reports whether an attempt failed for no other reason than that its worker was told to stop.
func workerStopped(r *schemas.Result, failed *schemas.Error) bool {
	var origin string
	return failed.Reason == schemas.ReasonWorkerStopped && r.Ran != schemas.RanYes && !failed.Detail("origin", &origin)
}
