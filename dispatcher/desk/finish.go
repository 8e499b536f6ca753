package desk

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// Finish brings a result. The same result again is the same: its answer may have been lost. A result that cannot be carried ends its
// task as failed, with RESULT_TOO_LARGE; the answer's error says so.
func (d *Desk) Finish(ctx context.Context, result *schemas.Result) (*schemas.Answer, error) {
	return d.bring(ctx, result, nil)
}

// FinishFrom is Finish for a result that is read where its caller has it, and held whole only where it has to be translated.
func (d *Desk) FinishFrom(ctx context.Context, result *schemas.Result, from io.ReadSeeker) (*schemas.Answer, error) {
	size, err := from.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = from.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	return d.bring(ctx, result, &made{from, size})
}

// made is a result that is not a part of what says so.
type made struct {
	io.Reader
	size int64
}

func (d *Desk) bring(ctx context.Context, result *schemas.Result, from *made) (*schemas.Answer, error) {
	p, err := d.bodies(ctx, result.AgentID, result.InstanceID)
	if err != nil {
		return nil, err
	}
	said := *result
	ctx, cancel := context.WithTimeout(ctx, d.cfg.FinishTimeout+time.Duration(sizeOf(&said, from)>>20)*timePerMiB)
	defer cancel()
	j := p.jobOf(said.TaskID, said.Sequence)
	if j == nil && len(p.words) > 0 { // its capability says how its result is to be read; one that has ended needs no reading
		j, _ = p.adopted(ctx, said.TaskID, said.Sequence)
	}
	if from != nil && j != nil && p.words[j.message.Capability] != nil {
		whole, release, err := p.read(ctx, from, from.size)
		if err != nil {
			return nil, err
		}
		defer release()
		said.Result, from = whole, nil
	}
	return p.finish(ctx, j, &said, from)
}

func sizeOf(result *schemas.Result, from *made) int64 {
	if from != nil {
		return from.size
	}
	return int64(len(result.Result))
}

// finish completes a result by what is known of its job, which may be nil, and delivers it; from is where the result is read, nil if it is
// a part of what is said.
func (p *place) finish(ctx context.Context, j *job, result *schemas.Result, from *made) (*schemas.Answer, error) {
	result.WriteID = cmp.Or(result.WriteID, stepID("result", result.TaskID, result.Sequence))
	if j != nil {
		p.complete(j, result)
	}
	if already, err := p.carry(ctx, result, from); already != nil || err != nil {
		return already, err
	}
	answer, err := p.deliver(ctx, broker.SubjectFinish(p.agentID), result)
	return p.settled(result.TaskID, result.Sequence, answer, err)
}

func (p *place) complete(j *job, result *schemas.Result) {
	now := schemas.At(p.desk.cfg.Now())
	result.Attempt = max(1, j.message.Attempt)
	if result.StartedAt.IsZero() || result.FinishedAt.IsZero() {
		result.StartedAt, result.FinishedAt = schemas.At(j.given), now
	}
	last, stalls := j.stream.end()
	result.Chunks, result.Stalls = cmp.Or(last, result.Chunks), stalls
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
