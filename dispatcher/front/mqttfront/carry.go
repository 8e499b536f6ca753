package mqttfront

import (
	"cmp"
	"context"
	"errors"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// carry puts a result that leaves a message no room for what is said beside it where a dispatcher finds it, part by part, and names it in
// its place. The answer is there where nothing more is to be said of it.
func (s *session) carry(r *schemas.Result) *schemas.Answer {
	if int64(len(r.Result)) <= s.b.conn.MaxPayload()-beside {
		return nil
	}
	ctx, cancel := s.request()
	defer cancel()
	w := broker.NewBodyWriter(ctx, s.b.conn.PartBytes(), func(ctx context.Context, id string, part int, data []byte) error {
		_, err := s.b.conn.Request(ctx, broker.SubjectBlob(s.name), schemas.EncodePart(schemas.BodyPart{
			Do: schemas.DoPut, TaskID: r.TaskID, Sequence: r.Sequence, Body: id, Part: part, Bytes: int64(len(r.Result)),
		}, data))
		return err
	})
	_, err := w.Write(r.Result)
	ref, closing := w.Close()
	var refused *schemas.Error
	switch err = cmp.Or(closing, err); { // closing says why it could not be written
	case err == nil:
		r.Result, r.ResultRef = nil, ref
		return nil
	case !errors.As(err, &refused) || refused.Retryable:
		return &schemas.Answer{Outcome: schemas.OutcomeTryAgain}
	case refused.Code == schemas.FailedPrecondition:
		return s.storedBefore(ctx, r)
	}
	r.State, r.Result, r.Ran, r.Error = schemas.StateFailed, nil, schemas.RanYes, refused
	return nil
}

// storedBefore tells a result that has ended its task already from one that came too late.
func (s *session) storedBefore(ctx context.Context, r *schemas.Result) *schemas.Answer {
	entry, err := s.b.conn.Ledger().LastAtLeader(ctx, r.TaskID)
	switch {
	case err != nil && !errors.Is(err, broker.ErrNotFound):
		return &schemas.Answer{Outcome: schemas.OutcomeTryAgain}
	case err != nil || entry.Write != r.WriteID:
		return &schemas.Answer{Outcome: schemas.OutcomeSuperseded}
	}
	return &schemas.Answer{Outcome: schemas.OutcomeAlreadyYours, Sequence: entry.Sequence}
}
