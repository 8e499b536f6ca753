package client

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// forever is a wait that ends only with the task or its context.
const forever = time.Duration(math.MaxInt64)

// Submit sends a task, a large payload in parts before it, and returns it as soon as it is durable. The message is not changed; one without a task_id gets a fresh one on
// its way. To be safe across a restart of the caller too, give it a msg_id, or a task_id that is written down first.
func (c *Client) Submit(ctx context.Context, message *schemas.ReachMessage) (*schemas.Task, error) {
	sent := *message
	sent.TaskID = cmp.Or(sent.TaskID, schemas.NewTaskID())
	return c.submit(ctx, &sent, c.submission(&sent))
}

func (c *Client) submit(ctx context.Context, sent *schemas.ReachMessage, q question) (*schemas.Task, error) {
	if err := c.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer func() { <-c.submitting }()
	if err := c.stage(ctx, sent); err != nil {
		return nil, err
	}
	task, err := ask[schemas.Task](ctx, c, q)
	return c.whole(ctx, task, err)
}

func (c *Client) submission(sent *schemas.ReachMessage) question {
	return question{noun: "task", verb: "submit", body: sent, creates: sent.TaskID, bundler: c.submits}
}

// submitsAtOnce bounds what a client submits at once. What waits for its turn here is sent once; what waits at a dispatcher that is
// too busy would be sent again and again.
const submitsAtOnce = 256

// takeTurn waits until a message may be sent.
func (c *Client) takeTurn(ctx context.Context) error {
	select {
	case c.submitting <- struct{}{}:
		return nil
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return canceled()
	}
	return schemas.NewError(schemas.ResourceExhausted, schemas.ReasonBusy,
		"%d other messages of this client were not answered in time; this one was not sent", cap(c.submitting))
}

// Task is a task as it stands.
func (c *Client) Task(ctx context.Context, taskID string) (*schemas.Task, error) {
	task, err := c.bare(ctx, taskID)
	return c.whole(ctx, task, err)
}

// bare is a task as it stands, less a large result.
func (c *Client) bare(ctx context.Context, taskID string) (*schemas.Task, error) {
	return ask[schemas.Task](ctx, c, onTask("get", taskID))
}

// Cancel ends a task that has not ended. Its Cancel field says how it went: Won is false for a task that had ended before, and also
// when the answer to the cancel that ended it was lost; the task's state says the same in both cases.
func (c *Client) Cancel(ctx context.Context, taskID string) (*schemas.Task, error) {
	task, err := ask[schemas.Task](ctx, c, onTask("cancel", taskID))
	return c.whole(ctx, task, err)
}

// Retry runs an ended task again, as a new task, which it returns; retrying twice returns the same one.
func (c *Client) Retry(ctx context.Context, taskID string) (*schemas.Task, error) {
	return ask[schemas.Task](ctx, c, onTask("retry", taskID))
}

// Purge takes a task out of the dead letters; its record stays until its own time.
func (c *Client) Purge(ctx context.Context, taskID string) (*schemas.Task, error) {
	return ask[schemas.Task](ctx, c, onTask("purge", taskID))
}

// Redeliver makes the callback of a task that has ended again, whether it was delivered or not.
func (c *Client) Redeliver(ctx context.Context, taskID string) (*schemas.Task, error) {
	return ask[schemas.Task](ctx, c, onTask("redeliver", taskID))
}

// ListTasks is one page of tasks, newest first.
func (c *Client) ListTasks(ctx context.Context, query schemas.TaskQuery) (*schemas.TaskPage, error) {
	return ask[schemas.TaskPage](ctx, c, question{noun: "task", verb: "list", body: &query})
}

// Trace is a task's way through the house, by task_id or trace_id.
func (c *Client) Trace(ctx context.Context, id string) (*schemas.Trace, error) {
	return ask[schemas.Trace](ctx, c, question{noun: "trace", verb: "get", body: &schemas.TaskRef{TaskID: id}})
}

// ListRoutes is the routes of the dispatcher that answers, in their order.
func (c *Client) ListRoutes(ctx context.Context) (*schemas.RoutePage, error) {
	return ask[schemas.RoutePage](ctx, c, question{noun: "route", verb: "list", body: &struct{}{}})
}

// Explain says where a message would go now, and why; nothing is submitted.
func (c *Client) Explain(ctx context.Context, message *schemas.ReachMessage) (*schemas.Explanation, error) {
	sent := *message
	if err := c.stage(ctx, &sent); err != nil {
		return nil, err
	}
	return ask[schemas.Explanation](ctx, c, question{noun: "route", verb: "explain", body: &sent})
}

func onTask(verb, taskID string) question {
	return question{noun: "task", verb: verb, body: &schemas.TaskRef{TaskID: taskID}}
}

// Do submits a task and waits for its end, however long that takes, or until ctx ends. A task that ended other than completed comes
// with its error as well; if ctx ends first, the task as it was accepted comes with the error.
func (c *Client) Do(ctx context.Context, message *schemas.ReachMessage) (*schemas.Task, error) {
	sent := *message
	sent.TaskID = cmp.Or(sent.TaskID, schemas.NewTaskID())
	accepted, task, err := c.submitAndWait(ctx, &sent)
	switch {
	case err != nil:
		return accepted, err
	case task.State != schemas.StateCompleted:
		return task, failure(task)
	}
	return task, nil
}

// submitAndWait listens before it submits, so that it need not ask for the result.
func (c *Client) submitAndWait(ctx context.Context, sent *schemas.ReachMessage) (accepted, ended *schemas.Task, err error) {
	ear, q, deaf := c.listenFirst(ctx, sent)
	accepted, err = c.submit(ctx, sent, q)
	if deaf == nil && (err != nil || accepted.State.Terminal() || accepted.TaskID != sent.TaskID) {
		c.ears.shut(ear)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case accepted.State.Terminal():
		return accepted, accepted, nil
	case deaf != nil, accepted.TaskID != sent.TaskID: // it is the task of an earlier message, and may end while this is read
		ended, err = c.Result(ctx, accepted.TaskID)
	default:
		ended, err = c.await(ear)
		ended, err = c.whole(ctx, ended, err)
	}
	return accepted, ended, err
}

// untoldFor is how long a client listens to what all are told, once it has found no dispatcher that tells it alone.
const untoldFor = time.Minute

// listenFirst opens an ear for a message, and gives the question that submits it: to a dispatcher that tells this client how its task
// ends or, where none is of a release that does so, to any.
func (c *Client) listenFirst(ctx context.Context, sent *schemas.ReachMessage) (*ear, question, error) {
	q := c.submission(sent)
	if time.Now().UnixNano() < c.untold.Load() {
		ear, err := c.ears.open(ctx, sent.TaskID)
		return ear, q, err
	}
	ear := c.ears.expect(ctx, sent.TaskID)
	told := q
	told.verb, told.bundler = "do", c.does
	told.otherwise = func() question {
		c.untold.Store(time.Now().Add(untoldFor).UnixNano())
		_ = c.ears.listen(ear) // deaf, it asks when the result is late
		return q
	}
	return ear, told, nil
}

// failure is why a task has no result.
func failure(task *schemas.Task) *schemas.Error {
	if task.Error != nil {
		return task.Error
	}
	return schemas.NewError(schemas.Unknown, "", "the task ended %s, without saying why", task.State)
}
