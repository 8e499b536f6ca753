package websocket

import (
	"context"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
	"github.com/agentreach/agent-reach/worker/adapter/internal/transcript"
)

// talk is one task, over as many connections as it takes.
type talk struct {
	agent *Agent
	task  *worker.Task
	said  *transcript.Transcript
	next  int64 // number of the next chunk
	sent  bool  // the agent has been sent the task
}

func (a *Agent) talk(ctx context.Context, task *worker.Task, emit worker.Emit) (schemas.Payload, *worker.Failure) {
	if ctx.Err() != nil {
		return nil, answer.Ended(ctx, schemas.RanNo, false)
	}
	message, err := requestFor(task)
	if err != nil {
		return nil, &worker.Failure{Err: schemas.AsError(err), Ran: schemas.RanNo}
	}
	emit.Hop(schemas.HopAdapterRequest)
	t := &talk{agent: a, task: task, said: transcript.New(task, emit), next: 1}
	for !t.said.Final() {
		t.attempt(ctx, message)
	}
	result, failure := t.said.Outcome()
	if failure == nil || failure.Ran == schemas.RanYes {
		emit.Hop(schemas.HopAgentDone)
	}
	return result, failure
}

// attempt takes the task to a connection and stays with it there: to the agent's last word, or to the end of the connection.
func (t *talk) attempt(ctx context.Context, message pieces.Message) {
	s, failure := t.connection(ctx)
	if failure != nil {
		t.said.Fail(failure)
		return
	}
	if t.sent {
		message = pieces.Of(schemas.MustEncode(&resume{t.task.ID(), t.next}))
	}
	c := s.add(t.task.ID(), message)
	if c == nil {
		e := schemas.NewError(schemas.ResourceExhausted, schemas.ReasonBusy, "the agent still has an earlier attempt of this task")
		t.said.Fail(&worker.Failure{Err: e, Ran: schemas.RanNo})
		return
	}
	defer s.remove(c)
	t.serve(ctx, s, c)
}

// connection is one that can be expected to carry the task.
func (t *talk) connection(ctx context.Context) (*socket, *worker.Failure) {
	if t.sent {
		return t.back(ctx)
	}
	for {
		s, failure := t.agent.keeper.Live(ctx)
		if failure != nil || t.repeatable() {
			return s, failure
		}
		if s.answers(ctx) == nil {
			return s, nil
		}
		select {
		case <-s.dead:
		case <-ctx.Done():
			return nil, answer.Ended(ctx, schemas.RanNo, false)
		}
	}
}

// back is the connection after one that was lost, if it comes in time.
func (t *talk) back(ctx context.Context) (*socket, *worker.Failure) {
	within, stop := context.WithTimeout(ctx, t.agent.cfg.ResumeWithin)
	defer stop()
	s, failure := t.agent.keeper.LiveWithin(within)
	switch {
	case failure == nil:
		return s, nil
	case ctx.Err() != nil:
		return nil, answer.Ended(ctx, schemas.RanUnknown, false)
	}
	return nil, closing{class: lost}.failure(t.task.Offer.ErrorMapping)
}

func (t *talk) repeatable() bool {
	assignment := t.task.Message.Assignment
	return assignment != nil && assignment.Idempotent
}

// serve sends the message and takes in what comes back.
func (t *talk) serve(ctx context.Context, s *socket, c *call) {
	select {
	case s.writes <- c.write:
	case <-ctx.Done():
		t.said.Fail(answer.Ended(ctx, t.ran(), false))
		return
	case <-s.dead:
		return
	}
	for !t.said.Final() {
		select {
		case m := <-c.heard:
			t.hear(ctx, m)
		case <-ctx.Done():
			t.cancel(ctx, s, c)
		case <-s.dead:
			if len(c.heard) > 0 {
				continue
			}
			t.broken(s, c)
			return
		}
	}
}

// ran is what is known of a task that is given up while a message of it waits to be sent.
func (t *talk) ran() schemas.Ran {
	if t.sent {
		return schemas.RanUnknown
	}
	return schemas.RanNo
}

// hear sorts one message in.
func (t *talk) hear(ctx context.Context, m heard) {
	if m.tooLong {
		t.said.TooLarge(int64(t.agent.cfg.MaxMessage))
		return
	}
	if t.agent.cfg.Resume && !t.due(m) {
		return
	}
	if t.said.Take(ctx, m.line) != nil {
		return // the task has ended, and ctx with it
	}
	if m.line.Kind == answer.Chunk {
		t.next++
	}
}

// due reports whether a message of an agent that resumes is to be taken: not a chunk that was there before.
func (t *talk) due(m heard) bool {
	extra := extraOf(m.raw)
	switch {
	case extra.Lost:
		e := schemas.NewError(schemas.Unavailable, schemas.ReasonConnectionLost, "the agent does not know the task any more")
		t.said.Fail(&worker.Failure{Err: answer.FromAgent(e), Ran: schemas.RanUnknown})
		return false
	case m.line.Kind != answer.Chunk || extra.N == 0 || extra.N == t.next:
		return true
	case extra.N < t.next:
		return false
	}
	e := schemas.NewError(schemas.Internal, schemas.ReasonProtocol, "the agent sent chunk %d where %d was due", extra.N, t.next)
	t.said.Fail(&worker.Failure{Err: answer.FromAgent(e), Ran: schemas.RanYes})
	return false
}

// broken is a connection that ended under the task. One of which nothing went out goes to the next connection, and so does one
// that the agent resumes, unless it closed for a reason.
func (t *talk) broken(s *socket, c *call) {
	if c.write.refused {
		return
	}
	t.sent = true
	if mapping := t.task.Offer.ErrorMapping; !t.agent.cfg.Resume || s.end.deliberate(mapping) {
		t.said.Fail(s.end.failure(mapping))
	}
}

// cancel tells the agent to stop the task and waits for its last word, not longer than CancelWait.
func (t *talk) cancel(ctx context.Context, s *socket, c *call) {
	stop := newWrite(pieces.Of(schemas.MustEncode(&cancel{t.task.ID()})))
	patience := time.NewTimer(t.agent.cfg.CancelWait)
	defer patience.Stop()
	for writes := s.writes; !t.said.Final(); {
		select {
		case writes <- stop:
			writes = nil
		case m := <-c.heard:
			if m.tooLong || m.line.Kind == answer.Result || m.line.Kind == answer.Error {
				t.hear(ctx, m)
				t.said.Acknowledge(ctx)
			}
		case <-s.dead:
			t.said.Fail(answer.Ended(ctx, schemas.RanUnknown, false))
		case <-patience.C:
			t.said.Fail(answer.Ended(ctx, schemas.RanUnknown, false))
		}
	}
}
