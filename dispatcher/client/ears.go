package client

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// fewEars is how many tasks are heard of each by its own subject. A client that waits for more of them at once hears all results of
// its tenant by one subscription instead: most will be its own, and a subscription for each task costs more than the others' results.
const fewEars = 32

// ears hear how tasks end, for all who wait with one client.
type ears struct {
	conn   *broker.Conn
	tenant string

	mu      sync.Mutex
	count   int
	waiting map[string][]*ear    // by task
	all     *broker.Subscription // nil while few wait
	deafen  func()               // ends attend; nil while nobody waits
	usual   time.Duration        // how long it takes until a result is heard: a moving mean
}

// ear waits for the end of one task. Its context ends when the task has, or with the context that it was opened with.
type ear struct {
	taskID string
	ctx    context.Context
	cancel context.CancelFunc
	opened time.Time
	doubt  chan struct{}        // what was published until now may have been missed
	own    *broker.Subscription // nil where all results are heard
	task   *schemas.Task        // guarded by the lock of ears
}

// open listens for the end of a task. What is asked on the same connection afterwards is asked by one who hears its answer.
func (e *ears) open(ctx context.Context, taskID string) (*ear, error) {
	one := e.expect(ctx, taskID)
	if err := e.listen(one); err != nil {
		e.shut(one)
		return nil, subscribeError(err)
	}
	return one, nil
}

// expect opens an ear for what only this client is told.
func (e *ears) expect(ctx context.Context, taskID string) *ear {
	one := &ear{taskID: taskID, opened: time.Now(), doubt: make(chan struct{}, 1)}
	one.ctx, one.cancel = context.WithCancel(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.count++; e.count == 1 {
		e.deafen = e.attend()
	}
	e.waiting[taskID] = append(e.waiting[taskID], one)
	return one
}

// attend hears what only this client is told, and of trouble with the connection.
func (e *ears) attend() (deafen func()) {
	calm, deaf := e.conn.OnTrouble(func(broker.Trouble) { e.trouble() }), e.conn.HearBeside(broker.WordResults, e.hearOwn)
	return func() {
		calm()
		deaf()
	}
}

// listen has an ear hear what all are told.
func (e *ears) listen(one *ear) (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.all != nil:
	case e.count <= fewEars:
		one.own, err = e.conn.SubscribeAhead(broker.SubjectResult(e.tenant, one.taskID), e.hear)
	default:
		e.all, err = e.conn.SubscribeAhead(broker.SubjectResult(e.tenant, broker.Any), e.hear)
	}
	return err
}

// shut ends an ear, and returns the task if its end was heard.
func (e *ears) shut(one *ear) *schemas.Task {
	one.cancel()
	idle := e.remove(one)
	for _, subscription := range idle {
		subscription.Close()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if one.task != nil {
		e.usual += (time.Since(one.opened) - e.usual) / 16
	}
	return one.task
}

// Bounds of late: how many times as long as usual, and the longest.
const (
	lateFactor = 4
	mostLate   = time.Minute
)

// late is how long a result may take before it is asked for: at least so long, longer where all take long.
func (e *ears) late(least time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(least, min(lateFactor*e.usual, mostLate))
}

// remove returns the subscriptions that nobody needs any more.
func (e *ears) remove(one *ear) (idle []*broker.Subscription) {
	e.mu.Lock()
	defer e.mu.Unlock()
	left := e.waiting[one.taskID][:0]
	for _, other := range e.waiting[one.taskID] {
		if other != one {
			left = append(left, other)
		}
	}
	if e.waiting[one.taskID] = left; len(left) == 0 {
		delete(e.waiting, one.taskID)
	}
	if one.own != nil {
		idle = append(idle, one.own)
	}
	if e.count--; e.count > 0 {
		return idle
	}
	e.deafen()
	if e.all != nil {
		idle = append(idle, e.all)
		e.all = nil
	}
	return idle
}

// hear takes a result. Most of those for others are not even read.
func (e *ears) hear(subject string, body []byte) {
	taskID := subject[strings.LastIndexByte(subject, '.')+1:]
	if !e.awaits(taskID) {
		return
	}
	e.hearOwn(body)
}

// hearOwn takes a result that is meant for this client.
func (e *ears) hearOwn(body []byte) {
	task := new(schemas.Task)
	if err := schemas.Decode(body, task); err != nil || !task.State.Terminal() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.waiting[task.TaskID] {
		if one.task == nil {
			one.task = task
			one.cancel()
		}
	}
}

func (e *ears) awaits(taskID string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.waiting[taskID]) > 0
}

// trouble tells all who wait that they may have missed something.
func (e *ears) trouble() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, same := range e.waiting {
		for _, one := range same {
			select {
			case one.doubt <- struct{}{}:
			default:
			}
		}
	}
}
