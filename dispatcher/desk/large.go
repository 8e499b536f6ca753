package desk

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

const (
	inAnswer   = 1 << 20 // bytes of a payload that comes with its claim even to an agent that fetches large ones
	copies     = 3       // of a payload that has to be translated
	timePerMiB = time.Second / 4
)

// body is a payload that is read where it is: in memory.
type body struct {
	*bytes.Reader
	release func()
}

func (b body) Close() error {
	b.release()
	return nil
}

// Payload opens the payload of a task that the agent has, whatever its size; whoever gets it closes it. ctx is that of all its reads.
func (d *Desk) Payload(ctx context.Context, agentID, instanceID, taskID string, token uint64) (io.ReadSeekCloser, error) {
	p, err := d.bodies(ctx, agentID, instanceID)
	if err != nil {
		return nil, err
	}
	message, err := p.messageOf(ctx, taskID, token)
	if err != nil {
		return nil, err
	}
	return p.payload(ctx, message)
}

// payload opens the payload of a message.
func (p *place) payload(ctx context.Context, m *schemas.ReachMessage) (io.ReadSeekCloser, error) {
	pair := p.words[m.Capability]
	switch {
	case m.PayloadRef == nil:
		return body{bytes.NewReader(pair.Payload(m.Payload)), func() {}}, nil
	case pair == nil:
		return p.desk.conn.Blobs().Reader(ctx, broker.OfTask(m.TaskID), m.PayloadRef), nil
	}
	payload, release, err := p.load(ctx, m) // to be translated it is needed whole
	if err != nil {
		return nil, err
	}
	return body{bytes.NewReader(pair.Payload(payload)), release}, nil
}

// messageOf is the message of a task that the agent has, with its payload: begun ones have it in the entry before.
func (p *place) messageOf(ctx context.Context, taskID string, token uint64) (*schemas.ReachMessage, error) {
	entry, err := p.standing(ctx, taskID, token)
	if err != nil {
		return nil, err
	}
	if entry.Phase == schemas.PhaseBegun {
		if entry, err = p.desk.conn.Ledger().At(ctx, entry.Previous); err != nil {
			return nil, unreachable()
		}
	}
	message := new(schemas.ReachMessage)
	if err := schemas.Decode(entry.Body, message); err != nil {
		return nil, schemas.AsError(err)
	}
	return message, nil
}

// load is a large payload, whole. release gives its memory back.
func (p *place) load(ctx context.Context, m *schemas.ReachMessage) (payload schemas.Payload, release func(), err error) {
	r := p.desk.conn.Blobs().Reader(ctx, broker.OfTask(m.TaskID), m.PayloadRef)
	defer func() { _ = r.Close() }()
	return p.read(ctx, r, m.PayloadRef.Bytes)
}

// read reads a body whole, to be translated. release gives its memory back.
func (p *place) read(ctx context.Context, r io.Reader, size int64) (whole schemas.Payload, release func(), err error) {
	cost := min(copies*size, p.desk.cfg.Memory)
	if p.desk.memory.Acquire(ctx, cost) != nil {
		return nil, nil, unreachable()
	}
	release = func() { p.desk.memory.Release(cost) }
	whole = make(schemas.Payload, size)
	if _, err := io.ReadFull(r, whole); err != nil {
		release()
		return nil, nil, bodyError(err)
	}
	return whole, release, nil
}

// bodyError is why a body cannot be read. One that is not there any more never will be.
func bodyError(err error) error {
	var e *schemas.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, broker.ErrNotFound):
		return schemas.NewError(schemas.DataLoss, "BODY_MISSING", "the payload of the task is not kept any more")
	}
	return unreachable()
}

// comesAlong reports whether a large payload comes with its claim.
func (p *place) comesAlong(m *schemas.ReachMessage) bool {
	return m.PayloadRef != nil && (!p.registration.LargeBodies || m.PayloadRef.Bytes <= inAnswer)
}

// isThere reports whether a task can be handed out: that its large payload is there.
func (p *place) isThere(ctx context.Context, one *picked) bool {
	m := one.job.message
	if m.PayloadRef == nil {
		return true
	}
	var err error
	if problem := m.PayloadRef.Check(); problem != nil {
		err = problem
	} else if _, err = p.desk.conn.Blobs().Part(ctx, broker.OfTask(m.TaskID), m.PayloadRef.ID, 0); err == nil {
		return true
	}
	err = bodyError(err)
	p.desk.log.Warn().Err(err).Str("task_id", one.entry.TaskID).Msg("the payload of a task cannot be had")
	p.unpick(one, false) // a pull brings it again
	if isFinal(err) {
		p.refuse(one, schemas.AsError(err))
	}
	return false
}

// refuse ends a task whose agent was never asked.
func (p *place) refuse(one *picked, why *schemas.Error) {
	ctx, cancel := context.WithTimeout(context.Background(), p.desk.cfg.FinishTimeout)
	defer cancel()
	_, err := p.finish(ctx, nil, &schemas.Result{
		TaskID: one.entry.TaskID, AgentID: p.agentID, InstanceID: p.instance, Attempt: max(1, one.job.message.Attempt),
		Sequence: one.job.first, State: schemas.StateFailed, Error: why, Ran: schemas.RanNo,
	}, nil)
	if err != nil {
		p.desk.log.Debug().Err(err).Str("task_id", one.entry.TaskID).Msg("not refused")
	}
}

// carry puts a result that is too large for a message where a dispatcher finds it, part by part, and names it in its place. from is where
// it is read, nil if it is a part of what is said. already is the answer where the result was stored before.
func (p *place) carry(ctx context.Context, result *schemas.Result, from *made) (already *schemas.Answer, err error) {
	size := sizeOf(result, from)
	if from == nil && size <= p.desk.conn.MaxPayload()-envelopeRoom {
		return nil, nil
	}
	if from == nil {
		from = &made{bytes.NewReader(result.Result), size}
	}
	w := broker.NewBodyWriter(ctx, p.desk.conn.PartBytes(), func(ctx context.Context, id string, part int, data []byte) error {
		return p.put(ctx, data, schemas.BodyPart{
			Do: schemas.DoPut, TaskID: result.TaskID, Sequence: result.Sequence, Body: id, Part: part, Bytes: size,
		})
	})
	_, err = io.Copy(w, from)
	ref, closing := w.Close()
	if err = cmp.Or(closing, err); err == nil { // closing says why it could not be written
		result.Result, result.ResultRef = nil, ref
		return nil, nil
	}
	e := asRefusal(err)
	switch {
	case e.Code == schemas.FailedPrecondition:
		return p.storedBefore(ctx, result)
	case e.Retryable:
		return nil, e
	}
	result.State, result.Result, result.Ran, result.Error = schemas.StateFailed, nil, schemas.RanYes, e
	return nil, nil
}

// envelopeRoom is what a result may have beside itself in a message.
const envelopeRoom = 64 << 10

func (p *place) put(ctx context.Context, data []byte, part schemas.BodyPart) error {
	request := schemas.EncodePart(part, data)
	return insist(ctx, func() (bool, error) {
		_, err := p.desk.conn.RequestWithin(ctx, p.desk.cfg.RequestTimeout, broker.SubjectBlob(p.agentID), request)
		if err != nil {
			return false, asRefusal(err)
		}
		return true, nil
	})
}

// storedBefore tells a result that has ended its task already from one that came too late.
func (p *place) storedBefore(ctx context.Context, result *schemas.Result) (*schemas.Answer, error) {
	entry, err := p.desk.conn.Ledger().LastAtLeader(ctx, result.TaskID)
	switch {
	case err != nil && !errors.Is(err, broker.ErrNotFound):
		return nil, unreachable()
	case err != nil || entry.Write != result.WriteID:
		return nil, overtaken()
	}
	return &schemas.Answer{Outcome: schemas.OutcomeAlreadyYours, Sequence: entry.Sequence}, nil
}

// TooLarge ends a task whose result is larger than can be taken in, whoever has it under the token.
func (d *Desk) TooLarge(ctx context.Context, taskID string, token uint64, why *schemas.Error) error {
	entry, err := d.conn.Ledger().LastAtLeader(ctx, taskID)
	switch {
	case err != nil && !errors.Is(err, broker.ErrNotFound):
		return unreachable()
	case err != nil || !entry.InFlight(token):
		return overtaken()
	}
	registration, err := d.registered(ctx, entry.Agent)
	if err != nil {
		return err
	}
	_, err = d.Finish(ctx, &schemas.Result{
		TaskID: taskID, AgentID: entry.Agent, InstanceID: registration.InstanceID, Attempt: 1, Sequence: token,
		State: schemas.StateFailed, Error: why, Ran: schemas.RanYes,
	})
	return err
}
