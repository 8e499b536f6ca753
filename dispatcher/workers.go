package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// serveWorkers answers what workers ask. Heartbeats and receipts are heard by every dispatcher; one of them answers.
func (d *Dispatcher) serveWorkers(closers *closers) error {
	answered := []struct {
		subject string
		many    string // where bundles of them come
		handler func(context.Context, *broker.Request)
	}{
		{broker.SubjectPull(broker.Any), "", d.servePull},
		{broker.SubjectBegin(broker.Any), broker.SubjectBegins(broker.Any), d.serveBegin},
		{broker.SubjectFinish(broker.Any), broker.SubjectFinishes(broker.Any), d.serveFinish},
		{broker.SubjectRelease(broker.Any), broker.SubjectReleases(broker.Any), d.serveRelease},
		{broker.SubjectBlob(broker.Any), "", d.serveBlob},
		{broker.SubjectHeartbeat(broker.Any), "", d.serveHeartbeat},
	}
	for _, a := range answered {
		if err := d.listen(closers, a.subject, a.handler, broker.Bundled(a.many)); err != nil {
			return err
		}
	}
	if err := d.listen(closers, broker.SubjectHeartbeat(broker.Any), d.hearHeartbeat, broker.Plain(), broker.Serial()); err != nil {
		return err
	}
	return d.listen(closers, broker.SubjectReceipt(broker.Any), d.hearReceipt, broker.Plain(), broker.Serial())
}

func (d *Dispatcher) listen(c *closers, subject string, handler func(context.Context, *broker.Request), options ...broker.ServeOption) error {
	served, err := d.conn.Serve(subject, handler, options...)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", subject, err)
	}
	c.add(served.Close)
	return nil
}

// authentic checks that a request speaks for the process that serves the agent now. An agent that this dispatcher has not heard of
// yet, or knows under another instance, is looked up in the registry.
func (d *Dispatcher) authentic(ctx context.Context, agentID, instanceID string) error {
	if d.isInstance(agentID, instanceID) {
		return nil
	}
	if err := d.learn(ctx, agentID); err != nil {
		return err
	}
	if d.isInstance(agentID, instanceID) {
		return nil
	}
	return schemas.NewError(schemas.FailedPrecondition, "SUPERSEDED", "another process serves this agent_id now")
}

func (d *Dispatcher) isInstance(agentID, instanceID string) bool {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	a := d.view.roster.agents[agentID]
	if a == nil || instanceID == "" || a.instance() != instanceID {
		return false
	}
	a.spoken = true
	a.sign(d.clock())
	return true
}

// at is the task as a request of its worker names it. answer is set where the request has already been answered by the ledger.
func (d *Dispatcher) at(ctx context.Context, agentID, taskID string, sequence uint64, writeID string) (t *index.Task, answer *schemas.Answer) {
	if t := d.openAt(agentID, taskID, sequence); t != nil {
		return t, nil
	}
	if t := d.openSoon(ctx, agentID, taskID, sequence); t != nil {
		return t, nil
	}
	entry, err := d.ledger.LastAtLeader(ctx, taskID)
	switch {
	case errors.Is(err, broker.ErrNotFound):
		return nil, &schemas.Answer{Outcome: schemas.OutcomeSuperseded}
	case err != nil:
		return nil, &schemas.Answer{Outcome: schemas.OutcomeTryAgain}
	case entry.Write == writeID:
		return nil, &schemas.Answer{Outcome: schemas.OutcomeAlreadyYours, Sequence: entry.Sequence}
	case entry.Phase == schemas.PhaseDone:
		return nil, &schemas.Answer{Outcome: schemas.OutcomeSuperseded}
	}
	event, err := decodeEvent(entry)
	if err != nil {
		return nil, &schemas.Answer{Outcome: schemas.OutcomeTryAgain}
	}
	if t = index.TaskOf(event); !t.InFlight() || !isAt(t, agentID, sequence) {
		return nil, &schemas.Answer{Outcome: schemas.OutcomeSuperseded}
	}
	return t, nil
}

func (d *Dispatcher) openAt(agentID, taskID string, sequence uint64) *index.Task {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	t := d.view.tasks.Open(taskID)
	if t == nil || !t.InFlight() || !isAt(t, agentID, sequence) {
		return nil
	}
	return t
}

// openSoon is openAt for a worker that was quicker than the answer to the write that it works for, or is told of it by another dispatcher.
// It waits for a moment until the index, where it is behind that write, is no longer so.
func (d *Dispatcher) openSoon(ctx context.Context, agentID, taskID string, sequence uint64) *index.Task {
	changed, forget := d.view.follow(taskID)
	defer forget()
	over := time.NewTimer(waitForStep)
	defer over.Stop()
	for d.applied() < sequence {
		select {
		case <-changed:
		case <-over.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	return d.openAt(agentID, taskID, sequence)
}

// isAt reports whether an agent that names a sequence has the task: as its agent, or as the one that was asked before.
func isAt(t *index.Task, agentID string, sequence uint64) bool {
	return t.AgentID == agentID && t.Sequence == sequence || t.Also() == agentID && agentID != "" && t.Previous == sequence
}

// outcome is the answer to a request whose write ended so.
func outcome(done stored, err error) schemas.Answer {
	var conflict *broker.Conflict
	switch {
	case err == nil:
		return schemas.Answer{Outcome: schemas.OutcomeStored, Sequence: done.entry.Sequence}
	case errors.As(err, &conflict) && conflict.Stored > 0:
		return schemas.Answer{Outcome: schemas.OutcomeAlreadyYours, Sequence: conflict.Stored}
	case errors.As(err, &conflict):
		return schemas.Answer{Outcome: schemas.OutcomeSuperseded}
	}
	return schemas.Answer{Outcome: schemas.OutcomeTryAgain}
}

// checkStep refuses a begin or release that names no task.
func checkStep(b *schemas.Begin) error {
	if err := schemas.CheckTaskID(b.TaskID); err != nil {
		return err
	}
	if b.Sequence == 0 || b.WriteID == "" || len(b.WriteID) > 64 {
		return schemas.NewError(schemas.InvalidArgument, "", "sequence and write_id are required").With("field", "/write_id")
	}
	return nil
}

// serveBegin gives a worker the right to start: at most one of all who ask gets it.
func (d *Dispatcher) serveBegin(ctx context.Context, r *broker.Request) {
	var b schemas.Begin
	if err := acceptStep(r.Data, &b); err != nil {
		r.Fail(schemas.AsError(err))
		return
	}
	r.Reply(schemas.MustEncode(d.begin(ctx, r.Agent, b)))
}

func acceptStep(data []byte, b *schemas.Begin) error {
	if err := schemas.Accept(data, b); err != nil {
		return err
	}
	return checkStep(b)
}

func (d *Dispatcher) begin(ctx context.Context, agentID string, b schemas.Begin) schemas.Answer {
	if err := d.authentic(ctx, agentID, b.InstanceID); err != nil {
		return unproven(schemas.AsError(err))
	}
	t, answer := d.at(ctx, agentID, b.TaskID, b.Sequence, b.WriteID)
	if answer != nil {
		return *answer
	}
	if t.Phase == schemas.PhaseBegun {
		return schemas.Answer{Outcome: schemas.OutcomeSuperseded}
	}
	m := t.Order()
	assignment := *m.Assignment
	assignment.InstanceID, assignment.BegunAt = b.InstanceID, schemas.At(d.now())
	m.Assignment = &assignment
	c := d.next(t, schemas.PhaseBegun, agentID, m)
	c.writeID = b.WriteID
	done, err := d.write(ctx, c)
	return outcome(done, err)
}

// unproven answers a process that is not known to serve the agent. Where that is only because the registry could not be read, it
// asks again: a task whose begin is superseded is never begun by that worker.
func unproven(why *schemas.Error) schemas.Answer {
	if why.Retryable {
		return schemas.Answer{Outcome: schemas.OutcomeTryAgain, Error: why}
	}
	return schemas.Answer{Outcome: schemas.OutcomeSuperseded, Error: why}
}

// serveRelease takes back a task that its worker has not begun.
func (d *Dispatcher) serveRelease(ctx context.Context, r *broker.Request) {
	var b schemas.Release
	if err := acceptStep(r.Data, &b); err != nil {
		r.Fail(schemas.AsError(err))
		return
	}
	r.Reply(schemas.MustEncode(d.release(ctx, r.Agent, b)))
}

func (d *Dispatcher) release(ctx context.Context, agentID string, b schemas.Release) schemas.Answer {
	t, answer := d.at(ctx, agentID, b.TaskID, b.Sequence, b.WriteID)
	if answer != nil {
		return *answer
	}
	if t.Phase == schemas.PhaseBegun {
		return schemas.Answer{Outcome: schemas.OutcomeSuperseded, Error: schemas.NewError(schemas.FailedPrecondition, "BEGUN",
			"the task has begun: finish it")}
	}
	done, err := d.moveOn(ctx, t, moving{
		writeID: b.WriteID, attempt: t.Terms.Attempt, avoidNow: agentID, hop: routed{Rule: "release", From: agentID},
	})
	return outcome(done, err)
}

// How long a request waits for the index to catch up with what its worker knows.
const (
	waitFor     = time.Second           // a pull
	waitForStep = 50 * time.Millisecond // a begin, finish or release: the ledger can tell as well
)

// caughtUp waits until the index is current and has folded up to a sequence.
func (d *Dispatcher) caughtUp(ctx context.Context, sequence uint64) bool {
	return d.until(ctx, waitFor, func() bool { return d.isCurrent() && d.applied() >= sequence })
}

// until waits for something that is about to be so.
func (d *Dispatcher) until(ctx context.Context, within time.Duration, so func() bool) bool {
	if so() {
		return true
	}
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !so() {
		select {
		case <-poll.C:
		case <-deadline.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}
