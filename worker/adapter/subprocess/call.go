package subprocess

import (
	"context"
	"fmt"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

// request is the line that a long-lived child gets for a task.
type request struct {
	TaskID     string          `json:"task_id"`
	Capability string          `json:"capability"`
	Attempt    int             `json:"attempt"`
	Deadline   schemas.Time    `json:"deadline,omitzero"`
	Payload    schemas.Payload `json:"payload"`
}

// cancel is the line that stops a task.
type cancel struct {
	Cancel string `json:"cancel"`
}

func requestLine(task *worker.Task) ([]byte, error) {
	r := request{task.ID(), task.Message.Capability, task.Message.Attempt, schemas.At(task.Deadline), task.Message.Payload}
	if r.Payload == nil {
		r.Payload = schemas.Payload("{}")
	}
	line, err := schemas.Encode(&r)
	return append(line, '\n'), err
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
	told := &telling{mapping: task.Offer.ErrorMapping, limit: c.max}
	for !told.final {
		select {
		case line := <-l.lines:
			told.take(ctx, line, emit)
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
	return told.result, told.failure, false
}

// telling is what has come back of one task.
type telling struct {
	mapping map[string]schemas.Code
	limit   int

	chunks  int
	final   bool
	result  schemas.Payload
	failure *worker.Failure
}

func (t *telling) take(ctx context.Context, line answer.Line, emit worker.Emit) {
	switch line.Kind {
	case answer.Chunk:
		t.chunks++
		_ = emit.Chunk(ctx, schemas.Payload(line.Value)) // fails only when the task has ended, and then ctx has
	case answer.Progress:
		passOn(emit, line.Value)
	default:
		t.end(line)
	}
}

func (t *telling) end(line answer.Line) {
	t.final = true
	switch line.Kind {
	case answer.Result:
		t.result, t.failure = conclude(line.Value, t.chunks)
	case answer.Error:
		t.failure = answer.Reported(line.Value, t.mapping)
	case overlong:
		t.failure = tooLarge(t.limit)
	}
}

// cancel tells the child to stop the task and waits for its last word, not longer than a process of its own would have.
func (c *child) cancel(ctx context.Context, l *call, told *telling) {
	stop := newWrite(append(schemas.MustEncode(&cancel{l.taskID}), '\n'))
	patience := time.NewTimer(c.kill)
	defer patience.Stop()
	for writes := c.writes; !told.final; {
		select {
		case writes <- stop:
			writes = nil
		case line := <-l.lines:
			if line.Kind != answer.Chunk && line.Kind != answer.Progress {
				told.end(line)
				told.acknowledge(ctx)
			}
		case <-c.dead:
			told.giveUp(ctx, true)
		case <-patience.C:
			deaf := c.isDeaf(l)
			if deaf {
				c.p.Stop(c.kill)
			}
			told.giveUp(ctx, deaf)
		}
	}
}

func (t *telling) acknowledge(ctx context.Context) {
	if t.failure != nil {
		t.failure = answer.Acknowledged(ctx, t.failure)
	}
}

// giveUp ends a task of which its child says nothing. A child that is killed for it runs nothing of it any more.
func (t *telling) giveUp(ctx context.Context, killed bool) {
	t.final, t.failure = true, answer.Ended(ctx, schemas.RanUnknown, false)
	t.failure.Stopped = killed
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
