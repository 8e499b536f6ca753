package dispatcher

import (
	"context"

	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// afterStop decides on a task that its worker gives up because it was told to stop: as if it were lost, but what the agent has not
// begun is known. A stop never costs more than a kill.
func (d *Dispatcher) afterStop(ctx context.Context, t *index.Task, r *schemas.Result, failed *schemas.Error) (stored, error) {
	l := loss{
		phase: schemas.PhaseBegun, idempotent: t.Idempotent(), confirmed: true, attempt: t.Terms.Attempt,
		attempts: attempts(t.Terms.QualityOfService),
	}
	if r.Ran == schemas.RanNo {
		l.phase, l.confirmed = schemas.PhaseAssigned, false
	}
	switch afterLoss(l) {
	case aborts:
		return d.endDead(ctx, t, r, mayHaveExecuted(t.AgentID, l.attempt, failed))
	case ends:
		return d.endDead(ctx, t, r, failed)
	}
	return d.moveOn(ctx, t, moving{
		writeID: r.WriteID, attempt: l.nextAttempt(), avoidNow: t.AgentID, streamed: streamed{last: r.Chunks},
		hop: routed{Rule: "rescue", From: t.AgentID, Code: string(failed.Code), Reason: failed.Reason},
	})
}

// workerStopped reports whether an attempt failed for no other reason than that its worker was told to stop.
func workerStopped(r *schemas.Result, failed *schemas.Error) bool {
	var origin string
	return failed.Reason == schemas.ReasonWorkerStopped && r.Ran != schemas.RanYes && !failed.Detail("origin", &origin)
}
