package dispatcher

import (
	"context"
	"crypto/sha256"
	"io"
	"strings"

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

// staged is where the payload was staged that a caller's message refers to; nil where there is none.
func (d *Dispatcher) staged(ctx context.Context, m *schemas.ReachMessage) io.ReadSeekCloser {
	if m.PayloadRef == nil {
		return nil
	}
	return d.large.blobs.Reader(ctx, broker.Staged(m.Tenant), m.PayloadRef)
}

// receive looks at the payload of a new message, and at where it comes from if the message refers to it. A small one is put into the
// message, and one of very many small values: nothing less than all of it tells what it is. release, which is never nil, closes where it
// comes from, and gives back the memory it takes.
func (d *Dispatcher) receive(ctx context.Context, m *schemas.ReachMessage, from io.ReadSeekCloser) (payload *body, release func(), err error) {
	if m.PayloadRef == nil {
		return payloadOf(m), func() {}, nil
	}
	closing := func() { _ = from.Close() }
	payload = &body{ref: m.PayloadRef, from: from}
	if err := d.skim(ctx, payload); err != nil {
		return nil, closing, notStaged(err)
	}
	if payload.skeleton != nil && m.PayloadRef.Bytes > int64(d.cfg.InlineBytes) {
		return payload, closing, nil
	}
	defer closing()
	whole, release, err := d.loadBody(ctx, payload)
	if err != nil {
		return nil, release, notStaged(err)
	}
	m.Payload, m.PayloadRef = whole, nil
	return payloadOf(m), release, nil
}

// notKeptYet refers to a payload whose size alone is known.
func notKeptYet(size int64) *schemas.BodyRef {
	return &schemas.BodyRef{ID: "new", Bytes: size, PartBytes: schemas.MaxBody, SHA256: strings.Repeat("0", 2*sha256.Size)}
}

// lent is a payload that its caller closes.
type lent struct{ io.ReadSeeker }

func (lent) Close() error { return nil }

// notStaged is what a caller hears whose payload is not where it should be.
func notStaged(err error) error {
	if bodyMissing(err) == nil {
		return err
	}
	return schemas.NewError(schemas.FailedPrecondition, reasonBodyMissing,
		"the parts of the payload are not all here, or are not those that payload_ref names: put them, and submit again within ten minutes").
		With("field", "/payload_ref")
}
