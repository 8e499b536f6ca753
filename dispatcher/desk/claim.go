package desk

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

// visit is one claim that waits.
type visit struct{ end context.CancelCauseFunc }

var (
	errNewer  = errors.New("a newer claim of the same process")
	errClosed = errors.New("the place is closed")
)

// Claim gives an agent the tasks that are its own, as soon as there is one, or what it is to stop; after wait, nothing. Where the
// claim names all that the agent holds, it ends an older one that still waits. A caller that goes away loses nothing: what it was to
// be given is there for its next claim.
func (d *Desk) Claim(ctx context.Context, claim *schemas.Claim, wait time.Duration) (*front.Claimed, error) {
	p, err := d.place(ctx, claim.AgentID, claim.InstanceID)
	if err != nil {
		return nil, err
	}
	visiting, leave, err := p.enter(ctx, claim.Held != nil)
	if err != nil {
		return nil, err
	}
	defer leave(ctx)
	if again := p.again(claim.ClaimID); again != nil {
		return p.claimed(again)
	}
	p.reconcile(claim.Held)
	p.takeIn(ctx, claim.Held)
	p.receipt(p.running(p.held(claim.Held)))
	given, err := p.serve(visiting, claim, wait)
	if err != nil {
		return nil, err
	}
	return p.claimed(given)
}

// enter lets a claim in. What it returns lets it out; its argument is the caller's own context.
func (p *place) enter(ctx context.Context, alone bool) (visiting context.Context, leave func(context.Context), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if alone {
		for v := range p.visits {
			v.end(errNewer)
		}
	} else if len(p.visits) >= p.desk.cfg.MaxVisits {
		e := schemas.NewError(schemas.ResourceExhausted, "TOO_MANY_CLAIMS", "%d claims of this agent wait already", len(p.visits))
		e.RetryAfterMS = 1000
		return nil, nil, e
	}
	visiting, end := context.WithCancelCause(ctx)
	v := &visit{end}
	p.visits[v] = struct{}{}
	return visiting, func(caller context.Context) {
		p.mu.Lock()
		defer p.mu.Unlock()
		end(nil)
		delete(p.visits, v)
		p.heard = p.desk.cfg.Now()
		p.gone = caller.Err() != nil
	}, nil
}

// serve looks until there is something to hand over, or to tell, or until the wait is over.
func (p *place) serve(ctx context.Context, claim *schemas.Claim, wait time.Duration) ([]*job, error) {
	over := time.NewTimer(wait)
	defer over.Stop()
	again := time.NewTicker(p.desk.cfg.Again)
	defer again.Stop()
	looked, ask := -1, true
	var failed error
	for {
		changed, looks := p.watch()
		if ask || looks != looked {
			looked = looks
			p.refresh()
			if failed = p.pull(ctx, claim); isFinal(failed) {
				return nil, failed
			}
		}
		given, err := p.take(ctx, claim)
		if err != nil {
			return p.interrupted(ctx, err)
		}
		if len(given) > 0 || p.news() {
			return given, nil
		}
		select {
		case <-changed:
			ask = false
		case <-again.C:
			ask = true
		case <-p.soonIf(failed):
			ask = true
		case <-over.C:
			if failed != nil {
				return nil, failed
			}
			return nil, nil
		case <-ctx.Done():
			return p.interrupted(ctx, context.Cause(ctx))
		}
	}
}

// retryPull is the wait before a pull that failed is tried again.
const retryPull = 250 * time.Millisecond

func (p *place) soonIf(failed error) <-chan time.Time {
	if failed == nil {
		return nil
	}
	return time.After(retryPull)
}

// interrupted is the answer to a claim that was not to wait any longer.
func (p *place) interrupted(ctx context.Context, err error) ([]*job, error) {
	switch {
	case errors.Is(err, errNewer), errors.Is(err, errClosed):
		return nil, nil
	case ctx.Err() != nil:
		return nil, schemas.NewError(schemas.Cancelled, "", "the caller left before the answer came")
	}
	return nil, err
}

// watch is how a claim hears of changes, and how often claims were told to ask a dispatcher.
func (p *place) watch() (changed <-chan struct{}, looks int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed, p.looks
}

// refresh forgets what has waited: it may have moved on, and a pull brings what has not.
func (p *place) refresh() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.desk.cfg.Now()
	for sequence, a := range p.arrivals {
		if a.begun == 0 && a.write == "" && now.Sub(a.at) >= p.desk.cfg.Fresh {
			delete(p.arrivals, sequence)
		}
	}
}

// pull asks for what is the agent's, and for what waits for somebody.
func (p *place) pull(ctx context.Context, claim *schemas.Claim) error {
	question := schemas.Pull{
		AgentID: p.agentID, InstanceID: p.instance, Held: p.held(claim.Held), After: p.after.Load(), Begun: true,
	}
	question.Free, question.FreeTotal = p.room(claim)
	end, err := p.ask(ctx, p.desk.cfg.PullTimeout, broker.SubjectPull(p.agentID), question)
	if err != nil {
		return err
	}
	for _, token := range end.Begun {
		if err := p.recover(ctx, claim.ClaimID, token); err != nil {
			return err
		}
	}
	return nil
}

// room is how much the agent takes: what the claim says, else what it has declared and does not have.
func (p *place) room(claim *schemas.Claim) (free map[string]int, total int) {
	if p.isDraining() {
		return nil, 0
	}
	total = claim.FreeTotal
	if total == 0 {
		total = max(0, p.registration.TotalSlots()-len(p.held(claim.Held)))
	}
	if claim.Free != nil {
		return claim.Free, total
	}
	free = make(map[string]int)
	for i := range p.registration.Capabilities {
		id := p.registration.Capabilities[i].ID
		free[id] = min(total, p.registration.Slots(id))
	}
	return free, total
}

func (p *place) isDraining() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.draining
}

func (p *place) news() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, news := p.orders()
	return news
}

// take hands out what fits: what has side effects is begun before. An error says that the claim is over; what was begun for it waits
// for the next.
func (p *place) take(ctx context.Context, claim *schemas.Claim) ([]*job, error) {
	chosen, err := p.pick(claim)
	if err != nil {
		return nil, err
	}
	var ours []*picked
	for i := range chosen {
		if p.isThere(ctx, &chosen[i]) && p.begin(ctx, claim, &chosen[i]) {
			ours = append(ours, &chosen[i])
		}
	}
	if ctx.Err() != nil {
		p.putBack(ours)
		return nil, context.Cause(ctx)
	}
	return p.handOver(claim.ClaimID, ours), nil
}

// picked is an arrival that is about to be handed out.
type picked struct {
	arrival
	job *job
}

// pick takes arrivals out, the best first, as far as there is room for them.
func (p *place) pick(claim *schemas.Claim) ([]picked, error) {
	free, total := p.room(claim)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	var out []picked
	taken := make(map[string]int)
	for _, one := range p.waiting() {
		capability := one.job.message.Capability
		large := p.comesAlong(one.job.message)
		if len(out) >= min(total, schemas.MaxClaimTasks) || taken[capability] >= free[capability] || large && len(out) > 0 {
			continue
		}
		taken[capability]++
		delete(p.arrivals, one.entry.Sequence)
		if older := p.jobs[one.entry.TaskID]; older != nil {
			older.leave()
		}
		p.jobs[one.entry.TaskID] = one.job // so that no other claim picks it
		out = append(out, one)
	}
	return out, nil
}

// waiting are the arrivals that the agent does not have, by priority, then by age; the caller holds the lock.
func (p *place) waiting() []picked {
	var all []picked
	for sequence, a := range p.arrivals {
		message := new(schemas.ReachMessage)
		known := p.jobs[a.entry.TaskID]
		switch {
		case known != nil && known.first >= sequence, p.ended.has(a.entry.TaskID, sequence),
			schemas.Decode(a.entry.Body, message) != nil, message.Assignment == nil, message.TaskID != a.entry.TaskID:
			delete(p.arrivals, sequence)
			continue
		}
		message.Hops = nil
		j := p.newJob(message, sequence, a.at)
		j.token = cmp.Or(a.begun, sequence)
		all = append(all, picked{a, j})
	}
	slices.SortFunc(all, func(a, b picked) int {
		return cmp.Or(b.job.message.PriorityOrDefault()-a.job.message.PriorityOrDefault(), cmp.Compare(a.job.first, b.job.first))
	})
	return all
}

// begin gets the right to run a task with side effects, and reports whether the agent may have it.
func (p *place) begin(ctx context.Context, claim *schemas.Claim, one *picked) bool {
	switch {
	case one.job.message.Assignment.Idempotent:
		return true
	case one.begun != 0:
		return p.isStill(ctx, claim, one)
	}
	m := one.job.message
	if one.write == "" {
		one.write, one.named = writeID(claim.ClaimID, m.TaskID), claim.ClaimID != ""
	}
	insisting, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.desk.cfg.FinishTimeout)
	defer cancel()
	answer, err := p.deliver(insisting, broker.SubjectBegin(p.agentID), schemas.Begin{
		TaskID: m.TaskID, Attempt: m.Attempt, Sequence: one.job.first, InstanceID: p.instance, WriteID: one.write,
	})
	if err == nil && answer.Outcome != schemas.OutcomeSuperseded {
		p.move(one.job, answer.Sequence)
		return true
	}
	p.desk.log.Debug().Err(err).Str("task_id", m.TaskID).Str("outcome", string(answer.Outcome)).Msg("not begun")
	p.unpick(one, err != nil && !isFinal(err)) // it may have been: the next claim asks again
	return false
}

// isStill reports whether a task that was begun for a claim whose caller has gone may be given to this one. If the claim had a name, its
// caller may have asked again elsewhere, got the task and even done it: so another claim gets it only if it says what the agent has, and
// that is not this; and nobody gets it unless the ledger's leader says that it still stands.
func (p *place) isStill(ctx context.Context, claim *schemas.Claim, one *picked) bool {
	same := claim.ClaimID != "" && one.write == writeID(claim.ClaimID, one.entry.TaskID)
	if slices.Contains(claim.Held, one.begun) || one.named && !same && claim.Held == nil {
		p.unpick(one, false) // a pull finds it, and looks after it
		return false
	}
	if _, err := p.standing(ctx, one.entry.TaskID, one.begun); err != nil {
		p.unpick(one, !isFinal(err))
		return false
	}
	return true
}

// move notes a job's new token.
func (p *place) move(j *job, token uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	j.token = token
}

// unpick takes a job back that was picked; with keep, it waits for the next claim.
func (p *place) unpick(one *picked, keep bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.jobs[one.entry.TaskID] == one.job {
		delete(p.jobs, one.entry.TaskID)
		one.job.leave()
	}
	if keep {
		p.arrivals[one.job.first] = one.arrival
	}
}

// putBack keeps what was begun for a caller that has gone. Another claim of the agent may wait for just that.
func (p *place) putBack(given []*picked) {
	for _, one := range given {
		if one.job.token != one.job.first { // else a pull brings it again
			one.begun = one.job.token
		}
		p.unpick(one, one.begun != 0)
	}
	if len(given) > 0 {
		p.wake(true)
	}
}

// handOver makes jobs the agent's, and lets dispatchers know.
func (p *place) handOver(claimID string, ours []*picked) []*job {
	if len(ours) == 0 {
		return nil
	}
	p.mu.Lock()
	var given []*job
	var tasks []schemas.ReceiptTask
	now := p.desk.cfg.Now()
	for _, one := range ours {
		j := one.job
		p.hand(j, now)
		given = append(given, j)
		tasks = append(tasks, j.receiptOf())
	}
	p.answers.keep(claimID, given)
	p.mu.Unlock()
	p.receipt(tasks)
	return given
}

// again is what the answer to a claim of that name was, as far as the agent still has it; nil if there is none.
func (p *place) again(claimID string) []*job {
	p.mu.Lock()
	defer p.mu.Unlock()
	var has []*job
	for _, j := range p.answers.byID[claimID] {
		if p.jobs[j.message.TaskID] == j {
			has = append(has, j)
		}
	}
	return has
}

// claimed is the answer to a claim.
func (p *place) claimed(given []*job) (*front.Claimed, error) {
	answer := &front.Claimed{Claimed: schemas.Claimed{Assignments: []schemas.ClaimedTask{}}, Large: make(map[int]front.Open)}
	for i, j := range given {
		said := *j.message
		said.Payload = p.words[said.Capability].Payload(said.Payload)
		if p.comesAlong(&said) {
			said.PayloadRef = nil
			answer.Large[i] = func(ctx context.Context) (io.ReadSeekCloser, error) { return p.payload(ctx, j.message) }
		}
		message, err := schemas.Encode(&said)
		if err != nil {
			return nil, schemas.AsError(err)
		}
		answer.Assignments = append(answer.Assignments, schemas.ClaimedTask{Sequence: j.token, Message: message})
	}
	answer.Stop, answer.Draining = p.tell()
	return answer, nil
}
