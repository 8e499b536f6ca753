package desk

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// job is one task that the agent was given. token and what follows is guarded by the place.
type job struct {
	message *schemas.ReachMessage
	first   uint64 // the sequence of the assignment
	adopted bool   // others have handed it out, and may have sent chunks of it
	hops    []schemas.Hop
	given   time.Time // when it was handed over; zero until then
	limit   time.Duration
	stream  stream

	token   uint64 // what its receipts, chunks and result name
	stop    *order // nil while nobody wants it stopped
	stopped bool   // by its run limit, and the agent has confirmed it
	left    chan struct{}
	isLeft  bool
	late    bool // a failure in the agent's place is on its way
}

// leave says that the agent has it no longer; the caller holds the place's lock.
func (j *job) leave() {
	if !j.isLeft {
		j.isLeft = true
		close(j.left)
	}
}

// newJob is a task that is about to be handed out.
func (p *place) newJob(m *schemas.ReachMessage, first uint64, arrived time.Time) *job {
	limit := cmp.Or(schemas.Duration(m.Assignment.RunTimeoutMS), p.desk.cfg.RunTimeout)
	return &job{
		message: m, first: first, token: first, limit: limit, left: make(chan struct{}), stream: newStream(),
		hops: []schemas.Hop{{Hop: schemas.HopReceived, At: schemas.At(arrived), By: p.agentID}},
	}
}

// hand notes that a job is the agent's: from now on its run limit counts. The caller holds the lock.
func (p *place) hand(j *job, now time.Time) {
	j.given = now
	j.hops = append(j.hops, schemas.Hop{Hop: schemas.HopAdapterRequest, At: schemas.At(now), By: p.agentID})
}

// receiptOf names a job as one that runs.
func (j *job) receiptOf() schemas.ReceiptTask {
	return schemas.ReceiptTask{TaskID: j.message.TaskID, Attempt: max(1, j.message.Attempt), Sequence: j.token, Running: true, Hops: j.hops}
}

// reconcile takes the agent's word of all that it has. What has side effects and is not named stays the agent's until its run limit:
// it may have been done, and its result lost.
func (p *place) reconcile(held []uint64) {
	if held == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for taskID, j := range p.jobs {
		switch {
		case slices.Contains(held, j.token):
		case j.stop != nil && j.stop.Reason == schemas.ReasonRunLimit: // it does not come again, and its end is told to a dispatcher
			j.stopped = true
			p.ended.add(taskID, j.token)
			j.leave()
		case j.stop != nil || j.message.Assignment.Idempotent:
			p.left.add(taskID, j.token)
			delete(p.jobs, taskID)
			j.leave()
		}
	}
	for sequence := range p.foreign {
		if !slices.Contains(held, sequence) {
			delete(p.foreign, sequence)
		}
	}
}

// held is what the agent has: by its own word where it has given one, else what it was handed.
func (p *place) held(said []uint64) []uint64 {
	if said != nil {
		return said
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []uint64
	for _, j := range p.jobs {
		all = append(all, j.token)
	}
	slices.Sort(all)
	return all
}

// running are the receipts of what the agent has.
func (p *place) running(held []uint64) []schemas.ReceiptTask {
	p.mu.Lock()
	defer p.mu.Unlock()
	var tasks []schemas.ReceiptTask
	for _, j := range p.jobs {
		if slices.Contains(held, j.token) && len(tasks) < schemas.MaxClaimTasks {
			tasks = append(tasks, j.receiptOf())
		}
	}
	return tasks
}

// jobOf is the job that a token names; nil if it was not handed out here.
func (p *place) jobOf(taskID string, token uint64) *job {
	p.mu.Lock()
	defer p.mu.Unlock()
	if j := p.jobs[taskID]; j != nil && j.token == token {
		return j
	}
	return nil
}

// drop ends a job: a dispatcher has had the last word on it.
func (p *place) drop(taskID string, token uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended.add(taskID, token)
	p.left.add(taskID, token)
	if j := p.jobs[taskID]; j != nil && j.token <= token {
		delete(p.jobs, taskID)
		j.leave()
	}
	p.ring(true)
}

// overdue orders what has passed its run limit to be stopped, and gives what was, or did not end in the grace after that. What is still
// being begun, however long that takes, has no limit yet.
func (p *place) overdue(now time.Time) []*job {
	p.mu.Lock()
	defer p.mu.Unlock()
	var over []*job
	for _, j := range p.jobs {
		if j.given.IsZero() {
			continue
		}
		late := now.Sub(j.given) - j.limit
		if late >= 0 {
			p.order(j, schemas.ReasonRunLimit)
		}
		if (j.stopped || late >= p.desk.cfg.StopGrace) && !j.late {
			j.late = true
			over = append(over, j)
		}
	}
	return over
}

// giveUp finishes a task in the place of an agent that has not answered within the run limit. One that has confirmed that it was stopped
// is known to have run.
func (p *place) giveUp(j *job) {
	ran, why := schemas.RanUnknown, "the agent did not answer within the run limit"
	p.mu.Lock()
	if j.stopped {
		ran, why = schemas.RanYes, "the agent was stopped at its run limit"
	}
	p.mu.Unlock()
	result := &schemas.Result{
		TaskID: j.message.TaskID, AgentID: p.agentID, InstanceID: p.instance, Attempt: max(1, j.message.Attempt), Sequence: j.token,
		State: schemas.StateFailed, Ran: ran, StartedAt: schemas.At(j.given), FinishedAt: schemas.At(p.desk.cfg.Now()),
		Error: schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonRunLimit, "%s", why),
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.desk.cfg.FinishTimeout)
	defer cancel()
	if _, err := p.finish(ctx, j, result, nil); err != nil {
		p.desk.log.Debug().Err(err).Str("task_id", result.TaskID).Msg("a task past its run limit was not ended; it is tried again")
		p.mu.Lock()
		j.late = false
		p.mu.Unlock()
	}
}

// adopted is a job that another desk, or this one before it was restarted, has handed out.
func (p *place) adopted(ctx context.Context, taskID string, token uint64) (*job, error) {
	if j := p.jobOf(taskID, token); j != nil {
		return j, nil
	}
	entry, err := p.standing(ctx, taskID, token)
	if err != nil {
		return nil, err
	}
	return p.adopt(entry)
}

// mostTakenIn is how many tokens of which nothing is known are looked up for one request. The next one looks for more.
const mostTakenIn = 64

// takeIn takes in what the agent says that it has and others have handed out: its run limit is kept here from now on. Of what is not the
// agent's it hears from a dispatcher.
func (p *place) takeIn(ctx context.Context, held []uint64) {
	unknown := p.unknown(held)
	for _, sequence := range unknown[:min(len(unknown), mostTakenIn)] {
		if entry, err := p.desk.conn.Ledger().At(ctx, sequence); err == nil {
			_, _ = p.adopted(ctx, entry.TaskID, sequence)
		}
	}
}

// unknown are the tokens of which nothing is known here.
func (p *place) unknown(held []uint64) []uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(held), func(sequence uint64) bool {
		return p.holding(sequence) != nil || p.foreign[sequence] != nil
	})
}

// standing is a task's last entry, if it is in flight with this agent under the token.
func (p *place) standing(ctx context.Context, taskID string, token uint64) (broker.Entry, error) {
	entry, err := p.desk.conn.Ledger().LastAtLeader(ctx, taskID)
	switch {
	case err != nil && !errors.Is(err, broker.ErrNotFound):
		return entry, unreachable()
	case err != nil || entry.Agent != p.agentID || !entry.InFlight(token):
		return entry, overtaken()
	}
	return entry, nil
}

// adopt takes in a job of others. One that another request has just taken in stays as it is.
func (p *place) adopt(entry broker.Entry) (*job, error) {
	message := new(schemas.ReachMessage)
	if schemas.Decode(entry.Body, message) != nil || message.Assignment == nil {
		return nil, overtaken()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	older := p.jobs[entry.TaskID]
	if older != nil && older.token >= entry.Sequence {
		return older, nil
	}
	if older != nil {
		older.leave()
	}
	now := p.desk.cfg.Now()
	j := p.newJob(message, entry.Sequence, now)
	p.hand(j, now)
	j.adopted = true
	p.jobs[entry.TaskID] = j
	return j, nil
}

// recover looks after a task that the agent's process has begun and does not hold. If this very claim has begun it, its answer was lost
// and is given again; else the task has its run limit to be answered: it may have been done, and its result be on its way.
func (p *place) recover(ctx context.Context, claimID string, t schemas.Token) error {
	if p.handed(t) {
		return nil
	}
	entry, err := p.standing(ctx, t.TaskID, t.Sequence)
	if err != nil {
		return unlessFinal(err)
	}
	if claimID == "" || entry.Write != writeID(claimID, t.TaskID) {
		_, err = p.adopt(entry)
		return unlessFinal(err)
	}
	assigned, err := p.desk.conn.Ledger().At(ctx, entry.Previous)
	if err != nil {
		return unreachable()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arrivals[assigned.Sequence] = arrival{entry: assigned, at: p.desk.cfg.Now(), begun: t.Sequence, write: entry.Write, named: true}
	return nil
}

// handed reports whether the agent was given a task, or is about to be.
func (p *place) handed(t schemas.Token) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	j := p.jobs[t.TaskID]
	known := j != nil && (j.given.IsZero() || j.token >= t.Sequence) || p.ended.has(t.TaskID, t.Sequence)
	for _, a := range p.arrivals {
		known = known || a.entry.TaskID == t.TaskID
	}
	return known
}

// unlessFinal is an error that a repeat may mend; of a task that has moved on there is nothing to say.
func unlessFinal(err error) error {
	if isFinal(err) {
		return nil
	}
	return err
}

// overtaken is what an agent hears of a task that is no longer its own.
func overtaken() *schemas.Error {
	return schemas.NewError(schemas.Aborted, reasonSuperseded, "the task has moved on or ended: stop, and forget it")
}

// ended remembers, of tasks whose time here is over, the last sequence each. A value without a lock.
type ended struct {
	last  map[string]uint64
	order []string
}

func newEnded() ended { return ended{last: make(map[string]uint64)} }

func (e *ended) add(taskID string, sequence uint64) {
	if _, known := e.last[taskID]; !known {
		e.order = append(e.order, taskID)
	}
	e.last[taskID] = max(e.last[taskID], sequence)
	if len(e.order) > maxEnded {
		delete(e.last, e.order[0])
		e.order = e.order[1:]
	}
}

func (e *ended) has(taskID string, sequence uint64) bool { return e.last[taskID] >= sequence }

// maxAnswers bounds the answers that are kept for claims that are sent again.
const maxAnswers = 8

// answers are those to the last claims that had a name, and brought something. A value without a lock.
type answers struct {
	byID  map[string][]*job
	order []string
}

func newAnswers() answers { return answers{byID: make(map[string][]*job)} }

func (a *answers) keep(claimID string, given []*job) {
	if claimID == "" || len(given) == 0 {
		return
	}
	if _, known := a.byID[claimID]; !known {
		a.order = append(a.order, claimID)
	}
	a.byID[claimID] = given
	if len(a.order) > maxAnswers {
		delete(a.byID, a.order[0])
		a.order = a.order[1:]
	}
}
