package subprocess

import (
	"context"
	"fmt"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
	"github.com/agentreach/agent-reach/worker/adapter/internal/transcript"
)

// request is the line that a long-lived child gets for a task, without the payload.
type request struct {
	TaskID     string       `json:"task_id"`
	Capability string       `json:"capability"`
	Attempt    int          `json:"attempt"`
	Deadline   schemas.Time `json:"deadline,omitzero"`
}

// cancel is the line that stops a task.
type cancel struct {
	Cancel string `json:"cancel"`
}

func requestLine(task *worker.Task) (pieces.Message, error) {
	r := request{task.ID(), task.Message.Capability, task.Message.Attempt, schemas.At(task.Deadline)}
	return pieces.With(&r, "payload", pieces.Payload(task))
}

// handle runs one task in the child. A child that dies before it has taken any of the task costs the task nothing: it goes to the
// next one.
func (k *keeper) handle(ctx context.Context, task *worker.Task, emit worker.Emit) (schemas.Payload, *worker.Failure) {
	line, err := requestLine(task)
	if err != nil {
		return nil, &worker.Failure{Err: schemas.AsError(err), Ran: schemas.RanNo}
	}
	emit.Hop(schemas.HopAdapterRequest)
	for {
		c, failure := k.live(ctx)
		if failure != nil {
			return nil, failure
		}
		l, ok := c.add(task.ID(), line)
		if !ok {
			e := schemas.NewError(schemas.ResourceExhausted, schemas.ReasonBusy, "the agent still has an earlier attempt of this task")
			return nil, &worker.Failure{Err: e, Ran: schemas.RanNo}
		}
		result, failure, untouched := c.serve(ctx, l, task, emit)
		c.remove(l)
		if !untouched {
			return result, failure
		}
	}
}

// serve sends the task and passes on what comes back. It reports true if the child died without having taken any of it.
func (c *child) serve(ctx context.Context, l *call, task *worker.Task, emit worker.Emit) (schemas.Payload, *worker.Failure, bool) {
	select {
	case c.writes <- l.write:
	case <-ctx.Done():
		return nil, answer.Ended(ctx, schemas.RanNo, false), false
	case <-c.dead:
		return nil, nil, true
	}
	told := transcript.New(task, emit)
	for !told.Final() {
		select {
		case line := <-l.lines:
			c.take(ctx, told, line)
		case <-ctx.Done():
			c.cancel(ctx, l, told)
		case <-c.dead:
			if len(l.lines) > 0 {
				continue
			}
			return nil, c.died(), l.write.refused
		}
	}
	emit.Hop(schemas.HopAgentDone)
	result, failure := told.Outcome()
	return result, failure, false
}

// take sorts one line in. What cannot be passed on is of a task that has ended, and then ctx has, too.
func (c *child) take(ctx context.Context, told *transcript.Transcript, line answer.Line) {
	if line.Kind == overlong {
		told.TooLarge(int64(c.max))
		return
	}
	_ = told.Take(ctx, line)
}

// cancel tells the child to stop the task and waits for its last word, not longer than a process of its own would have.
func (c *child) cancel(ctx context.Context, l *call, told *transcript.Transcript) {
	stop := newWrite(pieces.Of(schemas.MustEncode(&cancel{l.taskID})))
	patience := time.NewTimer(c.kill)
	defer patience.Stop()
	for writes := c.writes; !told.Final(); {
		select {
		case writes <- stop:
			writes = nil
		case line := <-l.lines:
			if line.Kind != answer.Chunk && line.Kind != answer.Progress {
				c.take(ctx, told, line)
				told.Acknowledge(ctx)
			}
		case <-c.dead:
			giveUp(ctx, told, true)
		case <-patience.C:
			deaf := c.isDeaf(l)
			if deaf {
				c.p.Stop(c.kill)
			}
			giveUp(ctx, told, deaf)
		}
	}
}

// giveUp ends a task of which its child says nothing. A child that is killed for it runs nothing of it any more.
func giveUp(ctx context.Context, told *transcript.Transcript, killed bool) {
	failure := answer.Ended(ctx, schemas.RanUnknown, false)
	failure.Stopped = killed
	told.Fail(failure)
}

// died is the failure of a task whose child ended.
func (c *child) died() *worker.Failure {
	e := schemas.NewError(schemas.Unavailable, schemas.ReasonConnectionLost, "the agent's program ended while it had the task")
	answer.FromAgent(e).With("agent_code", fmt.Sprintf("exit_%d", c.end.Code))
	if words := c.p.Chat.LastWords(); words != "" {
		e.With("stderr", words)
	}
	return &worker.Failure{Err: e, Ran: schemas.RanUnknown}
}
