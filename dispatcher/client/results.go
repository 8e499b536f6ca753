package client

import (
	"context"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// Wait returns when a task has ended, or after wait with the task as it stands. It asks one dispatcher after the other for short
// waits, and listens for the result beside that, so that neither a dead dispatcher nor a lost message makes it late for long.
func (c *Client) Wait(ctx context.Context, taskID string, wait time.Duration) (*schemas.Task, error) {
	if err := schemas.CheckTaskID(taskID); err != nil {
		return nil, schemas.AsError(err)
	}
	ear, err := c.ears.open(ctx, taskID)
	if err != nil { // then the questions alone have to do
		task, err := c.poll(ctx, taskID, wait)
		return c.whole(ctx, task, err)
	}
	task, err := c.pollBeside(ear, wait)
	return c.whole(ctx, task, err)
}

// await waits for the end of a task that was not there yet when its ear was opened. Nobody is asked unless the result is late, or may
// have been missed.
func (c *Client) await(ear *ear) (*schemas.Task, error) {
	late := time.NewTimer(c.ears.late(c.late))
	defer late.Stop()
	select {
	case <-ear.ctx.Done():
	case <-ear.doubt:
	case <-late.C:
	}
	if ear.ctx.Err() == nil {
		return c.pollBeside(ear, forever)
	}
	if ended := c.ears.shut(ear); ended != nil {
		return ended, nil
	}
	return nil, waitEnded(ear.ctx)
}

// pollBeside asks until the task has ended, or its ear hears that.
func (c *Client) pollBeside(ear *ear, wait time.Duration) (*schemas.Task, error) {
	task, err := c.poll(ear.ctx, ear.taskID, wait)
	if ended := c.ears.shut(ear); ended != nil && (err != nil || !task.State.Terminal()) {
		return ended, nil
	}
	return task, err
}

// Result waits for the end of a task, until ctx ends.
func (c *Client) Result(ctx context.Context, taskID string) (*schemas.Task, error) {
	return c.Wait(ctx, taskID, forever)
}

// poll asks again and again.
func (c *Client) poll(ctx context.Context, taskID string, wait time.Duration) (*schemas.Task, error) {
	asking, wait := ctx, max(0, wait)
	if wait < forever-c.patience {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, wait+c.patience)
		defer cancel()
	}
	start := time.Now()
	for {
		answered := time.Since(start)
		slice := max(0, min(wait-time.Since(start), c.slice))
		q := onTask("wait", taskID)
		q.body, q.extra = &schemas.TaskRef{TaskID: taskID, WaitMS: slice.Milliseconds()}, slice
		task, err := askUntil[schemas.Task](asking, c, q)
		if err != nil || task.State.Terminal() || time.Since(start) >= wait {
			return task, err
		}
		if time.Since(start) < answered+slice/2 { // it did not wait: it is about to stop
			pause(ctx, firstDelay)
		}
	}
}

// SubscribeResults calls fn with each task of the tenant that ends while the subscription is open, one at a time. A result that is
// published again is dropped, unless more than 16,384 others have come in between. What is published during an outage is missed:
// who must not miss a task waits for it, or looks. A result that is too large for a message is left out: Task and OpenResult have it.
func (c *Client) SubscribeResults(fn func(*schemas.Task)) (*broker.Subscription, error) {
	seen := newMemory(memorySize)
	subscription, err := c.conn.Subscribe(broker.SubjectResult(c.tenant, broker.Any), func(_ string, body []byte) {
		task := new(schemas.Task)
		if err := schemas.Decode(body, task); err == nil && task.State.Terminal() && seen.isNews(task) {
			fn(task)
		}
	})
	if err != nil {
		return nil, subscribeError(err)
	}
	return subscription, nil
}

func subscribeError(err error) *schemas.Error {
	if known := schemas.AsError(err); known.Code != schemas.Internal {
		return known
	}
	return schemas.NewError(schemas.Unavailable, schemas.ReasonBrokerOutage, "there is no connection to the broker")
}

const memorySize = 16 << 10

// memory knows the last results that were heard. It is used by one goroutine.
type memory struct {
	revisions map[string]uint64
	order     []string // a ring: the oldest is at next
	next      int
}

func newMemory(size int) *memory {
	return &memory{revisions: make(map[string]uint64, size), order: make([]string, size)}
}

// isNews reports whether a result is none that was heard before, nor an older one, and remembers it.
func (m *memory) isNews(task *schemas.Task) bool {
	revision, known := m.revisions[task.TaskID]
	if known && task.Revision <= revision {
		return false
	}
	if !known {
		delete(m.revisions, m.order[m.next])
		m.order[m.next] = task.TaskID
		m.next = (m.next + 1) % len(m.order)
	}
	m.revisions[task.TaskID] = task.Revision
	return true
}
