package desk

import (
	"cmp"
	"context"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// Finish brings a result. The same result again is the same: its answer may have been lost. A result that cannot be carried ends its
// task as failed, with RESULT_TOO_LARGE; the answer's error says so.
func (d *Desk) Finish(ctx context.Context, result *schemas.Result) (*schemas.Answer, error) {
	p, err := d.place(ctx, result.AgentID, result.InstanceID)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.FinishTimeout+time.Duration(len(result.Result)>>20)*timePerMiB)
	defer cancel()
	said := *result
	j := p.jobOf(said.TaskID, said.Sequence)
	if j == nil && len(p.words) > 0 { // its capability says how its result is to be read; one that has ended needs no reading
		j, _ = p.adopted(ctx, said.TaskID, said.Sequence)
	}
	return p.finish(ctx, j, &said)
}

// finish completes a result by what is known of its job, which may be nil, and delivers it.
func (p *place) finish(ctx context.Context, j *job, result *schemas.Result) (*schemas.Answer, error) {
	result.WriteID = cmp.Or(result.WriteID, writeID("result", result.TaskID))
	if j != nil {
		p.complete(j, result)
	}
	if already, err := p.carry(ctx, result); already != nil || err != nil {
		return already, err
	}
	answer, err := p.deliver(ctx, broker.SubjectFinish(p.agentID), result)
	return p.settled(result.TaskID, result.Sequence, answer, err)
}

func (p *place) complete(j *job, result *schemas.Result) {
	now := schemas.At(p.desk.cfg.Now())
	if result.StartedAt.IsZero() || result.FinishedAt.IsZero() {
		result.StartedAt, result.FinishedAt = schemas.At(j.given), now
	}
	if last := j.stream.end(); last > 0 {
		result.Chunks = last
	}
	if len(result.Hops) == 0 {
		result.Hops = append(append(result.Hops, j.hops...), schemas.Hop{Hop: schemas.HopAgentDone, At: now, By: p.agentID})
	}
	result.Result = p.words[j.message.Capability].Result(result.Result)
	if e := result.Error; e != nil {
		result.Error = p.mapped(j.message.Capability, e)
	}
}

// mapped is an agent's error with the standard code that the agent has declared for its own; its own stays visible.
func (p *place) mapped(capability string, e *schemas.Error) *schemas.Error {
	var own string
	offer := p.registration.Offer(capability)
	if offer == nil || !e.Detail("agent_code", &own) {
		return e
	}
	if code, known := offer.ErrorMapping[own]; known {
		translated := *e
		translated.Code = code
		return &translated
	}
	return e
}
