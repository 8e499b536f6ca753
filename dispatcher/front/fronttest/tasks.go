package fronttest

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Submit accepts a task and does with it what the capability's script says. The same task_id again, or the same msg_id, is the same
// task.
func (h *House) Submit(_ context.Context, tenant string, message *schemas.ReachMessage) (*schemas.Task, error) {
	if err := h.enter("Submit"); err != nil {
		return nil, err
	}
	var t *held
	var script Script
	whole, err := h.unstaged(tenant, message)
	if err == nil {
		t, script, err = h.submit(tenant, whole)
	}
	if err != nil {
		h.mu.Unlock()
		return nil, err
	}
	tell := func() {}
	if !script.Hold && script.Error != nil {
		t.task.DeadLetter = script.Error.Reason == schemas.ReasonMayHaveExecuted
		tell = h.end(t, schemas.StateFailed, nil, script.Error)
	} else if !script.Hold {
		tell = h.end(t, schemas.StateCompleted, t.message.Payload, nil)
	}
	task := t.task
	h.mu.Unlock()
	tell()
	return &task, nil
}

// SubmitFrom is Submit.
func (h *House) SubmitFrom(ctx context.Context, tenant string, message *schemas.ReachMessage, payload io.ReadSeeker) (*schemas.Task, error) {
	whole := *message
	var err error
	if whole.Payload, err = readWhole(payload); err != nil {
		return nil, err
	}
	return h.Submit(ctx, tenant, &whole)
}

func (h *House) submit(tenant string, message *schemas.ReachMessage) (*held, Script, error) {
	capability := cmp.Or(message.Capability, message.Intent)
	script := h.scripts[capability]
	if h.capabilities[capability] == nil {
		return nil, script, schemas.NewError(schemas.NotFound, schemas.ReasonUnknownCapability, "no capability of that name")
	}
	if script.Refuse != nil {
		return nil, script, script.Refuse
	}
	key := tenant + "\x00" + message.MsgID
	if id, found := h.byKey[key]; found && message.MsgID != "" {
		return h.again(id, message, script)
	}
	if t := h.tasks[message.TaskID]; t != nil {
		return t, script, nil
	}
	t := h.accept(tenant, capability, message)
	h.byKey[key] = t.task.TaskID
	return t, script, nil
}

func (h *House) again(id string, message *schemas.ReachMessage, script Script) (*held, Script, error) {
	t := h.tasks[id]
	if !bytes.Equal(t.message.Payload, message.Payload) || t.message.Capability != message.Capability {
		return nil, script, schemas.NewError(schemas.AlreadyExists, schemas.ReasonKeyReused, "this msg_id came with another body")
	}
	return t, script, nil
}

func (h *House) accept(tenant, capability string, message *schemas.ReachMessage) *held {
	h.revision++
	t := &held{tenant: tenant, message: *message, task: schemas.Task{
		TaskID: cmp.Or(message.TaskID, schemas.NewTaskID()), MsgID: message.MsgID, Capability: capability,
		State: schemas.StateWorking, Phase: schemas.PhaseAssigned, AgentID: AgentID, Revision: h.revision,
		SubmittedAt: schemas.At(Now), ExpiresAt: schemas.At(Now.Add(24 * time.Hour)),
		RetryOf: message.RetryOf, TraceID: cmp.Or(message.TraceID, "4bf92f3577b34da6a3ce929d0e0e4736"),
	}}
	h.tasks[t.task.TaskID] = t
	return t
}

// Task is the task as it stands.
func (h *House) Task(_ context.Context, tenant, taskID string) (*schemas.Task, error) {
	if err := h.enter("Task"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	return h.look(tenant, taskID)
}

func (h *House) look(tenant, taskID string) (*schemas.Task, error) {
	t, err := h.find(tenant, taskID)
	if err != nil {
		return nil, err
	}
	task := t.task
	return &task, nil
}

// Wait returns when the task has ended, after wait, or when ctx ends.
func (h *House) Wait(ctx context.Context, tenant, taskID string, wait time.Duration) (*schemas.Task, error) {
	if err := h.enter("Wait"); err != nil {
		return nil, err
	}
	task, err := h.look(tenant, taskID)
	changed := h.changed
	h.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for err == nil && !task.State.Terminal() {
		select {
		case <-changed:
			h.mu.Lock()
			task, err = h.look(tenant, taskID)
			changed = h.changed
			h.mu.Unlock()
		case <-timer.C:
			return task, nil
		case <-ctx.Done():
			return nil, schemas.NewError(schemas.Cancelled, "", "the caller left")
		}
	}
	return task, err
}

// Cancel ends a task that has not ended.
func (h *House) Cancel(_ context.Context, tenant, taskID string) (*schemas.Task, error) {
	if err := h.enter("Cancel"); err != nil {
		return nil, err
	}
	t, err := h.find(tenant, taskID)
	if err != nil {
		h.mu.Unlock()
		return nil, err
	}
	won := !t.task.State.Terminal()
	tell := h.end(t, schemas.StateCanceled, nil, schemas.NewError(schemas.Cancelled, schemas.ReasonCanceled, "canceled by the caller"))
	task := t.task
	task.Cancel = &schemas.Cancel{Won: won}
	h.mu.Unlock()
	tell()
	return &task, nil
}

// Retry makes a new task of an ended one.
func (h *House) Retry(ctx context.Context, tenant, taskID string) (*schemas.Task, error) {
	if err := h.enter("Retry"); err != nil {
		return nil, err
	}
	t, err := h.find(tenant, taskID)
	if err == nil && !t.task.State.Terminal() {
		err = schemas.NewError(schemas.FailedPrecondition, "NOT_ENDED", "the task has not ended")
	}
	if err != nil {
		h.mu.Unlock()
		return nil, err
	}
	capability, known := t.task.Capability, t.task.RetriedAs
	h.mu.Unlock()
	if known != "" {
		return h.Task(ctx, tenant, known)
	}
	task, err := h.Submit(ctx, tenant, &schemas.ReachMessage{Capability: capability, RetryOf: taskID})
	if err == nil {
		h.mu.Lock()
		t.task.RetriedAs = task.TaskID
		h.mu.Unlock()
	}
	return task, err
}

// Purge takes a task out of the dead letters.
func (h *House) Purge(_ context.Context, tenant, taskID string) (*schemas.Task, error) {
	if err := h.enter("Purge"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	t, err := h.find(tenant, taskID)
	if err != nil {
		return nil, err
	}
	if !t.task.DeadLetter {
		return nil, schemas.NewError(schemas.NotFound, schemas.ReasonNoDeadLetter, "this task is not among the dead letters")
	}
	t.task.DeadLetter = false
	task := t.task
	return &task, nil
}

// Redeliver has the callback of a task that has ended wait again.
func (h *House) Redeliver(_ context.Context, tenant, taskID string) (*schemas.Task, error) {
	if err := h.enter("Redeliver"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	t, err := h.find(tenant, taskID)
	if err != nil {
		return nil, err
	}
	if t.message.Callback == "" {
		return nil, schemas.NewError(schemas.FailedPrecondition, "NO_CALLBACK", "the task was submitted without a callback")
	}
	t.task.Callback = &schemas.Callback{State: schemas.CallbackWaiting, URL: t.message.Callback}
	task := t.task
	return &task, nil
}

// ListTasks is one page; the token is the last task_id of the page before.
func (h *House) ListTasks(_ context.Context, tenant string, query schemas.TaskQuery) (*schemas.TaskPage, error) {
	if err := h.enter("ListTasks"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	page := &schemas.TaskPage{Items: []schemas.Task{}}
	size := cmp.Or(query.PageSize, schemas.DefaultPageSize)
	for _, task := range h.newestFirst(tenant) {
		if !selects(query, task) || query.PageToken != "" && task.TaskID >= query.PageToken {
			continue
		}
		if len(page.Items) == size {
			page.NextPageToken = page.Items[size-1].TaskID
			break
		}
		page.Items = append(page.Items, task)
	}
	return page, nil
}

func (h *House) newestFirst(tenant string) []schemas.Task {
	var tasks []schemas.Task
	for _, t := range h.tasks {
		if t.tenant == tenant {
			tasks = append(tasks, t.task)
		}
	}
	slices.SortFunc(tasks, func(a, b schemas.Task) int { return cmp.Compare(b.TaskID, a.TaskID) })
	return tasks
}

func selects(q schemas.TaskQuery, t schemas.Task) bool {
	return cmp.Or(q.State, t.State) == t.State && cmp.Or(q.Capability, t.Capability) == t.Capability &&
		cmp.Or(q.AgentID, t.AgentID) == t.AgentID && (t.DeadLetter || !q.DeadLetter)
}

// Trace is the task with the hop of its submission, by either id.
func (h *House) Trace(_ context.Context, tenant, id string) (*schemas.Trace, error) {
	if err := h.enter("Trace"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	for _, task := range h.newestFirst(tenant) {
		if task.TaskID == id || task.TraceID == id {
			hop := schemas.Hop{Hop: schemas.HopSubmitted, At: task.SubmittedAt, By: "dispatcher-7f3a"}
			return &schemas.Trace{TraceID: task.TraceID, Task: task, Hops: []schemas.Hop{hop}}, nil
		}
	}
	return nil, schemas.NewError(schemas.NotFound, schemas.ReasonUnknownTask, "no task or trace has this id")
}

// loudPatience is what the route says for messages that say nothing of how long their caller waits.
const loudPatience = 20 * time.Millisecond

// Patience is that of the route, for what is loud.
func (h *House) Patience(_ context.Context, _ string, message *schemas.ReachMessage) time.Duration {
	if slices.Contains(message.Tags, "loud") {
		return loudPatience
	}
	return 0
}

// ListRoutes is one route.
func (h *House) ListRoutes(context.Context) (*schemas.RoutePage, error) {
	if err := h.enter("ListRoutes"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	return &schemas.RoutePage{Items: []schemas.Route{{
		Name: "loud", Match: schemas.RouteMatch{Intent: "say it", RequiredTags: []string{"loud"}},
		Target: schemas.RouteTarget{
			Capability: "echo", Strategy: "sticky", Split: []schemas.RouteSplit{{Version: "2.x", Percent: 10}},
		},
		Fallback: &schemas.RouteFallback{Capability: "hold"},
		Timeouts: schemas.RouteTimeouts{TimeoutMS: loudPatience.Milliseconds()},
	}}}, nil
}

// Explain names the capability, and nobody who could do it.
func (h *House) Explain(_ context.Context, _ string, message *schemas.ReachMessage) (*schemas.Explanation, error) {
	if err := h.enter("Explain"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	return &schemas.Explanation{
		Capability: message.Capability, Rule: "capability", Strategy: "score", Candidates: []schemas.ExplainedCandidate{}, LeftOut: []schemas.LeftOut{},
	}, nil
}
