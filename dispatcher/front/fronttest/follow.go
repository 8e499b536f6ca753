package fronttest

import (
	"cmp"
	"context"
	"io"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

// Say has the agent of a task say something: a chunk, a notice, or how far it is. A chunk without a number gets the next one.
func (h *House) Say(taskID string, event front.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tasks[taskID]
	if t == nil {
		return
	}
	if event.Chunk != nil {
		chunk := *event.Chunk
		chunk.TaskID, chunk.Attempt = taskID, cmp.Or(chunk.Attempt, 1)
		chunk.N = cmp.Or(chunk.N, t.task.Chunks+1)
		t.task.Chunks = chunk.N
		event.Chunk = &chunk
	}
	if event.Progress != nil {
		t.task.Progress = event.Progress
	}
	t.said = append(t.said, event)
	close(h.changed)
	h.changed = make(chan struct{})
}

// Follow tells what was said of a task so far, and goes on with it. A follower of a task that has ended hears the end alone, unless
// it names a chunk.
func (h *House) Follow(_ context.Context, tenant, taskID string, after int64) (front.Events, error) {
	if err := h.enter("Follow"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	t, err := h.find(tenant, taskID)
	if err != nil {
		return nil, err
	}
	f := &following{house: h, held: t, after: after, told: t.task.State.Terminal()}
	if after == front.Fresh && t.task.State.Terminal() {
		f.next = len(t.said)
	}
	return f, nil
}

// following is one follower of a task.
type following struct {
	house *House
	held  *held
	after int64
	next  int  // what is heard next
	told  bool // how the task stands
	over  bool
}

// Next waits for the next event.
func (f *following) Next(ctx context.Context) (front.Event, error) {
	for {
		event, changed, err := f.event()
		if changed == nil {
			return event, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return front.Event{}, schemas.NewError(schemas.Cancelled, "", "the caller left")
		}
	}
}

// event is the next one at hand; if there is none, changed says when to ask again.
func (f *following) event() (event front.Event, changed <-chan struct{}, err error) {
	f.house.mu.Lock()
	defer f.house.mu.Unlock()
	if err := f.house.failure; err != nil {
		return event, nil, err
	}
	task := f.held.task
	if !f.told {
		f.told = true
		return front.Event{Task: &task}, nil, nil
	}
	for f.next < len(f.held.said) {
		event = f.held.said[f.next]
		if f.next++; event.Chunk == nil || event.Chunk.N > f.after {
			return event, nil, nil
		}
	}
	switch {
	case f.over:
		return front.Event{}, nil, io.EOF
	case task.State.Terminal():
		f.over = true
		return front.Event{Task: &task}, nil, nil
	}
	return front.Event{}, f.house.changed, nil
}

// Close ends it.
func (f *following) Close() {
	f.house.mu.Lock()
	defer f.house.mu.Unlock()
	f.house.calls = append(f.house.calls, "Close")
}
