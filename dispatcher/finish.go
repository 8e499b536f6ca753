package dispatcher

import (
	"context"
	"errors"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/failover"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/align"
	"github.com/agentreach/agent-reach/schemas/contract"
)

// serveFinish takes the result of an attempt. A result that the capability's contract does not allow never becomes a success.
func (d *Dispatcher) serveFinish(ctx context.Context, r *broker.Request) {
	var result schemas.Result
	if err := acceptResult(r.Data, &result); err != nil {
		r.Fail(schemas.AsError(err))
		return
	}
	answer := d.finish(ctx, r.Agent, &result)
	r.Reply(schemas.MustEncode(&answer))
}

func acceptResult(data []byte, result *schemas.Result) error {
	if err := schemas.Accept(data, result); err != nil {
		return err
	}
	if err := result.Check(); err != nil {
		return err
	}
	if result.WriteID == "" || result.Sequence == 0 {
		return schemas.NewError(schemas.InvalidArgument, "", "sequence and write_id are required").With("field", "/write_id")
	}
	result.Error = result.Error.Bounded()
	return nil
}

func (d *Dispatcher) finish(ctx context.Context, agentID string, result *schemas.Result) schemas.Answer {
	d.signOfLife(agentID, result.InstanceID)
	t, answer := d.at(ctx, agentID, result.TaskID, result.Sequence, result.WriteID)
	if answer != nil {
		d.keepLate(ctx, agentID, result, *answer)
		return *answer
	}
	failed, err := d.judge(ctx, t, result)
	if err != nil {
		return schemas.Answer{Outcome: schemas.OutcomeTryAgain, Error: refusal(err)}
	}
	if t.AgentID != agentID {
		if failed != nil {
			return schemas.Answer{Outcome: schemas.OutcomeSuperseded} // the one that was asked after it goes on
		}
		t = t.On(agentID)
	}
	done, err := d.conclude(ctx, t, result, failed)
	if errors.Is(err, broker.ErrNotFound) {
		return schemas.Answer{Outcome: schemas.OutcomeSuperseded}
	}
	if err == nil {
		d.metrics.Stalled(result.Stalls)
		d.stopOthers(t, agentID)
	}
	concluded := outcome(done, err)
	concluded.Error = failed
	concluded.Idle = d.idle(agentID)
	return concluded
}

// idle reports whether nothing waits that the agent could take. A task that begins to wait from now on is bound by its owner.
func (d *Dispatcher) idle(agentID string) bool {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	a := d.view.roster.agents[agentID]
	if a == nil {
		return false
	}
	for i := range a.record.Registration.Capabilities {
		if d.view.tasks.QueueLen(a.record.Registration.Capabilities[i].ID) > 0 {
			return false
		}
	}
	return true
}

// judge is why an attempt counts as failed; nil if it has succeeded. err says that nobody could look at its result.
func (d *Dispatcher) judge(ctx context.Context, t *index.Task, r *schemas.Result) (failed *schemas.Error, err error) {
	if r.State == schemas.StateCompleted {
		refused, err := d.refuseResult(ctx, t, r)
		if r.Partial && err == nil && (refused != nil || t.Terms.QualityOfService != schemas.QoSRealtime) {
			return cutOff(r), nil
		}
		return afterTheFact(t, refused), err
	}
	if r.Error == nil {
		return schemas.NewError(schemas.Unknown, "", "the agent failed and did not say why"), nil
	}
	if r.Error.Reason == schemas.ReasonOutputSchema { // a chunk, of which its worker knows
		return afterTheFact(t, r.Error), nil
	}
	return d.mapped(t, r.Error), nil
}

// cutOff takes a result for what it is where a part of one does not do: an attempt that was not done at its run limit. It says why that
// has failed.
func cutOff(r *schemas.Result) *schemas.Error {
	r.State, r.Result, r.ResultRef, r.Partial = schemas.StateFailed, nil, nil, false
	r.Error = schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonRunLimit, "the agent did not answer within the run limit, and the part that it had sent does not fit the contract")
	return r.Error
}

// refuseResult is why a result cannot be taken.
func (d *Dispatcher) refuseResult(ctx context.Context, t *index.Task, r *schemas.Result) (refused *schemas.Error, err error) {
	if size := resultSize(r); size > int64(d.cfg.MaxPayload) {
		return resultTooLarge(size, d.cfg.MaxPayload), nil
	}
	result := resultOf(r)
	for _, o := range d.outputs(t) {
		refused, err = d.inspect(ctx, result, o.schema, func(value []byte) *schemas.Error {
			return o.schema.CheckOutput(t.Capability, o.words.AgentResult(value))
		})
		if missing := bodyMissing(err); missing != nil {
			return missing, nil
		}
		if refused != nil || err != nil {
			return refused, err
		}
	}
	return nil, nil
}

// output is a schema that a result has to keep, in the words of whoever has declared it.
type output struct {
	schema *contract.Schema
	words  *align.Pair
}

// outputs are the dictionary's, and the agent's own.
func (d *Dispatcher) outputs(t *index.Task) []output {
	var all []output
	if entry, known := d.dictionary.Load().Entry(t.Capability); known {
		all = append(all, output{schema: entry.Output})
	}
	if a := d.agentOf(t); a != nil && a.narrow[t.Capability].output != nil {
		all = append(all, output{a.narrow[t.Capability].output, a.narrow[t.Capability].words})
	}
	return all
}

func resultSize(r *schemas.Result) int64 {
	if r.ResultRef != nil {
		return r.ResultRef.Bytes
	}
	return int64(len(r.Result))
}

// bodyMissing is the failure of an attempt whose result is not where its worker says that it is, or is another; nil for all other errors.
func bodyMissing(err error) *schemas.Error {
	if isGone(err) {
		return schemas.NewError(schemas.DataLoss, reasonBodyMissing, "the worker's result did not arrive whole")
	}
	return nil
}

// agentOf is the agent that has a task; nil if it is no longer registered. What is read of it does not change.
func (d *Dispatcher) agentOf(t *index.Task) *agent {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	return d.view.roster.agents[t.AgentID]
}

// mapped gives an agent's own error code its standard one by the dictionary's error mapping, where the agent's, which the worker
// has applied, says nothing of it.
func (d *Dispatcher) mapped(t *index.Task, e *schemas.Error) *schemas.Error {
	var raw string
	entry, known := d.dictionary.Load().Entry(t.Capability)
	if !known || !e.Detail("agent_code", &raw) {
		return e
	}
	code, found := entry.ErrorMapping[raw]
	if a := d.agentOf(t); !found || a != nil && a.maps(t.Capability, raw) {
		return e
	}
	translated := *e
	translated.Code = code
	return &translated
}

func resultTooLarge(size int64, limit int) *schemas.Error {
	return schemas.NewError(schemas.ResourceExhausted, schemas.ReasonResultTooLarge,
		"the result has %d bytes; at most %d are accepted", size, limit).With("size_bytes", size).With("limit_bytes", limit)
}

// conclude writes what follows from an attempt: the end of the task, or its way to the next agent.
func (d *Dispatcher) conclude(ctx context.Context, t *index.Task, r *schemas.Result, failed *schemas.Error) (stored, error) {
	if failed == nil {
		done, err := d.endWith(ctx, t, r, schemas.StateCompleted, nil)
		return d.reaching(t, true, done, err)
	}
	switch refused := r.State == schemas.StateRejected && t.Phase == schemas.PhaseAssigned; {
	case refused && failed.Reason == schemas.ReasonVersion:
		return d.leaveToOthers(ctx, t, r)
	case refused:
		return d.endWith(ctx, t, r, schemas.StateRejected, failed)
	case workerStopped(r, failed):
		return d.afterStop(ctx, t, r, failed)
	}
	f := d.failure(t, r, failed)
	done, err := d.concludeFailure(ctx, t, r, f)
	return d.reaching(t, f.Ran != schemas.RanNo || !f.OnTheWay(), done, err)
}

// concludeFailure is conclude for an attempt that has failed, as it was decided.
func (d *Dispatcher) concludeFailure(ctx context.Context, t *index.Task, r *schemas.Result, f failover.Failure) (stored, error) {
	failed := f.Err
	how := moving{
		writeID: r.WriteID, attempt: t.Terms.Attempt + 1, tried: t.AgentID,
		streamed: streamed{last: r.Chunks},
		hop:      routed{Rule: "failover", From: t.AgentID, Code: string(failed.Code), Reason: failed.Reason},
	}
	switch f.Verdict() {
	case failover.Moves:
		return d.moveOn(ctx, t, how)
	case failover.Turns:
		how.hop.Rule, how.fallback = "fallback", true
		return d.moveOn(ctx, t, how)
	case failover.Waits:
		how.hop.Rule = "retry"
		done, err := d.retryLater(ctx, t, how, d.delay(t, failed))
		if err == nil {
			d.metrics.Retried(failed.Code)
		}
		return done, err
	case failover.Aborts:
		return d.endDead(ctx, t, r, failover.MayHaveExecuted(t.AgentID, t.Terms.Attempt, failed))
	}
	if f.OnTheWay() {
		return d.endDead(ctx, t, r, failed)
	}
	return d.endWith(ctx, t, r, schemas.StateFailed, failed)
}

func (d *Dispatcher) failure(t *index.Task, r *schemas.Result, failed *schemas.Error) failover.Failure {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	w := d.wishOf(t.Order())
	w.want.Tried = append(w.want.Tried, t.AgentID)
	p := d.makePlan(w)
	ran := r.Ran
	if ran == "" || r.State == schemas.StateCompleted {
		ran = schemas.RanYes
	}
	attempts := attemptsFor(t)
	if failed.OverRunLimit() { // then the first one has been, too
		attempts = failover.Attempts(t.Terms.QualityOfService)
	}
	return failover.Failure{
		Err: failed, Ran: ran, Idempotent: t.Idempotent(), Attempt: t.Terms.Attempt,
		Attempts: attempts, Another: p.online > 0,
		Fallback: d.fallback(t.Order()) != nil,
	}
}

// delay is the back-off before an agent is asked again; one that said when to come back is believed within bounds.
func (d *Dispatcher) delay(t *index.Task, failed *schemas.Error) time.Duration {
	wait := failover.Backoff(d.cfg.BackoffBase, d.cfg.BackoffCap, t.Terms.Attempt-1, failover.Jitter)
	return max(wait, min(schemas.Duration(failed.RetryAfterMS), 10*d.cfg.BackoffCap))
}

// endWith ends a task with what its worker said. Of the worker's clock only a difference is believed.
func (d *Dispatcher) endWith(ctx context.Context, t *index.Task, r *schemas.Result, state schemas.State, failed *schemas.Error) (stored, error) {
	c := d.end(t, d.told(t, r, state, failed))
	c.writeID = r.WriteID
	return d.write(ctx, c)
}

// endDead is endWith for a task that failed on its way: a person may replay it.
func (d *Dispatcher) endDead(ctx context.Context, t *index.Task, r *schemas.Result, failed *schemas.Error) (stored, error) {
	return d.endAsDeadLetter(ctx, t, r.WriteID, d.told(t, r, schemas.StateFailed, failed))
}

// told is the record of a task that ends as its worker said.
func (d *Dispatcher) told(t *index.Task, r *schemas.Result, state schemas.State, failed *schemas.Error) *schemas.Record {
	record := d.record(t, state)
	record.Error = failed
	record.Partial = r.Partial && state == schemas.StateCompleted
	record.Chunks = r.Chunks
	record.Hops = appendHops(record.Hops, r.Hops...)
	if took := r.FinishedAt.Sub(r.StartedAt.Time); !r.StartedAt.IsZero() && took >= 0 {
		record.StartedAt = schemas.At(latest(record.FinishedAt.Add(-took), record.SubmittedAt.Time))
	}
	if state == schemas.StateCompleted {
		record.Result, record.ResultRef = r.Result, r.ResultRef
		if record.Result == nil && record.ResultRef == nil {
			record.Result = schemas.Payload("null")
		}
	}
	record.Hops = d.hop(record.Hops, schemas.HopValidated, validated(r, failed))
	return record
}
