package mqttfront

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/align"
)

// attendance is the session of a device that serves tasks: while it lasts, dispatchers find somebody who answers for the device. It
// belongs to its session's goroutine.
type attendance struct {
	registration *schemas.Registration
	words        map[string]*align.Pair // by capability, of those that the device spells in another way
	hand         *hand
	heard        []*broker.Subscription
	chunks       *broker.ChunkWriters // nil before the first chunk
	streams      map[string]*stream   // by task
	stopping     map[string]*stopping // by task
	draining     bool
	after        uint64 // the highest sequence that an answer has told
}

// stopping is a cancel that waits for the device's word.
type stopping struct {
	request  *broker.Request
	sequence uint64
	until    time.Time
}

func wordsOf(r *schemas.Registration) map[string]*align.Pair {
	words := make(map[string]*align.Pair)
	for capability, alignment := range r.Alignments() {
		words[capability] = align.New(alignment)
	}
	return words
}

// attend begins to answer for the device.
func (s *session) attend(r *schemas.Registration) {
	if s.attendance != nil {
		s.attendance.registration, s.attendance.words = r, wordsOf(r)
		s.attendance.hand.declare(r)
		return
	}
	a := &attendance{
		registration: r, words: wordsOf(r), hand: newHand(r, s.b.cfg.ExcessWait, s.b.cfg.StopGrace),
		streams: make(map[string]*stream), stopping: make(map[string]*stopping),
	}
	s.attendance = a
	s.serving.Store(true)
	control, err := s.b.conn.Serve(broker.SubjectControl(s.name), s.control(r.InstanceID), broker.Plain())
	if err == nil {
		a.heard = append(a.heard, control)
		var feed *broker.Subscription
		if feed, err = s.b.conn.FollowAssigned(s.name, func(e broker.Entry) { s.post(len(e.Body), func(s *session) { s.offer(e) }) }); err == nil {
			a.heard = append(a.heard, feed)
		}
	}
	if err != nil {
		s.b.log.Warn().Err(err).Str("device", s.name).Msg("a device cannot be answered for now")
		s.leave()
	}
}

// leave ends the attendance: nobody answers for the device any more.
func (s *session) leave() {
	a := s.attendance
	if a == nil {
		return
	}
	s.attendance = nil
	for _, one := range a.stopping {
		s.replyControl(one.request, a.registration.InstanceID, false)
	}
	for _, one := range a.streams {
		one.end()
	}
	if a.chunks != nil {
		a.chunks.Close()
	}
	for _, one := range a.heard {
		one.Close()
	}
	s.serving.Store(false)
}

// control answers dispatchers, as the device's worker. It runs in goroutines of its own.
func (s *session) control(instance string) func(context.Context, *broker.Request) {
	return func(_ context.Context, r *broker.Request) {
		if e, ok := r.Entry(); ok {
			s.post(len(e.Body), func(s *session) { s.offer(e) })
			s.replyControl(r, instance, false)
			return
		}
		var word schemas.Control
		if err := schemas.Accept(r.Data, &word); err != nil {
			r.Fail(schemas.AsError(err))
			return
		}
		switch word.Do {
		case schemas.DoPing, schemas.DoProbe: // the device's own beats vouch for it
			s.replyControl(r, instance, false)
		case schemas.DoCancel:
			if !s.post(0, func(s *session) { s.cancel(r, word) }) {
				s.replyControl(r, instance, false)
			}
		case schemas.DoDrain, schemas.DoResume:
			s.post(0, func(s *session) { s.drain(word.Do == schemas.DoDrain) })
			s.replyControl(r, instance, false)
		default:
			r.Fail(schemas.NewError(schemas.Unimplemented, "", "do takes cancel, drain, resume, ping or probe").With("field", "/do"))
		}
	}
}

func (s *session) replyControl(r *broker.Request, instance string, confirmed bool) {
	r.Reply(schemas.MustEncode(schemas.ControlReply{OK: true, InstanceID: instance, Confirmed: confirmed}))
}

// cancel tells the device to stop, and waits for its word. What it was never given does not run.
func (s *session) cancel(r *broker.Request, word schemas.Control) {
	a := s.attendance
	if a == nil {
		return
	}
	p := a.hand.given[word.TaskID]
	a.hand.ended.add(word.TaskID, word.Sequence)
	if p == nil && len(a.hand.foreign) == 0 {
		a.hand.end(word.TaskID, word.Sequence)
		s.replyControl(r, a.registration.InstanceID, true)
		return
	}
	_ = s.b.send(s.name, kindCancel, &word)
	a.stopping[word.TaskID] = &stopping{request: r, sequence: word.Sequence, until: s.b.cfg.Now().Add(s.b.cfg.CancelWait)}
}

// stopped is the device's answer to a cancel.
func (s *session) stopped(body []byte) {
	var said schemas.DeviceStopped
	err := schemas.Accept(body, &said)
	if err == nil {
		err = schemas.CheckTaskID(said.TaskID)
	}
	if err != nil {
		s.b.fail(s.name, schemas.DeviceAnswer{About: verbStopped}, err)
		return
	}
	outcome := s.dropped(&said)
	s.b.answer(s.name, schemas.DeviceAnswer{About: verbStopped, TaskID: said.TaskID, Outcome: outcome})
	if outcome != schemas.OutcomeTryAgain { // else the device says it again; if it does not, its grace ends
		s.pull()
	}
}

// dropped ends a task that the device has stopped: for whoever waits for that, or because its run limit is over, be it that another
// process has told the device so. Words about an older attempt, or a task that has ended otherwise, change nothing.
func (s *session) dropped(said *schemas.DeviceStopped) schemas.Outcome {
	a := s.attendance
	if a == nil {
		return schemas.OutcomeTryAgain
	}
	if one := a.stopping[said.TaskID]; one != nil {
		if said.Sequence == 0 || said.Sequence >= one.sequence {
			s.over(said.TaskID, 0, said.Confirmed)
		}
		return schemas.OutcomeStored
	}
	if s.given(said.TaskID) == nil && said.Sequence > 0 {
		ctx, cancel := s.request()
		defer cancel()
		if err := s.takeIn(ctx, schemas.Token{TaskID: said.TaskID, Sequence: said.Sequence}); err != nil && !errors.Is(err, errOver) {
			return schemas.OutcomeTryAgain
		}
	}
	p := s.given(said.TaskID)
	switch {
	case p == nil || p.Sequence != said.Sequence && (said.Sequence != 0 || !p.stopping):
		return schemas.OutcomeStored
	case s.isOver(p):
		s.over(p.TaskID, p.Sequence, said.Confirmed)
		return schemas.OutcomeStored
	}
	return s.failOverdue(p, said.Confirmed)
}

// over forgets a task that the device has no longer, up to a sequence or, for 0, the one that it was given, and answers the cancel that
// waits for that.
func (s *session) over(taskID string, sequence uint64, confirmed bool) {
	a := s.attendance
	if a == nil {
		return
	}
	if p := a.hand.given[taskID]; p != nil && sequence == 0 {
		sequence = p.Sequence
	}
	if sequence > 0 {
		a.hand.end(taskID, sequence)
	}
	if one := a.stopping[taskID]; one != nil {
		delete(a.stopping, taskID)
		s.replyControl(one.request, a.registration.InstanceID, confirmed)
	}
	if one := a.streams[taskID]; one != nil {
		delete(a.streams, taskID)
		one.end()
	}
}

func (s *session) drain(draining bool) {
	if s.attendance == nil {
		return
	}
	s.attendance.draining = draining
	s.beat(&schemas.DeviceBeat{Held: s.attendance.hand.held()})
	if !draining {
		s.pull()
	}
}

// offer takes an assignment in.
func (s *session) offer(e broker.Entry) {
	a := s.attendance
	if a == nil || e.Phase != schemas.PhaseAssigned || e.Agent != s.name {
		return
	}
	m := new(schemas.ReachMessage)
	if err := schemas.Decode(e.Body, m); err != nil || m.TaskID != e.TaskID || m.Assignment == nil {
		return
	}
	p := newPiece(e, m)
	m.Payload, m.Hops = a.words[e.Capability].Payload(m.Payload), nil
	p.Message = schemas.MustEncode(m)
	m.Payload = nil // it is in the handover
	if !m.V.Understood() {
		s.refuse(p)
		return
	}
	if a.draining {
		s.giveBack(p)
		return
	}
	if give := a.hand.offer(p, s.b.cfg.Now()); give != nil {
		s.give(give)
	}
}

// newPiece is an assignment without the message in the device's words.
func newPiece(e broker.Entry, m *schemas.ReachMessage) *piece {
	return &piece{
		Handover:   schemas.Handover{TaskID: e.TaskID, Attempt: max(1, m.Attempt), Sequence: e.Sequence, Begin: !m.Assignment.Idempotent},
		capability: e.Capability, message: m, runs: schemas.Duration(m.Assignment.RunTimeoutMS), begun: e.Phase == schemas.PhaseBegun,
	}
}

// give hands a task to the device; it comes again until the device has sent its receipt.
func (s *session) give(p *piece) {
	if err := s.b.send(s.name, kindTask, &p.Handover); err != nil && !errors.Is(err, broker.ErrDisconnected) {
		s.giveBack(p)
	}
}

// serveTick does for the device's tasks what is due.
func (s *session) serveTick(now time.Time) {
	a := s.attendance
	due := a.hand.tick(now)
	for _, p := range due.give {
		s.give(p)
	}
	for _, p := range due.back {
		s.giveBack(p)
	}
	for _, p := range due.stop {
		if p.lost && s.isOver(p) {
			s.over(p.TaskID, p.Sequence, false)
			continue
		}
		_ = s.b.send(s.name, kindCancel, &schemas.Control{
			Do: schemas.DoCancel, TaskID: p.TaskID, Sequence: p.Sequence, Reason: schemas.ReasonRunLimit,
		})
	}
	for _, p := range due.fail {
		s.failOverdue(p, false)
	}
	s.wakeAt(due.next)
	for taskID, one := range a.stopping {
		if now.Before(one.until) {
			s.wakeAt(one.until)
			continue
		}
		delete(a.stopping, taskID)
		s.replyControl(one.request, a.registration.InstanceID, false)
	}
}

// giveBack hands a task back that the device has not begun. If nobody has heard that for sure, the task comes again.
func (s *session) giveBack(p *piece) {
	answer, err := s.step(broker.SubjectRelease(s.name), verbRelease, p.TaskID, p.Attempt, p.Sequence)
	if err == nil && answer.Outcome == schemas.OutcomeTryAgain {
		s.attendance.hand.forget(p)
		return
	}
	s.over(p.TaskID, p.Sequence, true)
}

// refuse leaves a task of a version that is not spoken here to others.
func (s *session) refuse(p *piece) {
	s.finish(&schemas.Result{
		TaskID: p.TaskID, Attempt: p.Attempt, Sequence: p.Sequence, State: schemas.StateRejected,
		Error: schemas.NewError(schemas.FailedPrecondition, schemas.ReasonVersion, "the message is of version %d", p.message.V),
	})
}

// failOverdue ends a task that has outlasted its run limit.
func (s *session) failOverdue(p *piece, confirmed bool) schemas.Outcome {
	ran := schemas.RanUnknown
	if confirmed {
		ran = schemas.RanYes
	}
	answer, err := s.finish(&schemas.Result{
		TaskID: p.TaskID, Attempt: p.Attempt, Sequence: p.Sequence, State: schemas.StateFailed, Ran: ran,
		Error: schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonRunLimit, "the device did not finish within %v", p.runs),
	})
	if err == nil && answer.Outcome == schemas.OutcomeTryAgain {
		return answer.Outcome
	}
	s.over(p.TaskID, p.Sequence, confirmed)
	return schemas.OutcomeStored
}

// instance is the process of the device, as it has registered; empty if that is not known here yet, and perhaps never was.
func (s *session) instance() string {
	if s.attendance != nil {
		return s.attendance.registration.InstanceID
	}
	if r := s.b.registration(s.name); r != nil {
		return r.InstanceID
	}
	return ""
}

// writeID names a write after what it is about, so that whoever does it for the device, and however often, does it once.
func writeID(instance, verb, taskID string, sequence uint64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", instance, verb, taskID, sequence))
	return hex.EncodeToString(sum[:8])
}

// step asks to begin or release a task for the device.
func (s *session) step(subject, verb, taskID string, attempt int, sequence uint64) (schemas.Answer, error) {
	instance := s.instance()
	if instance == "" {
		return schemas.Answer{Outcome: schemas.OutcomeTryAgain}, nil
	}
	return s.ask(subject, &schemas.Begin{
		TaskID: taskID, Attempt: max(1, attempt), Sequence: sequence, InstanceID: instance,
		WriteID: writeID(instance, verb, taskID, sequence),
	})
}

// finish brings a result for the device.
func (s *session) finish(r *schemas.Result) (schemas.Answer, error) {
	r.AgentID, r.InstanceID = s.name, s.instance()
	if r.InstanceID == "" {
		return schemas.Answer{Outcome: schemas.OutcomeTryAgain}, nil
	}
	r.WriteID = writeID(r.InstanceID, verbResult, r.TaskID, r.Sequence)
	if answer := s.carry(r); answer != nil {
		return *answer, nil
	}
	return s.ask(broker.SubjectFinish(s.name), r)
}

// ask asks a dispatcher for one change of a task. An outcome that is not known is one to try again.
func (s *session) ask(subject string, body any) (schemas.Answer, error) {
	ctx, cancel := s.request()
	defer cancel()
	var answer schemas.Answer
	encoded, err := schemas.Encode(body)
	if err != nil {
		return answer, err
	}
	reply, err := s.b.conn.Request(ctx, subject, encoded)
	var refused *schemas.Error
	switch {
	case errors.As(err, &refused) && !refused.Retryable:
		return answer, refused
	case err != nil:
		return schemas.Answer{Outcome: schemas.OutcomeTryAgain}, nil
	}
	if err := schemas.Decode(reply, &answer); err != nil {
		return schemas.Answer{Outcome: schemas.OutcomeTryAgain}, nil
	}
	if s.attendance != nil {
		s.attendance.after = max(s.attendance.after, answer.Sequence)
	}
	return answer, nil
}
