package dispatcher

import (
	"context"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// Stage keeps one part of a payload for a message that is about to be submitted. It is forgotten after ten minutes.
func (d *Dispatcher) Stage(ctx context.Context, tenant string, p schemas.BodyPart, data []byte) error {
	if p.Body == "" || len(data) == 0 {
		return schemas.NewError(schemas.InvalidArgument, "", "a part names its body, and its bytes follow after a newline").With("field", "/body")
	}
	if so := max(p.Bytes, int64(p.Part)*int64(len(data))+1); so > int64(d.cfg.MaxPayload) {
		return payloadTooLarge(so, d.cfg.MaxPayload)
	}
	if err := d.large.admit(ctx, int64(len(data)), payloadShare, d.clock()); err != nil {
		return err
	}
	if err := d.large.blobs.Put(ctx, broker.Staged(tenant), p.Body, p.Part, data, stagedFor); err != nil {
		return refusal(err)
	}
	return nil
}

func payloadTooLarge(size int64, limit int) *schemas.Error {
	return schemas.NewError(schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge,
		"the payload has %d bytes; at most %d are accepted", size, limit).
		With("size_bytes", size).With("limit_bytes", limit).With("field", "/payload")
}

// unstage is a caller's message with the payload that was staged for it. release, which is never nil, gives back the memory that takes.
func (d *Dispatcher) unstage(ctx context.Context, tenant string, m *schemas.ReachMessage) (whole *schemas.ReachMessage, release func(), err error) {
	if m.PayloadRef == nil {
		return m, func() {}, nil
	}
	if size := m.PayloadRef.Bytes; size > int64(d.cfg.MaxPayload) {
		return nil, func() {}, payloadTooLarge(size, d.cfg.MaxPayload)
	}
	full := *m
	release, err = d.takeInFrom(ctx, broker.Staged(tenant), &full)
	if missing := bodyMissing(err); missing != nil {
		err = schemas.NewError(schemas.FailedPrecondition, reasonBodyMissing,
			"the parts of the payload are not all here, or are not those that payload_ref names: put them, and submit again within ten minutes").
			With("field", "/payload_ref")
	}
	return &full, release, err
}

// takeIn puts a message's payload in place of the reference to it. release, which is never nil, gives back the memory that takes.
func (d *Dispatcher) takeIn(ctx context.Context, m *schemas.ReachMessage) (release func(), err error) {
	return d.takeInFrom(ctx, broker.OfTask(m.TaskID), m)
}

func (d *Dispatcher) takeInFrom(ctx context.Context, shelf broker.Shelf, m *schemas.ReachMessage) (release func(), err error) {
	if m.PayloadRef == nil {
		return func() {}, nil
	}
	whole, release, err := d.loadBody(ctx, shelf, m.PayloadRef)
	if err == nil {
		m.Payload, m.PayloadRef = whole, nil
	}
	return release, err
}
