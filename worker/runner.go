package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// runner sees assignments through, each from its slot to a dispatcher's last word.
type runner struct {
	cfg     *Config
	agent   *Agent
	inbox   *inbox
	journal *journal
	words   *words // of the agent's results
	courier *courier
	mover   *mover
	chunks  *broker.ChunkWriters
	log     zerolog.Logger
	runs    sync.WaitGroup
}

// start runs an assignment that has a slot, or tells of one that is refused.
func (r *runner) start(a *assignment) {
	r.runs.Go(func() {
		r.carry(a)
		r.cfg.reclaim.leave(a.held)
	})
}

// release hands an assignment back.
func (r *runner) release(a *assignment) {
	r.runs.Go(func() {
		defer r.inbox.forget(a)
		ctx, cancel := r.untilExpiry(a.life, a)
		defer cancel()
		answer, err := r.courier.deliver(ctx, r.courier.releases, r.claim(a), false)
		r.logOf(a, err).Str("outcome", string(answer.Outcome)).Msg("handed back")
	})
}

func (r *runner) carry(a *assignment) {
	if a.refusal == nil && a.answer == nil {
		r.occupy(a)
		return
	}
	defer r.inbox.forget(a)
	defer a.account.letGo()
	if a.refusal != nil {
		r.finish(a, rejected(a.refusal), nil)
		return
	}
	r.logOf(a, nil).Msg("answered from the journal")
	r.finish(a, *a.answer, nil)
}

// occupy has the slot, for as long as the handler takes to return, and tells how that has ended unless it was given up before.
func (r *runner) occupy(a *assignment) {
	var e ending
	returned, gaveUp := make(chan struct{}), make(chan bool, 1)
	unhook := context.AfterFunc(a.ctx, func() { gaveUp <- r.outlast(a, returned) })
	defer func() { // also where the handler ends its goroutine
		r.inbox.yield(a, e.took, e.confirmed(), r.rest(e))
		close(returned)
		if unhook() || !<-gaveUp {
			r.conclude(a, e)
		}
	}()
	payload, release, instead := r.payload(a)
	defer release()
	if instead != nil {
		e = *instead
		return
	}
	if !r.begin(a) {
		e.fate = skipped
		return
	}
	if a.ctx.Err() != nil {
		e = ending{fate: unstarted, cause: context.Cause(a.ctx), at: r.cfg.Now()}
		return
	}
	r.handle(a, payload, &e)
}

// rest is how long a slot stays taken after its handler has returned, for an agent that may still be at work.
func (r *runner) rest(e ending) time.Duration {
	if e.lingers() {
		return r.cfg.StopGrace
	}
	return 0
}

// outlast waits for a handler whose context has ended, and gives it up when it does not return: then what is known is told. It reports
// whether that was so.
func (r *runner) outlast(a *assignment, returned <-chan struct{}) bool {
	grace := time.NewTimer(r.cfg.StopGrace)
	defer grace.Stop()
	select {
	case <-returned:
		return false
	case <-grace.C:
	}
	r.inbox.giveUp(a)
	r.logOf(a, context.Cause(a.ctx)).Msg("the handler does not return; its slot stays taken until it does")
	r.conclude(a, ending{fate: givenUp, cause: context.Cause(a.ctx), at: r.cfg.Now()})
	return true
}

// conclude tells a dispatcher how an attempt has ended.
func (r *runner) conclude(a *assignment, e ending) {
	defer r.inbox.forget(a)
	defer a.account.letGo()
	if e.matters() {
		result, large := r.result(a, e)
		r.finish(a, result, large)
	}
}

// begin gets the right to run. Without the answer stored or already_yours nothing starts that must not run twice.
func (r *runner) begin(a *assignment) bool {
	if a.message.Assignment.Idempotent {
		r.inbox.run(a, a.first, r.cfg.Now())
		return true
	}
	ctx, cancel := r.untilExpiry(a.ctx, a)
	defer cancel()
	answer, err := r.courier.deliver(ctx, r.courier.begins, r.claim(a), false)
	if err != nil || answer.Outcome == schemas.OutcomeSuperseded {
		r.logOf(a, err).Str("outcome", string(answer.Outcome)).Msg("not begun")
		return false
	}
	r.inbox.run(a, cmp.Or(answer.Sequence, a.first), r.cfg.Now())
	return true
}

// claim names an assignment in a begin or a release.
func (r *runner) claim(a *assignment) []byte {
	return schemas.MustEncode(schemas.Begin{
		TaskID: a.taskID(), Attempt: a.message.Attempt, Sequence: a.first,
		InstanceID: r.agent.Registration.InstanceID, WriteID: newWriteID(),
	})
}

// handle calls the handler under the run limit. The account is closed when it returns.
func (r *runner) handle(a *assignment, payload schemas.Payload, e *ending) {
	limit := cmp.Or(schemas.Duration(a.message.Assignment.RunTimeoutMS), r.cfg.RunTimeout)
	ctx, cancel := context.WithTimeoutCause(a.ctx, limit, ErrRunLimit)
	defer cancel()
	unhook := context.AfterFunc(ctx, func() { a.cancel(context.Cause(ctx)) })
	defer unhook()

	started := r.cfg.Now()
	defer func() {
		e.at = r.cfg.Now()
		e.took = e.at.Sub(started)
		if ctx.Err() != nil {
			e.cause = context.Cause(ctx)
		}
		a.account.close()
	}()
	if !a.message.Assignment.Idempotent {
		r.journal.begin(a.attempt(r.id()))
	}
	a.account.open(r.chunks.Open(a.message))
	a.account.Hop(schemas.HopAdapterRequest)
	message := *a.message
	message.Payload, message.PayloadRef = payload, nil
	e.result, e.err = r.call(ctx, &Task{Message: &message, Offer: a.offer, Deadline: started.Add(limit)}, a.account)
	pair := r.words.of(a.offer.ID)
	ours := e.err == nil && e.result == nil && pair.Chunks() // made of chunks that were translated one by one
	if e.err == nil && e.result == nil {
		e.result, e.large, e.err = a.account.joined()
	}
	if e.large == nil && !ours {
		e.result = pair.Result(e.result)
	}
	e.fate = returned
}

// call is the handler, its panics as failures. What it panicked with is not logged, unless it is the runtime's own word.
func (r *runner) call(ctx context.Context, task *Task, emit Emit) (result schemas.Payload, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		event := r.log.Error().Str("task_id", task.ID()).Str("type", fmt.Sprintf("%T", p)).Bytes("stack", debug.Stack())
		if own, ok := p.(runtime.Error); ok {
			event = event.Str("panic", own.Error())
		}
		event.Msg("the handler panicked")
		err = &Failure{Err: internal(reasonPanic, "the agent's handler panicked"), Ran: schemas.RanYes}
	}()
	return r.agent.Handler.Handle(ctx, task, emit)
}

// result is what a dispatcher is told of an ending; large writes what is not held in memory.
func (r *runner) result(a *assignment, e ending) (result schemas.Result, large *spooled) {
	result = e.outcome(r.cfg.ResultLimit, a.offer.ErrorMapping)
	large = cmp.Or(r.settleForAPart(a, &result), e.large)
	_, result.Hops = a.account.soFar()
	result.Chunks, result.Stalls = a.account.streamed()
	result.FinishedAt = schemas.At(e.at)
	return result, large
}

// settleForAPart makes what a realtime task had said by its run limit its result, which is marked as partial; large writes one that is not
// held in memory. Whether the capability's contract takes a part is the dispatcher's to say: where it does not, the attempt has failed as it
// would have without.
func (r *runner) settleForAPart(a *assignment, result *schemas.Result) (large *spooled) {
	if a.message.QualityOfService != schemas.QoSRealtime || result.Error == nil || !result.Error.OverRunLimit() {
		return nil
	}
	part, large := a.account.part()
	if pair := r.words.of(a.offer.ID); part != nil && !pair.Chunks() {
		part = pair.Result(part)
	}
	if large != nil || part != nil && checkResult(part, r.cfg.ResultLimit) == nil {
		result.State, result.Result, result.Error, result.Partial = schemas.StateCompleted, part, nil, true
	}
	return large
}

// finish brings a result to a dispatcher, however long that takes, until the task has expired. A large one goes before, in parts.
func (r *runner) finish(a *assignment, result schemas.Result, large *spooled) {
	sequence, started := r.inbox.finish(a)
	result.TaskID, result.AgentID, result.Attempt = a.taskID(), r.id(), a.message.Attempt
	result.Sequence, result.InstanceID = sequence, r.agent.Registration.InstanceID
	result.WriteID = cmp.Or(result.WriteID, newWriteID())
	if a.answer == nil {
		result.StartedAt = schemas.At(started)
	}
	ctx, cancel := r.untilExpiry(a.life, a)
	defer cancel()
	result, more := r.inParts(ctx, a, result, large)
	if !more {
		return
	}
	body := schemas.MustEncode(&result)
	if a.answer == nil && a.refusal == nil {
		r.journal.keep(&result, body, a.expires, !a.message.Assignment.Idempotent)
	}
	r.inbox.weigh(a, len(body))
	answer, err := r.courier.deliver(ctx, r.courier.finishes, body, true)
	r.inbox.answered(a, answer)
	if err == nil {
		r.journal.settle(a.attempt(r.id()))
	}
	r.logOf(a, err).Str("state", string(result.State)).Str("outcome", string(answer.Outcome)).Msg("finished")
}

func (r *runner) untilExpiry(ctx context.Context, a *assignment) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, a.expires.Sub(r.cfg.Now()), errExpired)
}

func (r *runner) id() string { return r.agent.Registration.AgentID }

// logOf is a line about an assignment: a warning where something went wrong that the task's record does not tell.
func (r *runner) logOf(a *assignment, err error) *zerolog.Event {
	event := r.log.Debug()
	if err != nil && !errors.Is(err, ErrCanceled) && !errors.Is(err, ErrSuperseded) {
		event = r.log.Warn().Err(err)
	}
	return event.Str("task_id", a.taskID()).Int("attempt", a.message.Attempt).Str("trace_id", a.message.TraceID)
}

// newWriteID names one begin, release or result, however often it is sent.
func newWriteID() string {
	var id [8]byte
	_, _ = rand.Read(id[:])
	return hex.EncodeToString(id[:])
}
