package mqttfront

import (
	"context"
	"errors"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// mostTakenIn is how many tasks of which nothing is known are looked up for one heartbeat or pull. The next one looks for more.
const mostTakenIn = 64

// takeInHeld takes in what the device says that it holds and another process has given to it.
func (s *session) takeInHeld() {
	ctx, cancel := s.request()
	defer cancel()
	for _, sequence := range s.attendance.hand.unknown(mostTakenIn) {
		if e, err := s.b.conn.Ledger().At(ctx, sequence); err == nil {
			_ = s.takeIn(ctx, schemas.Token{TaskID: e.TaskID, Sequence: sequence})
		}
	}
}

// takeInLost takes in what the device has begun and does not name: it may have forgotten it, or its result is on its way.
func (s *session) takeInLost(begun []schemas.Token) {
	ctx, cancel := s.request()
	defer cancel()
	for _, t := range begun[:min(len(begun), mostTakenIn)] {
		if p := s.given(t.TaskID); p == nil || p.Sequence < t.Sequence {
			_ = s.takeIn(ctx, t)
		}
	}
}

func (s *session) takeIn(ctx context.Context, t schemas.Token) error {
	e, err := s.standing(ctx, t)
	if err != nil {
		return err
	}
	m := new(schemas.ReachMessage)
	if schemas.Decode(e.Body, m) != nil || m.Assignment == nil {
		return errOver
	}
	p := newPiece(e, m)
	m.Payload = nil // the device has it
	s.attendance.hand.takeIn(p, s.b.cfg.Now())
	return nil
}

// errOver is the error of standing for a task that is not in flight with the device under that token.
var errOver = errors.New("the task is not with the device any more")

// standing is a task's last entry, if the task is in flight with the device under the token.
func (s *session) standing(ctx context.Context, t schemas.Token) (broker.Entry, error) {
	e, err := s.b.conn.Ledger().LastAtLeader(ctx, t.TaskID)
	if errors.Is(err, broker.ErrNotFound) || err == nil && (e.Agent != s.name || !e.InFlight(t.Sequence)) {
		return e, errOver
	}
	return e, err
}

// certain is the outcome of what was asked for the device. A task is called another's only if the ledger says so: this process may not have
// heard yet that the device has registered anew, and the device would forget what nobody else looks after.
func (s *session) certain(o schemas.Outcome, taskID string, sequence uint64) schemas.Outcome {
	if o != schemas.OutcomeSuperseded {
		return o
	}
	ctx, cancel := s.request()
	defer cancel()
	e, err := s.standing(ctx, schemas.Token{TaskID: taskID, Sequence: sequence})
	switch {
	case err == nil, !errors.Is(err, errOver), e.Agent == s.name && e.Phase == schemas.PhaseBegun && e.Previous == sequence:
		return schemas.OutcomeTryAgain
	}
	return o
}

// isOver reports whether a task is certainly not with the device any more.
func (s *session) isOver(p *piece) bool {
	ctx, cancel := s.request()
	defer cancel()
	_, err := s.standing(ctx, schemas.Token{TaskID: p.TaskID, Sequence: p.Sequence})
	return errors.Is(err, errOver)
}
