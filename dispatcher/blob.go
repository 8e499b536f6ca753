package dispatcher

import (
	"context"
	"errors"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// serveBlob moves one part of a large body for a worker: of the payload of a task that it has, or of the result that it is about to
// bring. What it may name is its own: a payload is the task's, and a result is kept with the task.
func (d *Dispatcher) serveBlob(ctx context.Context, r *broker.Request) {
	p, data, err := schemas.AcceptPart(r.Data)
	if err == nil {
		err = checkPart(p, data)
	}
	if err != nil {
		r.Fail(schemas.AsError(err))
		return
	}
	t, answer := d.at(ctx, r.Agent, p.TaskID, p.Sequence, "")
	if answer != nil {
		r.Fail(notTheirs(answer))
		return
	}
	reply, err := d.movePart(ctx, t, p, data)
	if err != nil {
		r.Fail(refusal(err))
		return
	}
	r.Reply(reply)
}

func checkPart(p schemas.BodyPart, data []byte) error {
	if err := schemas.CheckTaskID(p.TaskID); err != nil {
		return err
	}
	if p.Sequence == 0 || p.Do == "" || p.Do != schemas.DoGet && p.Body == "" {
		return schemas.NewError(schemas.InvalidArgument, "", "do, sequence and body are required").With("field", "/do")
	}
	if (p.Do == schemas.DoPut) != (len(data) > 0) {
		return schemas.NewError(schemas.InvalidArgument, "", "the bytes of a part follow after a newline where it is put, and nowhere else").
			With("field", "/do")
	}
	return nil
}

// notTheirs answers a worker that names a task which is not its own.
func notTheirs(answer *schemas.Answer) *schemas.Error {
	if answer.Outcome == schemas.OutcomeTryAgain {
		return schemas.NewError(schemas.Unavailable, "", "the ledger could not be read; ask again")
	}
	return schemas.NewError(schemas.FailedPrecondition, "SUPERSEDED", "the task has ended, or is another's")
}

func (d *Dispatcher) movePart(ctx context.Context, t *index.Task, p schemas.BodyPart, data []byte) ([]byte, error) {
	shelf := broker.OfTask(t.ID)
	switch p.Do {
	case schemas.DoGet:
		return d.payloadPart(ctx, t, p)
	case schemas.DoDrop:
		if ref := t.Terms.PayloadRef; ref == nil || ref.ID != p.Body {
			d.large.blobs.Drop(shelf, p.Body)
		}
	default:
		if ref := t.Terms.PayloadRef; ref != nil && ref.ID == p.Body {
			return nil, schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue, "this body is the payload").With("field", "/body")
		}
		if err := d.admitResult(ctx, p, len(data)); err != nil {
			return nil, err
		}
		ttl := ttl(t.ForgetAt.Time, d.now(), t.TTL)
		if err := d.large.blobs.Put(ctx, shelf, p.Body, p.Part, data, ttl); err != nil {
			return nil, err
		}
	}
	return schemas.MustEncode(schemas.BodyPart{Body: p.Body, Part: p.Part}), nil
}

func (d *Dispatcher) payloadPart(ctx context.Context, t *index.Task, p schemas.BodyPart) ([]byte, error) {
	ref := t.Terms.PayloadRef
	if ref == nil || p.Part >= ref.Parts() {
		return nil, schemas.NewError(schemas.NotFound, reasonBodyMissing, "the payload of this task has no such part")
	}
	data, err := d.large.blobs.Part(ctx, broker.OfTask(t.ID), ref.ID, p.Part)
	if errors.Is(err, broker.ErrNotFound) {
		return nil, bodyError(err)
	}
	return data, err
}

// admitResult refuses a result that is too large, at its first part where its size is said, and one for which there is no room.
func (d *Dispatcher) admitResult(ctx context.Context, p schemas.BodyPart, bytes int) error {
	so := max(p.Bytes, int64(p.Part)*int64(bytes)+1)
	if so > int64(d.cfg.MaxPayload) {
		return resultTooLarge(so, d.cfg.MaxPayload)
	}
	return d.large.admit(ctx, int64(bytes), 100, d.clock())
}
