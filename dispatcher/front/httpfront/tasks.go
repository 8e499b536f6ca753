package httpfront

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/danielgtaylor/huma/v2"
)

// JSON is a body as it came; package front reads it.
type JSON struct {
	RawBody []byte `contentType:"application/json"`
}

// TaskPath names a task in a path.
type TaskPath struct {
	ID string `path:"id" example:"01a226bf-4900-7b1e-9d54-0f6a3f1f8a10" doc:"The task_id."`
}

// submission is a task on its way in. Its headers fill in what the body leaves out.
type submission struct {
	Upload
	Patience
	Key
	Traceparent string `header:"traceparent" doc:"W3C trace context, if the body has none."`
}

// Key is the idempotency key of a caller that has it beside the body.
type Key struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"The msg_id, if the body has none: the same key is the same task. Must not be empty."`
}

// Resolve refuses a key that is there and empty, and two that differ.
func (k *Key) Resolve(ctx huma.Context) []error {
	var refused []error
	ctx.EachHeader(func(name, value string) {
		switch {
		case name != "Idempotency-Key" || refused != nil:
		case value == "":
			refused = []error{newProblem(schemas.AsError(schemas.CheckMsgID(value)).With("field", "/"+name))}
		case value != k.IdempotencyKey:
			refused = []error{newProblem(keysDiffer("there are two Idempotency-Keys; send one"))}
		}
	})
	return refused
}

func keysDiffer(message string) *schemas.Error {
	return schemas.NewError(schemas.InvalidArgument, reasonKeysDiffer, "%s", message).With("field", "/msg_id")
}

// TaskHeaders are those that fit where a Task stands.
type TaskHeaders struct {
	Location          string `header:"Location" doc:"The URL of the task."`
	RetryAfter        string `header:"Retry-After" doc:"Seconds until the next look is worthwhile."`
	ETag              string `header:"ETag" doc:"The task's revision."`
	CacheControl      string `header:"Cache-Control"`
	PreferenceApplied string `header:"Preference-Applied" doc:"The preference that was applied."`
}

// taskAnswer is a Task.
type taskAnswer struct {
	TaskHeaders
	Status int
	Body   *schemas.Task
}

func (s *server) taskRoutes() {
	addTask(s, s.operation("submitTask"), s.submitTask)
	add(s, s.operation("reach"), s.reach)
	addTask(s, s.operation("getTask"), s.getTask)
	add(s, s.operation("getResult"), s.getResult)
	add(s, s.operation("followTask"), s.followTask)
	add(s, s.operation("listTasks"), s.listTasks)
	addTask(s, s.operation("cancelTask"), s.onTask(s.Service.Cancel))
	addTask(s, s.operation("deleteTask"), s.onTask(s.Service.Cancel))
	addTask(s, s.operation("retryTask"), s.retryTask)
	addTask(s, s.operation("purgeTask"), s.onTask(s.Service.Purge))
	addTask(s, s.operation("redeliverTask"), s.onTask(s.Service.Redeliver))
	add(s, s.operation("getTrace"), s.getTrace)
}

// submitTask answers as soon as the task is durable, or, if the caller would wait, when it has ended.
func (s *server) submitTask(ctx context.Context, in *submission) (*taskAnswer, error) {
	_, task, err := s.submit(ctx, in, "")
	if err != nil {
		return nil, err
	}
	wait := in.orElse(0, s.WaitMax)
	task = s.settle(ctx, task, wait)
	if wait > 0 && task.State.Terminal() {
		return s.answer(http.StatusOK, task, &in.Patience), nil
	}
	return s.accepted(task, &in.Patience), nil
}

// reach submits and waits in one call, or streams what happens. A task that failed is an error here, and says which task it was.
func (s *server) reach(ctx context.Context, in *submission) (*spokenAnswer, error) {
	message, task, err := s.submit(ctx, in, schemas.ModeSync)
	if err != nil {
		return nil, err
	}
	if message.ResponseMode == schemas.ModeStream {
		return s.reachStream(ctx, task)
	}
	answer, err := s.reached(ctx, in, message, task)
	return s.speak(ctx, answer, err)
}

func (s *server) reachStream(ctx context.Context, task *schemas.Task) (*spokenAnswer, error) {
	events, err := s.Service.Follow(ctx, s.tenant(ctx), task.TaskID, 0)
	if err != nil {
		return nil, err
	}
	stream := s.stream(events, task.TaskID)
	return &spokenAnswer{TaskHeaders{Location: stream.Location}, stream.Body}, nil
}

// reached is a task that has just been submitted, as it ends within the wait.
func (s *server) reached(ctx context.Context, in *submission, message *schemas.ReachMessage, task *schemas.Task) (*taskAnswer, error) {
	task = s.settle(ctx, task, s.reachWait(ctx, in, message, task))
	switch {
	case task.State == schemas.StateCompleted:
		return s.answer(http.StatusOK, task, &in.Patience), nil
	case task.State.Terminal():
		return nil, taskProblem(task)
	}
	return s.accepted(task, &in.Patience), nil
}

// submit submits what came, in a response mode if it names none.
func (s *server) submit(ctx context.Context, in *submission, mode schemas.ResponseMode) (*schemas.ReachMessage, *schemas.Task, error) {
	defer in.release() // the wait that follows takes none
	message, payload, err := readUpload(&in.Upload, front.Message, front.LargeMessage)
	if err == nil {
		message, err = s.completed(in, message, payload)
	}
	if err != nil {
		return nil, nil, err
	}
	message.ResponseMode = cmp.Or(message.ResponseMode, mode)
	var task *schemas.Task
	if payload != nil {
		task, err = s.Service.SubmitFrom(ctx, s.tenant(ctx), message, payload)
	} else {
		task, err = s.Service.Submit(ctx, s.tenant(ctx), message)
	}
	return message, task, err
}

// completed is a message with what the headers say.
func (s *server) completed(in *submission, message *schemas.ReachMessage, payload *io.SectionReader) (*schemas.ReachMessage, error) {
	size := int64(len(message.Payload))
	if payload != nil {
		size = payload.Size()
	}
	if size > s.Limits.PayloadBytes {
		return nil, tooLarge("payload", s.Limits.PayloadBytes, size).With("field", "/payload")
	}
	message.ContinueTrace(in.Traceparent)
	if key := in.IdempotencyKey; key != "" {
		if message.MsgID != "" && message.MsgID != key {
			return nil, keysDiffer("Idempotency-Key and msg_id differ; send one of them")
		}
		message.MsgID = key
	}
	if problem := message.Check(); problem != nil { // the headers have to pass as well
		return nil, problem
	}
	return message, nil
}

// reachWait is how long a sync call waits: what the caller says; else what its route says; else twice what the agent says that it
// takes, and a second at least; else, where nobody knows, as long as can be.
func (s *server) reachWait(ctx context.Context, in *submission, message *schemas.ReachMessage, task *schemas.Task) time.Duration {
	switch {
	case in.asked != nil || task.State.Terminal():
		return in.orElse(0, s.WaitMax)
	case message.TimeoutMS > 0:
		return schemas.Duration(min(message.TimeoutMS, s.WaitMax.Milliseconds()))
	}
	if patience := s.Service.Patience(ctx, s.tenant(ctx), message); patience > 0 {
		return min(patience, s.WaitMax)
	}
	if latency := s.expectedLatency(ctx, task); latency > 0 {
		return min(max(time.Second, 2*latency), s.WaitMax)
	}
	return s.WaitMax
}

// expectedLatency is what the agent of a task declared; 0 if it said nothing, or if the task has no agent yet.
func (s *server) expectedLatency(ctx context.Context, task *schemas.Task) time.Duration {
	if task.AgentID == "" {
		return 0
	}
	agent, err := s.Service.Agent(ctx, task.AgentID)
	if err != nil {
		return 0
	}
	offer := agent.Registration.Offer(task.Capability)
	if offer == nil {
		return 0
	}
	return schemas.Duration(min(offer.ExpectedLatencyMS, s.WaitMax.Milliseconds()))
}

// settle waits for the end of a task that has just been accepted. If the wait itself fails, the task is none the worse for it.
func (s *server) settle(ctx context.Context, task *schemas.Task, wait time.Duration) *schemas.Task {
	if wait <= 0 || task.State.Terminal() {
		return task
	}
	if later, err := s.wait(ctx, task.TaskID, wait); err == nil {
		return later
	}
	return task
}

// answer is a task with its revision.
func (s *server) answer(status int, task *schemas.Task, p *Patience) *taskAnswer {
	headers := TaskHeaders{ETag: etag(task), CacheControl: "no-cache", PreferenceApplied: p.applied}
	return &taskAnswer{TaskHeaders: headers, Status: status, Body: task}
}

// accepted is a task that the caller will have to look for again.
func (s *server) accepted(task *schemas.Task, p *Patience) *taskAnswer {
	out := s.answer(http.StatusAccepted, task, p)
	out.Location = "/v1/tasks/" + task.TaskID
	if !task.State.Terminal() {
		var start time.Duration
		if task.Queue != nil {
			start = schemas.Duration(task.Queue.EstimatedStartMS)
		}
		out.RetryAfter = retryAfter(start)
	}
	return out
}

type lookup struct {
	TaskPath
	Patience
	IfNoneMatch string `header:"If-None-Match" doc:"304 if the task has not changed since this ETag."`
}

// getTask is the task as it stands, or as it ends within the wait.
func (s *server) getTask(ctx context.Context, in *lookup) (*taskAnswer, error) {
	if err := schemas.CheckTaskID(in.ID); err != nil {
		return nil, err
	}
	task, err := s.wait(ctx, in.ID, in.orElse(0, s.WaitMax))
	if err != nil {
		return nil, err
	}
	out := s.answer(http.StatusOK, task, &in.Patience)
	if matches(in.IfNoneMatch, out.ETag) {
		out.Status = http.StatusNotModified
	}
	return out, nil
}

// taskHandler is an operation that takes a task_id and answers with the task.
type taskHandler = func(context.Context, *TaskPath) (*taskAnswer, error)

func (s *server) onTask(do func(ctx context.Context, tenant, taskID string) (*schemas.Task, error)) taskHandler {
	return func(ctx context.Context, in *TaskPath) (*taskAnswer, error) {
		if err := schemas.CheckTaskID(in.ID); err != nil {
			return nil, err
		}
		task, err := do(ctx, s.tenant(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		return s.answer(http.StatusOK, task, &Patience{}), nil
	}
}

// retryTask runs an ended task again as a new one.
func (s *server) retryTask(ctx context.Context, in *TaskPath) (*taskAnswer, error) {
	if err := schemas.CheckTaskID(in.ID); err != nil {
		return nil, err
	}
	task, err := s.Service.Retry(ctx, s.tenant(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return s.accepted(task, &Patience{}), nil
}

// selection is what to list.
type selection struct {
	State      schemas.State         `query:"state" doc:"Only tasks in this state."`
	Capability string                `query:"capability" doc:"Only tasks of this capability." pattern:"^[a-z][a-z0-9_]{0,63}$"`
	AgentID    string                `query:"agent_id" doc:"Only tasks of this agent." pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"`
	DeadLetter bool                  `query:"dead_letter" doc:"Only dead letters: failed tasks that wait for a person."`
	Callback   schemas.CallbackState `query:"callback" doc:"Only tasks whose callback is in this state: waiting, delivered or failed."`
	PageSize   int                   `query:"page_size" doc:"Tasks per page; 50 if absent." minimum:"1" maximum:"100"`
	PageToken  string                `query:"page_token" doc:"The next_page_token of the page before." maxLength:"512"`
}

// listTasks is a page of tasks, newest first.
func (s *server) listTasks(ctx context.Context, in *selection) (*bodied[schemas.TaskPage], error) {
	query := schemas.TaskQuery{
		State: in.State, Capability: in.Capability, AgentID: in.AgentID, DeadLetter: in.DeadLetter, Callback: in.Callback,
		PageSize: in.PageSize, PageToken: in.PageToken,
	}
	if err := front.CheckTaskQuery(&query); err != nil {
		return nil, err
	}
	return answered(s.Service.ListTasks(ctx, s.tenant(ctx), query))
}

type tracePath struct {
	ID string `path:"id" example:"4bf92f3577b34da6a3ce929d0e0e4736" doc:"A task_id or a trace_id."`
}

// getTrace is a task's way through the house.
func (s *server) getTrace(ctx context.Context, in *tracePath) (*bodied[schemas.Trace], error) {
	if err := front.CheckTraceRef(in.ID); err != nil {
		return nil, err
	}
	return answered(s.Service.Trace(ctx, s.tenant(ctx), in.ID))
}

// etag is the revision as an entity tag; a task without one has none.
func etag(task *schemas.Task) string {
	if task.Revision == 0 {
		return ""
	}
	return strconv.Quote(strconv.FormatUint(task.Revision, 10))
}

// matches compares If-None-Match with a tag, weakly, as RFC 9110 has it.
func matches(header, tag string) bool {
	if tag == "" {
		return false
	}
	for _, candidate := range strings.Split(header, ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == tag || candidate == "*" {
			return true
		}
	}
	return false
}
