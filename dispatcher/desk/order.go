package desk

import (
	"context"
	"slices"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

const reasonSuperseded = "SUPERSEDED"

// order is a stop that the agent is to be told of.
type order struct {
	schemas.Stop
	told bool // by the answer to a claim: it ends the wait of no other
}

// control answers what dispatchers say to the agent: a word, or an assignment sent again.
func (p *place) control(ctx context.Context, r *broker.Request) {
	if e, ok := r.Entry(); ok {
		p.arrive(e)
		p.reply(r, schemas.ControlReply{OK: true})
		return
	}
	var word schemas.Control
	if err := schemas.Accept(r.Data, &word); err != nil {
		r.Fail(schemas.AsError(err))
		return
	}
	switch word.Do {
	case schemas.DoPing:
		p.ping(r, word)
	case schemas.DoProbe: // that it is served here is all that can be asked without its doing
		p.reply(r, schemas.ControlReply{OK: true})
	case schemas.DoCancel:
		p.reply(r, schemas.ControlReply{OK: true, Confirmed: p.cancel(ctx, word)})
	case schemas.DoDrain, schemas.DoResume:
		p.drain(word.Do == schemas.DoDrain)
		p.reply(r, schemas.ControlReply{OK: true})
	default:
		r.Fail(schemas.NewError(schemas.Unimplemented, "", "do takes cancel, drain, resume, ping or probe").With("field", "/do"))
	}
}

func (p *place) reply(r *broker.Request, reply schemas.ControlReply) {
	reply.InstanceID = p.instance
	r.Reply(schemas.MustEncode(reply))
}

// ping says that the agent is there. To another process that would register in its place it says so only while it may be: one whose
// claim has broken off and who was not heard since makes way.
func (p *place) ping(r *broker.Request, word schemas.Control) {
	p.mu.Lock()
	gone := p.gone && len(p.visits) == 0
	p.mu.Unlock()
	if gone && word.Reason == schemas.PingRegister {
		r.Fail(schemas.NewError(schemas.Unavailable, "", "the agent's last claim broke off"))
		return
	}
	p.reply(r, schemas.ControlReply{OK: true})
}

func (p *place) drain(draining bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draining = draining
	p.ring(true)
}

// cancel stops a task, and reports whether it is certain that nothing of it runs: it was not handed out, or the agent has confirmed
// in time, by a result or by no longer naming it.
func (p *place) cancel(ctx context.Context, word schemas.Control) bool {
	left, idle := p.stop(word)
	if left == nil {
		return idle
	}
	ctx, end := context.WithTimeout(ctx, p.desk.cfg.CancelWait)
	defer end()
	select {
	case <-left:
		return true
	case <-ctx.Done():
		return false
	}
}

// stop notes that a task has ended. left closes once the agent no longer has it; it is nil if the agent does not have it, and idle says
// that this is certain: it was not handed out, or the agent has let it go before this word came.
func (p *place) stop(word schemas.Control) (left <-chan struct{}, idle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := word.Sequence
	if last == 0 {
		last = ^uint64(0)
	}
	p.ended.add(word.TaskID, last)
	idle = p.left.has(word.TaskID, last)
	for sequence, a := range p.arrivals {
		if a.entry.TaskID == word.TaskID && sequence <= last {
			delete(p.arrivals, sequence)
			idle = true
		}
	}
	j := p.jobs[word.TaskID]
	if j == nil || j.token > last {
		return nil, idle
	}
	p.order(j, word.Reason)
	return j.left, false
}

// order tells the agent to stop a task that it has; the caller holds the lock.
func (p *place) order(j *job, reason string) {
	if j.stop == nil {
		j.stop = &order{Stop: schemas.Stop{TaskID: j.message.TaskID, Sequence: j.token, Reason: reason}}
		p.ring(false)
	}
}

// notYours takes a dispatcher's word, who knows the ledger up to applied, that sequences are no longer the agent's.
func (p *place) notYours(sequences []uint64, applied uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sequence := range sequences {
		if sequence > applied {
			continue
		}
		if j := p.holding(sequence); j != nil {
			p.order(j, reasonSuperseded)
		} else if p.foreign[sequence] == nil && len(p.foreign) < maxForeign {
			p.foreign[sequence] = &order{Stop: schemas.Stop{Sequence: sequence, Reason: reasonSuperseded}}
			p.ring(false)
		}
	}
}

func (p *place) holding(sequence uint64) *job {
	for _, j := range p.jobs {
		if j.token == sequence {
			return j
		}
	}
	return nil
}

// orders are the stops that the agent is to hear of, and whether one of them is news; the caller holds the lock.
func (p *place) orders() (all []*order, news bool) {
	for _, j := range p.jobs {
		if j.stop != nil {
			all = append(all, j.stop)
		}
	}
	for _, o := range p.foreign {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b *order) int { return int(a.Sequence) - int(b.Sequence) })
	return all, slices.ContainsFunc(all, func(o *order) bool { return !o.told })
}

// tell takes the stops along with an answer.
func (p *place) tell() (stops []schemas.Stop, draining bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, _ := p.orders()
	for _, o := range all {
		o.told = true
		stops = append(stops, o.Stop)
	}
	return stops, p.draining
}

func (p *place) told(ack int64) *schemas.Heard {
	heard := &schemas.Heard{Ack: ack}
	heard.Stop, heard.Draining = p.tell()
	return heard
}
