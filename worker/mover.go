package worker

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// mover moves bodies that are too large for a message: part by part through any dispatcher, some parts at once, each of them asked for
// until it is answered.
type mover struct {
	conn    *broker.Conn
	agentID string
	timeout time.Duration       // for one answer
	memory  *semaphore.Weighted // bytes of payloads that are held, of all agents of the worker
	room    int64               // all of it
	log     zerolog.Logger
}

// fetch is the payload of a task. release, which is never nil, gives its memory back.
func (m *mover) fetch(ctx context.Context, a *assignment) (payload schemas.Payload, release func(), err error) {
	ref := a.message.PayloadRef
	if problem := ref.Check(); problem != nil {
		return nil, func() {}, problem
	}
	held := min(ref.Bytes, m.room)
	if m.memory.Acquire(ctx, held) != nil {
		return nil, func() {}, context.Cause(ctx)
	}
	release = func() { m.memory.Release(held) }
	r := broker.NewBodyReader(ctx, ref, func(ctx context.Context, part int) ([]byte, error) {
		return m.ask(ctx, schemas.BodyPart{Do: schemas.DoGet, TaskID: a.taskID(), Sequence: a.first, Part: part}, nil)
	})
	defer func() { _ = r.Close() }()
	payload = make(schemas.Payload, ref.Bytes)
	if _, err := io.ReadFull(r, payload); err != nil {
		release()
		return nil, func() {}, err
	}
	return payload, release, nil
}

// bring puts a result of a size where a dispatcher finds it.
func (m *mover) bring(ctx context.Context, taskID string, sequence uint64, size int64, result io.WriterTo) (*schemas.BodyRef, error) {
	w := broker.NewBodyWriter(ctx, m.conn.PartBytes(), func(ctx context.Context, id string, part int, data []byte) error {
		_, err := m.ask(ctx, schemas.BodyPart{
			Do: schemas.DoPut, TaskID: taskID, Sequence: sequence, Body: id, Part: part, Bytes: size,
		}, data)
		return err
	})
	_, err := result.WriteTo(w)
	ref, closing := w.Close()
	if closing != nil { // which is why it could not be written
		err = closing
	}
	return ref, err
}

// ask brings a request to any dispatcher, until one has the last word.
func (m *mover) ask(ctx context.Context, part schemas.BodyPart, data []byte) ([]byte, error) {
	request := schemas.EncodePart(part, data)
	wait := backoff{first: 50 * time.Millisecond, most: 2 * time.Second}
	for timeout := m.timeout; ; timeout = min(2*timeout, mostPatience*m.timeout) {
		reply, err := m.conn.RequestWithin(ctx, timeout, broker.SubjectBlob(m.agentID), request)
		if err == nil {
			return reply, nil
		}
		if ctx.Err() == nil && final(err) {
			return nil, err
		}
		m.log.Debug().Err(err).Str("task_id", part.TaskID).Int("part", part.Part).Msg("a part is not moved yet")
		if !sleep(ctx, wait.next()) {
			return nil, context.Cause(ctx)
		}
	}
}

// superseded reports whether a dispatcher says that the task is no longer this worker's.
func superseded(err error) bool { return codeOf(err) == schemas.FailedPrecondition }

// payload gets the payload of an assignment, where that came by reference. What ends the attempt before it has begun is an ending.
func (r *runner) payload(a *assignment) (payload schemas.Payload, release func(), instead *ending) {
	if a.message.PayloadRef == nil {
		return a.message.Payload, func() {}, nil
	}
	ctx, cancel := r.untilExpiry(a.ctx, a)
	defer cancel()
	payload, release, err := r.mover.fetch(ctx, a)
	switch {
	case err == nil:
		a.held = int64(len(payload))
		r.cfg.reclaim.leave(a.held)
		return payload, release, nil
	case a.ctx.Err() != nil:
		return nil, release, &ending{fate: unstarted, cause: context.Cause(a.ctx), at: r.cfg.Now()}
	case superseded(err), errors.Is(err, errExpired):
		return nil, release, &ending{fate: skipped}
	}
	r.logOf(a, err).Msg("the payload cannot be had")
	return nil, release, &ending{fate: returned, err: &Failure{Err: schemas.AsError(err), Ran: schemas.RanNo}, at: r.cfg.Now()}
}

// inParts puts a result that is too large for a message where a dispatcher finds it, and says so in its place. Nothing comes of one
// that nobody wants any more: then more is false.
func (r *runner) inParts(ctx context.Context, a *assignment, result schemas.Result, large *spooled) (told schemas.Result, more bool) {
	if large == nil && len(result.Result) <= resultRoom(r.cfg.Conn) {
		return result, true
	}
	if large == nil {
		large = &spooled{size: int64(len(result.Result)), write: func(w io.Writer) error {
			_, err := w.Write(result.Result)
			return err
		}}
		r.inbox.weigh(a, len(result.Result))
	}
	r.cfg.reclaim.leave(a.held) // the payload
	a.held = 0
	ref, err := r.mover.bring(ctx, a.taskID(), result.Sequence, large.size, large)
	switch {
	case err == nil:
		result.Result, result.ResultRef = nil, ref
		a.held = ref.Bytes
	case ctx.Err() != nil, superseded(err):
		r.logOf(a, err).Msg("the result was not brought")
		return result, false
	default:
		if !result.Partial { // an agent that was cut off may still be at work
			result.Ran = schemas.RanYes
		}
		result.State, result.Result, result.Partial, result.Error = schemas.StateFailed, nil, false, schemas.AsError(err)
	}
	return result, true
}
