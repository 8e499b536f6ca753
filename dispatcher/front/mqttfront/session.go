package mqttfront

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

// How much may wait for one session: pieces of news, and bytes of what its device has said. A device has 16 chunks on their way at most.
const (
	maxMail      = 1024
	maxMailBytes = 32 << 20
)

// session is what its owner does for one device. All but mail belongs to the goroutine of run.
type session struct {
	b       *Bridge
	d       *device
	name    string
	stop    context.CancelFunc
	mail    chan func(*session)
	waiting atomic.Int64 // bytes in the mail
	serving atomic.Bool  // there is an attendance

	debts      *debts
	followers  map[string]context.CancelFunc // by task
	attendance *attendance                   // nil while the device serves no tasks
	wants      bool                          // asks for work when the mail is empty
	wake       time.Time                     // when there is something to do; zero is never
}

func newSession(b *Bridge, d *device, stop context.CancelFunc) *session {
	return &session{
		b: b, d: d, name: d.name, stop: stop, mail: make(chan func(*session), maxMail),
		debts: newDebts(b.cfg.ResendFirst, b.cfg.ResendMost, b.cfg.Window), followers: make(map[string]context.CancelFunc),
	}
}

func (s *session) serves() bool { return s.serving.Load() }

// post leaves news of so many bytes; it reports false where there is no room.
func (s *session) post(bytes int, news func(*session)) bool {
	size := int64(bytes)
	if s.waiting.Add(size) <= maxMailBytes {
		select {
		case s.mail <- func(s *session) { s.waiting.Add(-size); news(s) }:
			return true
		default:
		}
	}
	s.waiting.Add(-size)
	return false
}

// run works until ctx ends, and leaves nothing behind. What is in the mail by then is still done: it may be a goodbye.
func (s *session) run(ctx context.Context) {
	s.adopt()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case news := <-s.mail:
			news(s)
		case <-timer.C:
		case <-ctx.Done():
		}
		if s.wants && len(s.mail) == 0 {
			s.pull()
		}
		s.tick(s.b.cfg.Now())
		if !s.wake.IsZero() {
			timer.Reset(max(0, s.wake.Sub(s.b.cfg.Now())))
		}
	}
	for len(s.mail) > 0 {
		(<-s.mail)(s)
	}
	for _, end := range s.followers {
		end()
	}
	s.leave()
}

// adopt takes over a device that serves tasks and was heard not long ago: another dispatcher may have died.
func (s *session) adopt() {
	if r := s.b.registration(s.name); r != nil && s.b.isAlive(s.d) {
		s.attend(r)
		s.pull()
	}
}

// tick does what is due, and says when to look again.
func (s *session) tick(now time.Time) {
	s.wake = time.Time{}
	for _, one := range s.debts.unfollowed(s.b.cfg.Followed) {
		s.follow(one, front.Fresh)
	}
	due, again := s.debts.due(now)
	for _, one := range due {
		s.sendEnd(one)
	}
	s.wakeAt(again)
	if s.attendance == nil {
		return
	}
	if !s.b.isAlive(s.d) {
		s.leave()
		return
	}
	s.wakeAt(now.Add(s.b.cfg.HeartbeatTTL))
	s.serveTick(now)
}

func (s *session) wakeAt(at time.Time) {
	if !at.IsZero() && (s.wake.IsZero() || at.Before(s.wake)) {
		s.wake = at
	}
}

// request is a context for one question.
func (s *session) request() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(s.b.life), s.b.cfg.RequestTimeout)
}

// owes takes in that a task's end is owed, or no longer.
func (s *session) owes(taskID string, record broker.OwedRecord, settled bool) {
	if !settled {
		s.debts.add(taskID, record.Stream)
		return
	}
	delete(s.debts.tasks, taskID)
	s.unfollow(taskID)
}

func (s *session) unfollow(taskID string) {
	if end := s.followers[taskID]; end != nil {
		end()
		delete(s.followers, taskID)
	}
}

// ack settles a debt.
func (s *session) ack(body []byte) {
	ref, err := front.TaskRef(body)
	if err != nil {
		s.b.fail(s.name, schemas.DeviceAnswer{About: verbAck}, err)
		return
	}
	if s.debts.tasks[ref.TaskID] == nil {
		return
	}
	ctx, cancel := s.request()
	defer cancel()
	if err := s.b.conn.Owed().Delete(ctx, broker.OwedKey(s.name, ref.TaskID)); err != nil {
		s.b.log.Warn().Err(err).Str("task_id", ref.TaskID).Msg("an acknowledgement was not noted: the end is sent again")
		return
	}
	s.owes(ref.TaskID, broker.OwedRecord{}, true)
}

// hello is the device's word that it is back: whatever it is owed comes now.
func (s *session) hello(body []byte) {
	if s.b.registration(s.name) != nil {
		s.heartbeat(body)
	} else {
		s.b.answer(s.name, schemas.DeviceAnswer{About: verbHello, Outcome: schemas.OutcomeStored})
	}
	s.debts.back()
}

// resume sends the chunks of a task again, after a number, and what follows.
func (s *session) resume(body []byte) {
	var ref schemas.FollowRef
	err := schemas.Accept(body, &ref)
	if err == nil {
		err = schemas.CheckTaskID(ref.TaskID)
	}
	one := s.debts.tasks[ref.TaskID]
	if err == nil && one == nil {
		err = schemas.NewError(schemas.NotFound, schemas.ReasonUnknownTask, "no task of that id is on its way to this device")
	}
	if err != nil {
		s.b.fail(s.name, schemas.DeviceAnswer{About: verbResume, TaskID: ref.TaskID}, err)
		return
	}
	s.unfollow(ref.TaskID)
	one.stream, one.follow, one.ended = true, true, false
	s.follow(one, max(0, ref.After))
}

// follow tells the device what happens to a task until it has ended.
func (s *session) follow(one *debt, after int64) {
	ctx, cancel := context.WithCancel(s.b.life)
	s.followers[one.taskID] = cancel
	taskID, stream := one.taskID, one.stream
	s.b.sessions.Go(func() {
		defer cancel()
		err := s.relay(ctx, taskID, stream, after)
		if ctx.Err() != nil {
			return
		}
		select {
		case s.mail <- func(s *session) { s.followed(taskID, err) }:
		case <-ctx.Done():
		}
	})
}

// relay passes on what is said of a task. A device that does not listen misses it: the end is what is sent again.
func (s *session) relay(ctx context.Context, taskID string, stream bool, after int64) error {
	events, err := s.b.service.Follow(ctx, s.b.tenant(s.name), taskID, after)
	if err != nil {
		return err
	}
	defer events.Close()
	for first := true; ; first = false {
		event, err := events.Next(ctx)
		switch {
		case err != nil:
			return err
		case event.Task != nil && event.Task.State.Terminal():
			return nil
		case event.Task != nil && !first: // the device knows how it stood when it was accepted
			_ = s.b.send(s.name, kindState, event.Task)
		case event.Progress != nil:
			_ = s.b.send(s.name, kindProgress, &schemas.TaskProgress{TaskID: taskID, Progress: event.Progress})
		case event.Chunk != nil && stream:
			_ = s.b.send(s.name, kindChunk, event.Chunk)
		case event.Notice != nil && stream:
			notice := *event.Notice
			notice.TaskID = taskID
			_ = s.b.send(s.name, kindNotice, &notice)
		}
	}
}

// followed takes in that a follower has come to its end.
func (s *session) followed(taskID string, err error) {
	delete(s.followers, taskID)
	one := s.debts.tasks[taskID]
	if one == nil {
		return
	}
	one.follow = false
	if err == nil || schemas.AsError(err).Code == schemas.NotFound {
		one.ended = true
		return
	}
	s.b.log.Debug().Err(err).Str("task_id", taskID).Msg("followed anew")
	s.wakeAt(s.b.cfg.Now().Add(s.b.cfg.ResendFirst))
}

// sendEnd sends how a task has ended. One whose record has gone is owed no longer.
func (s *session) sendEnd(one *debt) {
	ctx, cancel := s.request()
	defer cancel()
	task, err := s.b.service.Task(ctx, s.b.tenant(s.name), one.taskID)
	switch {
	case err == nil && task.State.Terminal():
		whole, err := s.b.whole(ctx, s.name, task)
		if err != nil && one.sent <= triesToRead {
			return
		}
		_ = s.b.send(s.name, kindResult, whole)
	case err == nil: // not yet: it is followed again
		one.ended = false
	case schemas.AsError(err).Code == schemas.NotFound:
		if err := s.b.conn.Owed().Delete(ctx, broker.OwedKey(s.name, one.taskID)); err == nil {
			s.owes(one.taskID, broker.OwedRecord{}, true)
		}
	}
}

// beside is what a task may have beside its result in a message.
const beside = 64 << 10

// triesToRead is how often an end waits for its next time while its result cannot be read; then the device is told where it is.
const triesToRead = 4

// whole is a task with its result, where one message carries that; else it says how large the result is, which is there by HTTP. With an
// error, which may pass, it is the task as it was.
func (b *Bridge) whole(ctx context.Context, device string, task *schemas.Task) (*schemas.Task, error) {
	if task.ResultRef == nil || task.ResultRef.Bytes > b.conn.MaxPayload()-beside {
		return task, nil
	}
	result, err := b.result(ctx, device, task.TaskID)
	switch {
	case errors.Is(err, broker.ErrNotFound):
		return task, nil
	case err != nil:
		b.log.Debug().Err(err).Str("task_id", task.TaskID).Msg("a result is not read")
		return task, err
	}
	whole := *task
	whole.Result, whole.ResultRef = result, nil
	return &whole, nil
}

func (b *Bridge) result(ctx context.Context, device, taskID string) (schemas.Payload, error) {
	_, result, err := b.service.Result(ctx, b.tenant(device), taskID)
	if err != nil {
		return nil, err
	}
	defer func() { _ = result.Close() }()
	return io.ReadAll(result)
}
