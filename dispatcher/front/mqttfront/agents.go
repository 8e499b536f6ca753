package mqttfront

import (
	"cmp"
	"errors"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// sameInstance is the instance_id of a device that names none: it is then taken for one that keeps its tasks over its restarts.
const sameInstance = "mqtt"

// register declares what tasks the device serves. The newest registration of a device counts: its topics are its own.
func (s *session) register(body []byte) {
	about := schemas.DeviceAnswer{About: verbRegister}
	r, err := s.readRegistration(body)
	if err != nil {
		s.b.fail(s.name, about, err)
		return
	}
	if a := s.attendance; a != nil && a.registration.InstanceID != r.InstanceID {
		s.leave() // else the registration would be refused for the sake of the one that it replaces
	}
	ctx, cancel := s.request()
	defer cancel()
	registered, err := s.b.service.Register(ctx, r)
	if err != nil {
		s.b.fail(s.name, about, err)
		return
	}
	for i := range r.Capabilities {
		r.Capabilities[i].Alignment = registered.Alignments[r.Capabilities[i].ID]
	}
	s.attend(r)
	told := *registered
	told.Alignments = nil // the device is spoken to in its own words
	_ = s.b.send(s.name, kindRegistered, &told)
	s.beat(&schemas.DeviceBeat{})
	s.pull()
}

// readRegistration fills in what the topic says, and what is so of every device here: it comes and goes.
func (s *session) readRegistration(body []byte) (*schemas.Registration, error) {
	r := new(schemas.Registration)
	if err := schemas.Accept(body, r); err != nil {
		return nil, err
	}
	if r.AgentID != "" && r.AgentID != s.name {
		return nil, schemas.NewError(schemas.PermissionDenied, "", "the topic names another agent_id: leave it out").With("field", "/agent_id")
	}
	r.AgentID, r.Intermittent = s.name, true
	r.InstanceID = cmp.Or(r.InstanceID, sameInstance)
	r.Version = cmp.Or(r.Version, "0.0.0")
	r.Transport.Type, r.Transport.Endpoint, r.Transport.HealthCheck = schemas.TransportMQTT, "reach/v1/"+s.name, ""
	if problem := r.Check(); problem != nil {
		return nil, problem
	}
	return r, nil
}

// heartbeat says that the device lives, and what it holds. The answer may be tasks, and the word that it holds what is not its own.
func (s *session) heartbeat(body []byte) {
	about := schemas.DeviceAnswer{About: verbHeartbeat}
	var beat schemas.DeviceBeat
	if err := readBeat(body, &beat); err != nil {
		s.b.fail(s.name, about, err)
		return
	}
	r := s.b.registration(s.name)
	switch {
	case beat.State == schemas.AgentOffline:
		s.offline(body)
		return
	case r == nil:
		s.b.fail(s.name, about, schemas.NewError(schemas.NotFound, schemas.ReasonUnknownAgent, "the device has not registered"))
		return
	case beat.InstanceID != "" && beat.InstanceID != r.InstanceID:
		s.b.fail(s.name, about, schemas.NewError(schemas.FailedPrecondition, "SUPERSEDED", "another instance of the device has registered"))
		return
	}
	s.attend(r)
	if s.attendance == nil {
		return
	}
	s.attendance.hand.heard(beat.Held, s.b.cfg.Now())
	if s.beat(&beat) {
		s.takeInHeld() // all but what is not its own, by the answer to the beat
		s.b.answer(s.name, schemas.DeviceAnswer{About: verbHeartbeat, Outcome: schemas.OutcomeStored})
	}
	s.pullSoon() // a task that waits for this device alone is bound by nobody else
}

// readBeat takes no body for an empty one.
func readBeat(body []byte, beat *schemas.DeviceBeat) error {
	if len(body) == 0 {
		return nil
	}
	if err := schemas.Accept(body, beat); err != nil {
		return err
	}
	if problem := beat.Check(); problem != nil {
		return problem
	}
	return nil
}

// beat passes a heartbeat on and reports whether it was heard.
func (s *session) beat(beat *schemas.DeviceBeat) bool {
	a := s.attendance
	if a == nil {
		return false
	}
	state := cmp.Or(beat.State, schemas.AgentOnline)
	if a.draining {
		state = schemas.AgentDraining
	}
	end, err := s.askEntries(broker.SubjectHeartbeat(s.name), a.heartbeat(beat, state))
	var refused *schemas.Error
	if errors.As(err, &refused) && !refused.Retryable {
		s.b.fail(s.name, schemas.DeviceAnswer{About: verbHeartbeat}, refused)
	}
	if err != nil {
		return false
	}
	s.drop(end)
	return true
}

func (a *attendance) heartbeat(beat *schemas.DeviceBeat, state schemas.AgentState) *schemas.Heartbeat {
	capabilities := beat.Capabilities
	if capabilities == nil {
		for i := range a.registration.Capabilities {
			capabilities = append(capabilities, a.registration.Capabilities[i].ID)
		}
	}
	return &schemas.Heartbeat{
		AgentID: a.registration.AgentID, InstanceID: a.registration.InstanceID, Version: a.registration.Version,
		State: state, Capabilities: capabilities, LoadAvg: beat.LoadAvg, InFlight: a.hand.taken(""), Queued: len(a.hand.waiting),
		Held: a.hand.held(),
	}
}

// askEntries asks for assignments, takes them in, and gives the end of the answer.
func (s *session) askEntries(subject string, body any) (end schemas.PullEnd, err error) {
	ctx, cancel := s.request()
	defer cancel()
	last, err := s.b.conn.RequestEntries(ctx, subject, schemas.MustEncode(body), s.offer)
	if err == nil {
		err = schemas.Decode(last, &end)
	}
	return end, err
}

// drop takes the end of an answer to a heartbeat or pull: what the device holds and is not its own is stopped.
func (s *session) drop(end schemas.PullEnd) {
	for _, sequence := range end.NotYours {
		if sequence > end.Applied {
			continue
		}
		word := schemas.Control{Do: schemas.DoCancel, Sequence: sequence, Reason: "SUPERSEDED"}
		if p := s.attendance.hand.find(sequence); p != nil {
			word.TaskID = p.TaskID
			s.over(p.TaskID, sequence, false)
		}
		delete(s.attendance.hand.foreign, sequence)
		_ = s.b.send(s.name, kindCancel, &word)
	}
}

// offline is the device's goodbye, or its last will.
func (s *session) offline([]byte) {
	r := s.b.registration(s.name)
	if r == nil {
		return
	}
	beat := schemas.Heartbeat{
		AgentID: s.name, InstanceID: r.InstanceID, Version: r.Version, State: schemas.AgentOffline, Capabilities: []string{},
	}
	s.leave()
	if _, err := s.askEntries(broker.SubjectHeartbeat(s.name), beat); err != nil {
		s.b.log.Debug().Err(err).Str("device", s.name).Msg("a goodbye was not heard")
	}
}

// claim asks for work.
func (s *session) claim([]byte) {
	r := s.b.registration(s.name)
	if r == nil {
		s.b.fail(s.name, schemas.DeviceAnswer{About: verbClaim},
			schemas.NewError(schemas.NotFound, schemas.ReasonUnknownAgent, "the device has not registered"))
		return
	}
	s.attend(r)
	s.pull()
	s.b.answer(s.name, schemas.DeviceAnswer{About: verbClaim, Outcome: schemas.OutcomeStored})
}

// pullSoon asks for work once what is in the mail is dealt with: many results lead to one pull.
func (s *session) pullSoon() { s.wants = true }

// pullsAtOnce bounds the pulls that follow each other while they bring something.
const pullsAtOnce = 4

// pull asks dispatchers for what the device has room for, and for what is its own and did not reach it.
func (s *session) pull() {
	s.wants = false
	for n := range pullsAtOnce {
		a := s.attendance
		if a == nil || a.draining {
			return
		}
		before := a.hand.taken("")
		if _, free := a.hand.free(); n > 0 && free == 0 {
			return
		}
		if !s.pullOnce(a) || a.hand.taken("") == before {
			return
		}
	}
}

func (s *session) pullOnce(a *attendance) bool {
	free, total := a.hand.free()
	ask := schemas.Pull{
		AgentID: s.name, InstanceID: a.registration.InstanceID, Free: free, FreeTotal: total, Held: a.hand.held(), After: a.after,
		Begun: true,
	}
	end, err := s.askEntries(broker.SubjectPull(s.name), ask)
	if err != nil {
		s.b.log.Debug().Err(err).Str("device", s.name).Msg("nothing pulled")
		return false
	}
	s.drop(end)
	s.takeInLost(end.Begun)
	return true
}

// receipt is the device's word that it has a task. One that must not run twice is begun by it: the device starts on the answer.
func (s *session) receipt(body []byte) {
	about := schemas.DeviceAnswer{About: verbReceipt}
	var said schemas.DeviceReceipt
	err := schemas.Accept(body, &said)
	if err == nil {
		if problem := said.Check(); problem != nil {
			err = problem
		}
	}
	if err != nil {
		s.b.fail(s.name, about, err)
		return
	}
	about.TaskID, about.Outcome, about.Sequence = said.TaskID, schemas.OutcomeStored, said.Sequence
	if said.Begin {
		answer, err := s.step(broker.SubjectBegin(s.name), "begin", said.TaskID, said.Attempt, said.Sequence)
		if err != nil {
			s.b.fail(s.name, about, err)
			return
		}
		about.Outcome, about.Sequence, about.Error = s.certain(answer.Outcome, said.TaskID, said.Sequence), answer.Sequence, answer.Error
	}
	switch about.Outcome {
	case schemas.OutcomeStored, schemas.OutcomeAlreadyYours:
		s.received(&said, about.Sequence)
	case schemas.OutcomeSuperseded:
		s.over(said.TaskID, said.Sequence, true)
	}
	s.b.answer(s.name, about)
}

// received tells dispatchers that the device has the task and works on it.
func (s *session) received(said *schemas.DeviceReceipt, sequence uint64) {
	if s.attendance != nil {
		s.attendance.hand.received(said.TaskID, sequence, s.b.cfg.Now())
	}
	receipt := schemas.Receipt{
		AgentID: s.name, InstanceID: s.instance(), Time: schemas.At(s.b.cfg.Now()),
		Tasks: []schemas.ReceiptTask{{
			TaskID: said.TaskID, Attempt: max(1, said.Attempt), Sequence: sequence, Running: true, Progress: said.Progress.Bounded(),
		}},
	}
	if err := s.b.conn.Publish(broker.SubjectReceipt(s.name), schemas.MustEncode(receipt)); err != nil {
		s.b.log.Debug().Err(err).Str("task_id", said.TaskID).Msg("receipt not passed on")
	}
}

// release gives a task back that the device has not begun.
func (s *session) release(body []byte) {
	about := schemas.DeviceAnswer{About: verbRelease}
	var said schemas.DeviceReceipt
	err := schemas.Accept(body, &said)
	if err == nil {
		if problem := said.Check(); problem != nil {
			err = problem
		}
	}
	if err == nil {
		about.TaskID = said.TaskID
		var answer schemas.Answer
		answer, err = s.step(broker.SubjectRelease(s.name), verbRelease, said.TaskID, said.Attempt, said.Sequence)
		about.Outcome, about.Error = answer.Outcome, answer.Error
	}
	if err != nil {
		s.b.fail(s.name, about, err)
		return
	}
	if about.Outcome != schemas.OutcomeTryAgain {
		s.over(said.TaskID, said.Sequence, true)
	}
	s.b.answer(s.name, about)
}

// result is how the device has ended a task. It says the same again until it is answered.
func (s *session) result(body []byte) {
	about := schemas.DeviceAnswer{About: verbResult}
	var said schemas.Result
	err := schemas.Accept(body, &said)
	if err == nil {
		s.complete(&said)
		if problem := said.Check(); problem != nil {
			err = problem
		}
	}
	about.TaskID, about.Sequence = said.TaskID, said.Sequence
	if err != nil {
		s.b.fail(s.name, about, err)
		return
	}
	answer, err := s.finish(&said)
	if err != nil {
		s.b.fail(s.name, about, err)
		return
	}
	about.Outcome, about.Error = s.certain(answer.Outcome, said.TaskID, said.Sequence), answer.Error
	s.b.answer(s.name, about)
	if about.Outcome == schemas.OutcomeTryAgain {
		return
	}
	s.over(said.TaskID, said.Sequence, true)
	if !answer.Idle {
		s.pullSoon()
	}
}

// complete fills in what need not be said of a result.
func (s *session) complete(r *schemas.Result) {
	r.AgentID, r.Attempt, r.Error = s.name, max(1, r.Attempt), r.Error.Bounded()
	switch {
	case r.State != "":
	case r.Error != nil:
		r.State = schemas.StateFailed
	default:
		r.State = schemas.StateCompleted
	}
	s.translate(r)
	if p := s.given(r.TaskID); p != nil && p.received && !p.adopted && r.StartedAt.IsZero() {
		r.StartedAt, r.FinishedAt = schemas.At(p.since), schemas.At(s.b.cfg.Now())
	}
	r.Chunks, r.Stalls = 0, 0
	if s.attendance != nil {
		if one := s.attendance.streams[r.TaskID]; one != nil {
			r.Chunks, r.Stalls = one.last(s.b.cfg.RequestTimeout), one.writer.Stalls()
		}
	}
}

// translate puts a result into the house's words: what the device spells in another way, and its own error codes.
func (s *session) translate(r *schemas.Result) {
	declared := s.b.registration(s.name)
	if declared == nil {
		return
	}
	if words := wordsOf(declared); r.Error == nil && len(words) > 0 {
		r.Result = words[s.capability(r.TaskID)].Result(r.Result)
	}
	if r.Error != nil {
		r.Error = s.translated(declared, r.TaskID, r.Error)
	}
}

// translated gives the device's own error code its standard one, by what it has registered.
func (s *session) translated(declared *schemas.Registration, taskID string, e *schemas.Error) *schemas.Error {
	own := *e
	own.With("origin", "agent")
	if own.Code.Standard() {
		return &own
	}
	own.With("agent_code", e.Code)
	own.Code = schemas.Unknown
	if offer := declared.Offer(s.capability(taskID)); offer != nil {
		own.Code = cmp.Or(offer.ErrorMapping[string(e.Code)], own.Code)
	}
	return &own
}

// capability of a task that the device was given, be it by another dispatcher; empty where it cannot be found out.
func (s *session) capability(taskID string) string {
	if p := s.given(taskID); p != nil {
		return p.capability
	}
	ctx, cancel := s.request()
	defer cancel()
	task, err := s.b.service.Task(ctx, s.b.tenant(s.name), taskID)
	if err != nil {
		return ""
	}
	return task.Capability
}

func (s *session) given(taskID string) *piece {
	if s.attendance == nil {
		return nil
	}
	return s.attendance.hand.given[taskID]
}
