package dispatcher

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// countTo is how far a queue position is counted; beyond it the place no longer tells anybody anything.
const countTo = 1000

// Task is a task as it stands. It is found at once after its submit, on every dispatcher, and nobody who asks after its end was told by
// any of them sees it open: what the index holds open may have ended without its having heard of that yet.
func (d *Dispatcher) Task(ctx context.Context, tenant, taskID string) (*schemas.Task, error) {
	if err := schemas.CheckTaskID(taskID); err != nil {
		return nil, err
	}
	entry, err := d.last(ctx, taskID)
	if err != nil {
		return nil, err
	}
	if task := d.openTask(tenant, taskID, entry.Sequence); task != nil {
		return task, nil
	}
	return d.viewOf(tenant, taskID, entry)
}

// watched is Task for whoever is about to hear of what happens to it: it is read from the index where that holds it open.
func (d *Dispatcher) watched(ctx context.Context, tenant, taskID string) (*schemas.Task, error) {
	if task := d.openTask(tenant, taskID, 0); task != nil {
		return task, nil
	}
	return d.Task(ctx, tenant, taskID)
}

// openTask answers from the index, as long as it is current, has heard of the task's entry with that sequence, and knows of nothing
// newer that it has to hold back.
func (d *Dispatcher) openTask(tenant, taskID string, sequence uint64) *schemas.Task {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	t := d.view.tasks.Open(taskID)
	if t == nil || !d.view.current || t.Sequence < sequence || t.Tenant() != tenant || d.forgotten(t) || d.view.order.Holds(taskID) {
		return nil
	}
	return d.viewWithQueue(t)
}

// forgotten reports whether a task's record is no longer kept: whoever reads the ledger while it forgets may have seen the task open
// and missed its end.
func (d *Dispatcher) forgotten(t *index.Task) bool { return !t.ForgetAt.After(d.now()) }

// last is the last entry of a task. Only a done one is taken from any replica; before a task is called unknown or open, the ledger's
// leader is asked.
func (d *Dispatcher) last(ctx context.Context, taskID string) (broker.Entry, error) {
	entry, err := d.ledger.Last(ctx, taskID)
	if errors.Is(err, broker.ErrNotFound) || err == nil && entry.Phase != schemas.PhaseDone {
		entry, err = d.ledger.LastAtLeader(ctx, taskID)
	}
	if errors.Is(err, broker.ErrNotFound) {
		return broker.Entry{}, d.unknown(taskID)
	}
	if err != nil {
		return broker.Entry{}, refusal(err)
	}
	return entry, nil
}

// unknown is the answer for a task that is not there, or another tenant's: nobody can tell which.
func (d *Dispatcher) unknown(taskID string) *schemas.Error {
	made := time.UnixMilli(schemas.TaskIDTime(taskID))
	if d.now().Sub(made) > d.cfg.Retention {
		return schemas.NewError(schemas.NotFound, schemas.ReasonExpired, "this task is unknown, or its record is no longer kept (%v)", d.cfg.Retention)
	}
	return schemas.NewError(schemas.NotFound, schemas.ReasonUnknownTask, "there is no such task")
}

// viewOf is what a tenant sees of an entry.
func (d *Dispatcher) viewOf(tenant, taskID string, e broker.Entry) (*schemas.Task, error) {
	if e.TaskID == "" {
		return nil, d.unknown(taskID)
	}
	event, err := decodeEvent(e)
	if err != nil {
		return nil, schemas.AsError(err)
	}
	if event.Record != nil {
		if event.Record.Tenant != tenant {
			return nil, d.unknown(taskID)
		}
		return &event.Record.Task, nil
	}
	if event.Message.Tenant != tenant || !event.Message.ForgetAt.After(d.now()) { // its end may have been forgotten a moment before this
		return nil, d.unknown(taskID)
	}
	task := d.viewNow(index.TaskOf(event))
	return &task, nil
}

// viewNow is an open task, and whether it is slow by now.
func (d *Dispatcher) viewNow(t *index.Task) schemas.Task {
	task := t.View()
	task.Slow = t.Slow(d.now())
	return task
}

// viewWithQueue is an open task with its place in the queue and its progress; the caller holds the lock.
func (d *Dispatcher) viewWithQueue(t *index.Task) *schemas.Task {
	task := d.viewNow(t)
	if c := d.view.contacts[t.ID]; c != nil && c.sequence == t.Sequence {
		task.Progress = c.progress
	}
	if t.Phase == schemas.PhaseQueued {
		position := d.view.tasks.Position(t, countTo)
		p := d.makePlan(d.wishOf(t.Order()))
		task.Queue = &schemas.Queue{Position: position, EstimatedStartMS: d.estimate(t.Capability, p, position)}
	}
	return &task
}

// Wait is Task, but waits for the end, at most for wait.
func (d *Dispatcher) Wait(ctx context.Context, tenant, taskID string, wait time.Duration) (*schemas.Task, error) {
	if wait <= 0 {
		return d.Task(ctx, tenant, taskID)
	}
	if err := schemas.CheckTaskID(taskID); err != nil {
		return nil, err
	}
	ended, forget := d.view.wait(taskID)
	defer forget()
	task, err := d.watched(ctx, tenant, taskID)
	if err != nil || task.State.Terminal() {
		return task, err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case record := <-ended:
		ended := record.Task
		return &ended, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return d.Task(context.WithoutCancel(ctx), tenant, taskID)
}

// ListTasks is a page of the open tasks and of those that ended last, newest first by the time of submit.
func (d *Dispatcher) ListTasks(_ context.Context, tenant string, query schemas.TaskQuery) (*schemas.TaskPage, error) {
	size, err := pageSize(query)
	if err != nil {
		return nil, err
	}
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	page := newPage(size + 1)
	switch {
	case query.DeadLetter:
		page.addEnded(d.view.tasks.DeadLetters(), tenant, query)
		return page.done(size), nil
	case query.Callback == schemas.CallbackFailed:
		page.addEnded(d.view.tasks.Untold(), tenant, query)
		return page.done(size), nil
	}
	for t := range d.view.tasks.All() {
		if t.Tenant() == tenant && before(t.ID, query.PageToken) && !d.forgotten(t) {
			if task := d.viewNow(t); matches(query, &task) {
				page.add(&task)
			}
		}
	}
	ended := d.view.tasks.Ended()
	if query.Callback == schemas.CallbackWaiting {
		ended = d.view.tasks.Untold()
	}
	page.addEnded(ended, tenant, query)
	return page.done(size), nil
}

func pageSize(query schemas.TaskQuery) (int, error) {
	if query.PageToken != "" {
		if err := schemas.CheckTaskID(query.PageToken); err != nil {
			return 0, schemas.NewError(schemas.InvalidArgument, "BAD_PAGE_TOKEN", "this is not a page token: use next_page_token of the last page").
				With("field", "/page_token")
		}
	}
	switch {
	case query.PageSize == 0:
		return schemas.DefaultPageSize, nil
	case query.PageSize < 0 || query.PageSize > schemas.MaxPageSize:
		return 0, schemas.NewError(schemas.InvalidArgument, "BAD_PAGE_SIZE", "page_size is 1 to %d", schemas.MaxPageSize).
			With("field", "/page_size")
	}
	return query.PageSize, nil
}

// before reports whether a task comes on the pages after token: task ids sort by the time they were made.
func before(taskID, token string) bool { return token == "" || taskID < token }

func matches(q schemas.TaskQuery, t *schemas.Task) bool {
	return (q.State == "" || q.State == t.State) && (q.Capability == "" || q.Capability == t.Capability) &&
		(q.AgentID == "" || q.AgentID == t.AgentID) && (q.Callback == "" || t.Callback != nil && q.Callback == t.Callback.State)
}

// page keeps the newest tasks of many.
type page struct {
	limit int
	tasks []schemas.Task // newest first
}

func newPage(limit int) *page { return &page{limit: limit} }

func (p *page) addEnded(ended iter.Seq[*index.Ended], tenant string, query schemas.TaskQuery) {
	for e := range ended {
		if e.Tenant == tenant && before(e.Task.TaskID, query.PageToken) && matches(query, &e.Task) {
			p.add(&e.Task)
		}
	}
}

func (p *page) add(t *schemas.Task) {
	place, _ := slices.BinarySearchFunc(p.tasks, t.TaskID, func(other schemas.Task, id string) int {
		return strings.Compare(id, other.TaskID)
	})
	if place == p.limit {
		return
	}
	p.tasks = slices.Insert(p.tasks, place, *t)
	p.tasks = p.tasks[:min(len(p.tasks), p.limit)]
}

func (p *page) done(size int) *schemas.TaskPage {
	out := &schemas.TaskPage{Items: p.tasks}
	if len(p.tasks) > size {
		out.Items = p.tasks[:size]
		out.NextPageToken = out.Items[size-1].TaskID
	}
	if out.Items == nil {
		out.Items = []schemas.Task{}
	}
	return out
}

// Trace is a task's way through the house: from its record or message, and for a running task from its agent's receipts as well.
func (d *Dispatcher) Trace(ctx context.Context, tenant, id string) (*schemas.Trace, error) {
	taskID := id
	if schemas.CheckTaskID(id) != nil {
		if taskID = d.findTrace(tenant, id); taskID == "" {
			return nil, schemas.NewError(schemas.NotFound, schemas.ReasonUnknownTask, "no task with this trace_id is among the open and the last ended ones")
		}
	}
	entry, err := d.last(ctx, taskID)
	if err != nil {
		return nil, err
	}
	task, err := d.viewOf(tenant, taskID, entry)
	if err != nil {
		return nil, err
	}
	return &schemas.Trace{TraceID: task.TraceID, Task: *task, Hops: d.hops(ctx, entry)}, nil
}

// hops are all steps of a task, in order: each phase's message in the ledger has those that led to it, and a running task's agent
// tells its own with its receipts.
func (d *Dispatcher) hops(ctx context.Context, last broker.Entry) []schemas.Hop {
	var all []schemas.Hop
	for _, phase := range []schemas.Phase{schemas.PhaseScheduled, schemas.PhaseQueued, schemas.PhaseAssigned} {
		if entry, err := d.ledger.LastOfPhase(ctx, last.TaskID, phase); err == nil && phase != last.Phase {
			all = append(all, hopsOf(entry)...)
		}
	}
	all = append(all, hopsOf(last)...)
	all = append(all, schemas.Hop{Hop: schemas.HopStored, At: schemas.At(last.At), By: "broker"})
	d.view.mu.Lock()
	if c := d.view.contacts[last.TaskID]; c != nil {
		all = append(all, c.hops...)
	}
	d.view.mu.Unlock()
	return inOrder(all)
}

// inOrder are hops by their time, each once: a later phase's message repeats those of an earlier one. Of one millisecond there may be
// several, which differ in what they tell.
func inOrder(hops []schemas.Hop) []schemas.Hop {
	type known struct{ hop, by, at, detail string }
	seen := make(map[known]bool, len(hops))
	slices.SortStableFunc(hops, func(a, b schemas.Hop) int { return a.At.Compare(b.At.Time) })
	return slices.DeleteFunc(hops, func(h schemas.Hop) bool {
		key := known{h.Hop, h.By, h.At.String(), string(h.Detail)}
		repeated := seen[key]
		seen[key] = true
		return repeated
	})
}

func hopsOf(entry broker.Entry) []schemas.Hop {
	var body struct {
		Hops []schemas.Hop `json:"hops"`
	}
	if schemas.Decode(entry.Body, &body) != nil {
		return nil
	}
	return body.Hops
}

func (d *Dispatcher) findTrace(tenant, traceID string) string {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	for t := range d.view.tasks.All() {
		if t.TraceID == traceID && t.Tenant() == tenant {
			return t.ID
		}
	}
	for e := range d.view.tasks.Ended() {
		if e.Task.TraceID == traceID && e.Tenant == tenant {
			return e.Task.TaskID
		}
	}
	return ""
}
