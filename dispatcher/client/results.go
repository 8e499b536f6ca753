package client

import (
	"context"
	"sync/atomic"
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
	waiting, heard := context.WithCancel(ctx)
	defer heard()
	var result atomic.Pointer[schemas.Task]
	subscription, err := c.listen(taskID, func(task *schemas.Task) {
		if task.TaskID == taskID {
			result.Store(task)
			heard()
		}
	})
	if err == nil { // otherwise the questions alone have to do
		defer subscription.Close()
	}
	task, err := c.poll(waiting, taskID, wait)
	if ended := result.Load(); ended != nil && (err != nil || !task.State.Terminal()) {
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
// who must not miss a task waits for it, or looks.
func (c *Client) SubscribeResults(fn func(*schemas.Task)) (*broker.Subscription, error) {
	seen := newMemory(memorySize)
	return c.listen(broker.Any, func(task *schemas.Task) {
		if seen.isNews(task) {
			fn(task)
		}
	})
}

// listen hears results of one task, or of broker.Any.
func (c *Client) listen(taskID string, fn func(*schemas.Task)) (*broker.Subscription, error) {
	subscription, err := c.conn.Subscribe(broker.SubjectResult(c.tenant, taskID), func(_ string, body []byte) {
		task := new(schemas.Task)
		if err := schemas.Decode(body, task); err == nil && task.State.Terminal() {
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
