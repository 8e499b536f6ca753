package client

import (
	"bytes"
	"context"
	"io"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// envelopeBytes is what a message may have beside its payload.
const envelopeBytes = 64 << 10

// stage sends a payload ahead that is too large for a message, in parts, and puts a reference in its place.
func (c *Client) stage(ctx context.Context, m *schemas.ReachMessage) error {
	if int64(len(m.Payload)) <= c.conn.MaxPayload()-envelopeBytes {
		return nil
	}
	if err := schemas.Scan(m.Payload); err != nil { // nothing is sent of what nobody takes
		return err
	}
	size := int64(len(m.Payload))
	w := broker.NewBodyWriter(ctx, c.conn.PartBytes(), func(ctx context.Context, id string, part int, data []byte) error {
		_, err := c.move(ctx, "put", schemas.BodyPart{Body: id, Part: part, Bytes: size}, data)
		return err
	})
	_, _ = io.Copy(w, bytes.NewReader(m.Payload)) // Close says why it failed
	ref, err := w.Close()
	if err != nil {
		return schemas.AsError(err)
	}
	m.Payload, m.PayloadRef = nil, ref
	return nil
}

// move moves one part of a body.
func (c *Client) move(ctx context.Context, verb string, part schemas.BodyPart, data []byte) ([]byte, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	reply, problem := c.exchange(ctx, question{noun: "body", verb: verb}, schemas.EncodePart(part, data))
	if problem != nil {
		return nil, problem
	}
	return reply, nil
}

// OpenResult opens the result of a task that has completed, whatever its size: it is fetched as it is read, some of it ahead. Whoever
// gets it closes it; ctx is that of all its reads. The error of a task without a result is the task's own.
func (c *Client) OpenResult(ctx context.Context, taskID string) (*schemas.Task, io.ReadSeekCloser, error) {
	task, err := c.bare(ctx, taskID)
	switch {
	case err != nil:
		return nil, nil, err
	case task.State.Terminal() && task.State != schemas.StateCompleted:
		return task, nil, failure(task)
	case task.State != schemas.StateCompleted:
		return task, nil, schemas.NewError(schemas.FailedPrecondition, "NOT_ENDED", "the task is %s and has no result yet: wait for it", task.State)
	case task.ResultRef == nil:
		return task, inMemory{bytes.NewReader(task.Result)}, nil
	}
	return task, c.reader(ctx, task), nil
}

// inMemory is a result that came with its task.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

func (c *Client) reader(ctx context.Context, task *schemas.Task) *broker.BodyReader {
	return broker.NewBodyReader(ctx, task.ResultRef, func(ctx context.Context, part int) ([]byte, error) {
		return c.move(ctx, "get", schemas.BodyPart{TaskID: task.TaskID, Part: part}, nil)
	})
}

// whole is a task with its result, which is fetched where it is too large for a message.
func (c *Client) whole(ctx context.Context, task *schemas.Task, err error) (*schemas.Task, error) {
	if err != nil || task.ResultRef == nil {
		return task, err
	}
	r := c.reader(ctx, task)
	defer func() { _ = r.Close() }()
	result := make(schemas.Payload, task.ResultRef.Bytes)
	if _, err := io.ReadFull(r, result); err != nil {
		return task, schemas.AsError(err)
	}
	full := *task
	full.Result, full.ResultRef = result, nil
	return &full, nil
}
