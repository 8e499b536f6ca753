package httpfront

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/agentreach/agent-reach/schemas"
)

// operation is one row of the OpenAPI document: what a route is for, and all that it may answer.
type operation struct {
	id, method, path string
	tag              string
	summary, text    string
	body             *content // what it takes; nil: nothing
	success          []success
	short            bool  // its errors are short as well
	streams          bool  // it may answer 200 with a stream of events
	errors           []int // beside those of every operation
}

// content is a body: its type, and the name of an example.
type content struct {
	of      reflect.Type
	example string
}

// success is an answer that is no error.
type success struct {
	status  int
	text    string
	content *content // nil: no body
}

// The tags, in the order of the page.
const (
	tagTasks        = "Tasks"
	tagAgents       = "Agents"
	tagWork         = "Work"
	tagShort        = "Short forms"
	tagCapabilities = "Capabilities"
	tagRoutes       = "Routes"
	tagSchedules    = "Schedules"
	tagHealth       = "Health"
)

func of[T any](example string) *content { return &content{reflect.TypeFor[T](), example} }

// Errors that come in groups: of what takes a body, of what names something, of what is asked of an agent.
var (
	bodyErrors = []int{
		http.StatusBadRequest, http.StatusForbidden, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType,
	}
	submitErrors = append([]int{
		http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
		http.StatusGatewayTimeout,
	}, bodyErrors...)
	reachErrors = append([]int{
		http.StatusUnauthorized, http.StatusGone, statusClientClosed, http.StatusNotImplemented, http.StatusBadGateway,
	}, submitErrors...)
	resultErrors = []int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict,
		http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusTooManyRequests, statusClientClosed,
		http.StatusNotImplemented, http.StatusBadGateway, http.StatusGatewayTimeout,
	}
	rangeErrors    = []int{http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable}
	lookErrors     = []int{http.StatusBadRequest, http.StatusNotFound}
	taskErrors     = append([]int{http.StatusGone}, lookErrors...)
	cancelErrors   = append([]int{http.StatusForbidden, http.StatusUnsupportedMediaType}, taskErrors...)
	workErrors     = append([]int{http.StatusNotFound, http.StatusTooManyRequests, http.StatusNotImplemented, statusClientClosed}, bodyErrors...)
	taskWorkErrors = append([]int{http.StatusConflict}, workErrors...)
	agentErrors    = append([]int{http.StatusForbidden, http.StatusUnsupportedMediaType}, lookErrors...)
)

// commonErrors are of every operation.
var commonErrors = []int{http.StatusInternalServerError, http.StatusServiceUnavailable}

const waitText = "A wait lasts at most 60 seconds; the answer is then the task as it is now. A caller that stops waiting does not " +
	"affect the task."

var operations = []operation{
	{
		id: "submitTask", method: http.MethodPost, path: "/v1/tasks", tag: tagTasks,
		summary: "Submit a task",
		text: "Answers as soon as the task is durable: 202 with the task, its Location, and Retry-After. With a wait " +
			"(`?wait=30s` or `Prefer: wait=30`) it answers 200 if the task ended in time, in whatever state. For 24 hours " +
			"the same `msg_id` (or `Idempotency-Key`) with the same body is the same task; with another body it is 422. " + waitText,
		body: of[schemas.ReachMessage]("message"),
		success: []success{
			{http.StatusAccepted, "Accepted: it is durable, and runs.", of[schemas.Task]("working")},
			{http.StatusOK, "It ended within the wait.", of[schemas.Task]("task")},
		},
		errors: submitErrors,
	},
	{
		id: "reach", method: http.MethodPost, path: "/v1/reach", tag: tagTasks,
		summary: "Submit a task and wait for its result",
		text: "Waits as long as `?wait=`, `Prefer: wait=` or `timeout_ms` say; else as its route says; else twice the latency that " +
			"the agent declares, at least a second; else 60 seconds. A failed task answers with the status of its error, and its `task_id`. " +
			"With `response_mode` `stream` it answers at once with the events of `/v1/tasks/{id}/events`. " + waitText,
		streams: true,
		body:    of[schemas.ReachMessage]("message"),
		success: []success{
			{http.StatusOK, "Completed.", of[schemas.Task]("task")},
			{http.StatusAccepted, "The wait ended first; the task runs on.", of[schemas.Task]("working")},
		},
		errors: reachErrors,
	},
	{
		id: "getTask", method: http.MethodGet, path: "/v1/tasks/{id}", tag: tagTasks,
		summary: "Get a task, or wait for its end",
		text: "200 for every task that exists, even a failed one. An id that is unknown, or another tenant's, is 404; an id " +
			"whose record has expired is 410. The ETag is the task's revision. " + waitText,
		success: []success{
			{http.StatusOK, "The task.", of[schemas.Task]("task")},
			{http.StatusNotModified, "The task has not changed since the ETag in `If-None-Match`.", nil},
		},
		errors: taskErrors,
	},
	{
		id: "getResult", method: http.MethodGet, path: "/v1/tasks/{id}/result", tag: tagTasks,
		summary: "Get only the result of a task",
		text: "The result alone, however large, whole or in ranges (`Range: bytes=…`; 416 if there are no such bytes). A task " +
			"that ended without a result answers with its error, and a task that has not ended with 400. " + waitText,
		success: []success{
			{http.StatusOK, "The result.", of[schemas.Payload]("")},
			{http.StatusPartialContent, "The requested bytes.", nil},
			{http.StatusNotModified, "The result has not changed since the ETag in `If-None-Match`.", nil},
		},
		errors: slices.Concat([]int{http.StatusGone}, rangeErrors, resultErrors),
	},
	{
		id: "followTask", method: http.MethodGet, path: "/v1/tasks/{id}/events", tag: tagTasks,
		summary: "Follow a task with server-sent events",
		text: "Events: `state` when the task moves, `chunk` for each piece of the result, `progress`, `notice`, and `done` " +
			"with the ended task, after which the stream closes. The id of a chunk event is the chunk's number: with it as " +
			"`Last-Event-ID` the stream continues with the next chunk. The notice `restarted` says that another attempt has " +
			"begun and the chunks before no longer count. After `mode_changed` (the reader is much slower than the agent) " +
			"and `gap` (the reader came too late) there are no more chunks; `done` still has the whole result. A comment " +
			"every 15 seconds shows that the stream is alive. After the end, `done` comes at once. A reader that leaves does " +
			"not affect the task.",
		streams: true,
		success: []success{
			{http.StatusOK, "The events.", nil},
			{http.StatusNoContent, "The caller already has the last event (`Last-Event-ID: end`); nothing more will come.", nil},
		},
		errors: taskErrors,
	},
	{
		id: "listTasks", method: http.MethodGet, path: "/v1/tasks", tag: tagTasks,
		summary: "List tasks",
		text: "A page of tasks, newest first: the open ones, and those that ended lately. An item is the task without its " +
			"result and its place in a queue; get the task itself for both.",
		success: []success{{http.StatusOK, "A page.", of[schemas.TaskPage]("")}},
		errors:  []int{http.StatusBadRequest},
	},
	{
		id: "cancelTask", method: http.MethodPost, path: "/v1/tasks/{id}:cancel", tag: tagTasks,
		summary: "Cancel a task",
		text: "Cancels a task that has not ended. If no agent has begun it, it ends at once; else its agent is told to stop, " +
			"and `cancel.confirmed` says whether the agent confirmed. If the task has already ended, `cancel.won` is false " +
			"and nothing changes.",
		success: []success{{http.StatusOK, "The task.", of[schemas.Task]("canceled")}},
		errors:  cancelErrors,
	},
	{
		id: "deleteTask", method: http.MethodDelete, path: "/v1/tasks/{id}", tag: tagTasks,
		summary: "Cancel a task", text: "The same as `:cancel`. The record stays until its `kept_until`.",
		success: []success{{http.StatusOK, "The task.", of[schemas.Task]("canceled")}},
		errors:  cancelErrors,
	},
	{
		id: "retryTask", method: http.MethodPost, path: "/v1/tasks/{id}:retry", tag: tagTasks,
		summary: "Run an ended task again",
		text: "The new task has `retry_of`, the old one gets `retried_as`. A second retry returns the same new task. A task " +
			"that may have executed is only run again by a request like this one.",
		success: []success{{http.StatusAccepted, "The new task.", of[schemas.Task]("working")}},
		errors:  append([]int{http.StatusTooManyRequests}, cancelErrors...),
	},
	{
		id: "purgeTask", method: http.MethodPost, path: "/v1/tasks/{id}:purge", tag: tagTasks,
		summary: "Remove a task from the dead letters", text: "Its record stays until its `kept_until`; its payload is no longer kept for a retry. A task that is not a dead " +
			"letter is 404, with the reason NO_DEAD_LETTER.",
		success: []success{{http.StatusOK, "The task.", of[schemas.Task]("task")}},
		errors:  cancelErrors,
	},
	{
		id: "redeliverTask", method: http.MethodPost, path: "/v1/tasks/{id}:redeliver", tag: tagTasks,
		summary: "Repeat a task's callback",
		text: "At once, and with the full number of attempts, whether it has failed or was delivered. The `webhook-id` stays " +
			"the same, so a receiver can recognise a message that it already has.",
		success: []success{{http.StatusOK, "The task, with its callback waiting.", of[schemas.Task]("task")}},
		errors:  cancelErrors,
	},
	{
		id: "getTrace", method: http.MethodGet, path: "/v1/traces/{id}", tag: tagTasks,
		summary: "Get the hops of a task", text: "By `task_id` or by `trace_id`.",
		success: []success{{http.StatusOK, "The task and its hops, in order.", of[schemas.Trace]("")}},
		errors:  taskErrors,
	},
	{
		id: "registerAgent", method: http.MethodPost, path: "/v1/agents", tag: tagAgents,
		summary: "Register an agent",
		text: "Declares what an agent is and can do. A capability that the dictionary does not know is refused, with the " +
			"nearest one that it knows. An `agent_id` belongs to one process at a time.",
		body:    of[schemas.Registration]("registration"),
		success: []success{{http.StatusOK, "Registered.", of[schemas.Registered]("registered")}},
		errors:  append([]int{http.StatusConflict, http.StatusTooManyRequests}, bodyErrors...),
	},
	{
		id: "listAgents", method: http.MethodGet, path: "/v1/agents", tag: tagAgents,
		summary: "List agents", text: "A page of the registered agents by id, with the state of each.",
		success: []success{{http.StatusOK, "A page.", of[schemas.AgentPage]("")}},
		errors:  []int{http.StatusBadRequest},
	},
	{
		id: "getAgent", method: http.MethodGet, path: "/v1/agents/{id}", tag: tagAgents,
		summary: "Get an agent", text: "Its state, and what it declared.",
		success: []success{{http.StatusOK, "The agent.", of[schemas.Agent]("")}},
		errors:  lookErrors,
	},
	{
		id: "drainAgent", method: http.MethodPost, path: "/v1/agents/{id}:drain", tag: tagAgents,
		summary: "Drain an agent", text: "It finishes what it has and gets nothing new.",
		success: []success{{http.StatusOK, "The agent.", of[schemas.Agent]("")}},
		errors:  agentErrors,
	},
	{
		id: "resumeAgent", method: http.MethodPost, path: "/v1/agents/{id}:resume", tag: tagAgents,
		summary: "Resume an agent", text: "Ends the drain.",
		success: []success{{http.StatusOK, "The agent.", of[schemas.Agent]("")}},
		errors:  agentErrors,
	},
	{
		id: "removeAgent", method: http.MethodDelete, path: "/v1/agents/{id}", tag: tagAgents,
		summary: "Remove an agent",
		text: "Removes an agent that is offline, or one that registered its own address and is not well, and returns it as it " +
			"was. Any other agent is refused with FAILED_PRECONDITION: stop its worker first.",
		success: []success{{http.StatusOK, "The agent, as it was.", of[schemas.Agent]("")}},
		errors:  agentErrors,
	},
	{
		id: "claimTasks", method: http.MethodPost, path: "/v1/agents/{id}/claims", tag: tagWork,
		summary: "Claim tasks",
		text: "For an agent that has only HTTPS. Returns its tasks as soon as there is one, or nothing when the wait ends " +
			"(`?wait=30s` by default). Every request about a task must name the token that came with it. A task with side " +
			"effects is begun by the claim. `held`, if present, names all tasks that the agent has: a task that it does not " +
			"name was lost on its way and is sent again, and an older claim ends. A repeat with the same `claim_id` gets the " +
			"same answer. `stop` names tasks that the agent must stop.",
		body:    of[schemas.Claim]("claim"),
		success: []success{{http.StatusOK, "The tasks, or none.", of[schemas.Claimed]("")}},
		errors:  workErrors,
	},
	{
		id: "heartbeat", method: http.MethodPost, path: "/v1/agents/{id}/heartbeat", tag: tagWork,
		summary: "Say that an agent is alive",
		text: "Every 15 seconds while no claim is open; after 45 seconds of silence the agent is offline. `capabilities` are " +
			"those that it can serve now, all if absent. `state` `offline` is a goodbye.",
		body:    of[schemas.Heartbeat]("heartbeat"),
		success: []success{{http.StatusOK, "Heard.", of[schemas.Heard]("")}},
		errors:  workErrors,
	},
	{
		id: "postReceipt", method: http.MethodPost, path: "/v1/tasks/{id}/receipts", tag: tagWork,
		summary: "Say that an agent works on a task", text: "It may report progress. The header `Reach-Token` names the task's token.",
		body:    of[schemas.Receipt]("receipt"),
		success: []success{{http.StatusOK, "Heard.", of[schemas.Heard]("")}},
		errors:  workErrors,
	},
	{
		id: "getPayload", method: http.MethodGet, path: "/v1/tasks/{id}/payload", tag: tagWork,
		summary: "Get the payload of a task",
		text: "For an agent that registered with `large_bodies`: a payload above 1 MiB comes as `payload_ref` in the message, " +
			"and is fetched here, whole or in ranges. The header `Reach-Token` names the task's token.",
		success: []success{
			{http.StatusOK, "The payload.", of[schemas.Payload]("")},
			{http.StatusPartialContent, "A range of it.", nil},
		},
		errors: slices.Concat(rangeErrors, taskWorkErrors),
	},
	{
		id: "postChunk", method: http.MethodPost, path: "/v1/tasks/{id}/chunks", tag: tagWork,
		summary: "Send a chunk of a result",
		text: "`n` counts from 1 within the attempt. A repeated chunk is recognised. A chunk after a gap is 400, with the next " +
			"number. While the readers are a whole window behind, the answer waits, and is then 429: send the same chunk " +
			"again. The result that follows must be complete.",
		body:    of[schemas.Chunk]("chunk"),
		success: []success{{http.StatusOK, "Accepted, up to `ack`.", of[schemas.Heard]("")}},
		errors:  taskWorkErrors,
	},
	{
		id: "postResult", method: http.MethodPost, path: "/v1/tasks/{id}/result", tag: tagWork,
		summary: "Send a result",
		text: "`result`, or `error` with a `code`. Repeat it until it is answered: repeats are recognised. An `error` in the " +
			"answer says why the result counts as a failure nevertheless. 409 says that the task is no longer the agent's: " +
			"forget it.",
		body:    of[schemas.Result]("result"),
		success: []success{{http.StatusOK, "Stored, by this request or an earlier one.", of[schemas.Answer]("")}},
		errors:  taskWorkErrors,
	},
	{
		id: "releaseTask", method: http.MethodPost, path: "/v1/tasks/{id}/release", tag: tagWork,
		summary: "Give a task back", text: "Only a task that has not begun. Another agent may get it.",
		body:    of[schemas.Release]("release"),
		success: []success{{http.StatusOK, "Given back.", of[schemas.Answer]("")}},
		errors:  taskWorkErrors,
	},
	{
		id: "shortRegister", method: http.MethodPost, path: "/register", tag: tagShort, short: true,
		summary: "Register an endpoint",
		text: "For an agent that answers POST at its address and has no worker beside it. A worker that adopts such agents, " +
			"like the one in `reach up`, drives it from then on, while its health check is well or, without one, something " +
			"listens at its address. An address that ends in `/execute` gets `{capability, payload, token, request_id}`.",
		body:    of[EndpointCard]("endpoint"),
		success: []success{{http.StatusOK, "Registered.", of[ShortAnswer]("")}},
		errors:  append([]int{http.StatusConflict, http.StatusTooManyRequests}, bodyErrors...),
	},
	{
		id: "shortHeartbeat", method: http.MethodPost, path: "/heartbeat", tag: tagShort, short: true,
		summary: "Say that an endpoint is alive",
		text: "Optional. Once an endpoint has started to send heartbeats, it gets no tasks after 45 seconds of silence until " +
			"it is heard again. `capabilities` are those that it can serve now.",
		body:    of[EndpointBeat]("beat"),
		success: []success{{http.StatusOK, "Heard.", of[ShortAnswer]("")}},
		errors:  append([]int{http.StatusNotFound, http.StatusNotImplemented}, bodyErrors...),
	},
	{
		id: "shortInvoke", method: http.MethodPost, path: "/invoke", tag: tagShort, short: true,
		summary: "Invoke a capability and wait for its result",
		text: "The short form of `/v1/reach`: `data` is the result, `endpoint` the agent that made it. If the wait ends first, " +
			"`status` is `working` and the task runs on.",
		body: of[Invocation]("invocation"),
		success: []success{
			{http.StatusOK, "Done.", of[ShortAnswer]("")},
			{http.StatusAccepted, "The wait ended first; the task runs on.", of[ShortAnswer]("")},
		},
		errors: reachErrors,
	},
	{
		id: "listCapabilities", method: http.MethodGet, path: "/v1/capabilities", tag: tagCapabilities,
		summary: "List capabilities", text: "The dictionary, which is the same on every device.",
		success: []success{{http.StatusOK, "The capabilities.", of[schemas.CapabilityPage]("")}},
	},
	{
		id: "addCapability", method: http.MethodPost, path: "/v1/capabilities", tag: tagCapabilities,
		summary: "Add a capability",
		text: "Adds an entry to the dictionary. Without `replace` it only creates. A schema that does not compile, or that " +
			"refers to anything outside itself, is refused with its JSON pointer.",
		body: of[schemas.AddCapability]("capability"),
		success: []success{
			{http.StatusCreated, "Stored.", of[schemas.Capability]("")},
			{http.StatusOK, "Stored, where `replace` was set.", of[schemas.Capability]("")},
		},
		errors: append([]int{http.StatusConflict}, bodyErrors...),
	},
	{
		id: "getCapability", method: http.MethodGet, path: "/v1/capabilities/{id}", tag: tagCapabilities,
		summary: "Get a capability", text: "Its description, its schemas, and its declared properties.",
		success: []success{{http.StatusOK, "The capability.", of[schemas.Capability]("")}},
		errors:  lookErrors,
	},
	{
		id: "listRoutes", method: http.MethodGet, path: "/v1/routes", tag: tagRoutes,
		summary: "List routes", text: "The routes, in the order in which they are tried.",
		success: []success{{http.StatusOK, "The routes.", of[schemas.RoutePage]("")}},
	},
	{
		id: "addSchedule", method: http.MethodPost, path: "/v1/schedules", tag: tagSchedules,
		summary: "Add a schedule",
		text: "A recurring task: `cron` and `time_zone` say when, `message` says what is submitted each time. Without " +
			"`replace` it only creates. The message must be one that could be submitted now; no agent needs to be online.",
		body: of[schemas.AddSchedule]("schedule"),
		success: []success{
			{http.StatusCreated, "Stored.", of[schemas.Schedule]("")},
			{http.StatusOK, "Stored, where `replace` was set.", of[schemas.Schedule]("")},
		},
		errors: append([]int{http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests}, bodyErrors...),
	},
	{
		id: "listSchedules", method: http.MethodGet, path: "/v1/schedules", tag: tagSchedules,
		summary: "List schedules", text: "By name, without their payloads.",
		success: []success{{http.StatusOK, "A page.", of[schemas.SchedulePage]("")}},
		errors:  []int{http.StatusBadRequest},
	},
	{
		id: "getSchedule", method: http.MethodGet, path: "/v1/schedules/{name}", tag: tagSchedules,
		summary: "Get a schedule", text: "Its next due time, its last task, and why that could not be submitted, if so.",
		success: []success{{http.StatusOK, "The schedule.", of[schemas.Schedule]("")}},
		errors:  lookErrors,
	},
	{
		id: "pauseSchedule", method: http.MethodPost, path: "/v1/schedules/{name}:pause", tag: tagSchedules,
		summary: "Pause a schedule", text: "Stops the schedule until it is resumed. Tasks that it has already submitted go on.",
		success: []success{{http.StatusOK, "The schedule.", of[schemas.Schedule]("")}},
		errors:  agentErrors,
	},
	{
		id: "resumeSchedule", method: http.MethodPost, path: "/v1/schedules/{name}:resume", tag: tagSchedules,
		summary: "Resume a schedule", text: "Continues with the next due time; times during the pause are not made up for.",
		success: []success{{http.StatusOK, "The schedule.", of[schemas.Schedule]("")}},
		errors:  agentErrors,
	},
	{
		id: "deleteSchedule", method: http.MethodDelete, path: "/v1/schedules/{name}", tag: tagSchedules,
		summary: "Delete a schedule", text: "Returns the schedule as it was. Tasks that it has already submitted go on.",
		success: []success{{http.StatusOK, "The schedule.", of[schemas.Schedule]("")}},
		errors:  agentErrors,
	},
	{
		id: "explainRoute", method: http.MethodPost, path: "/v1/routes:explain", tag: tagRoutes,
		summary: "Explain where a message would go",
		text: "Takes a message as a submit does and makes the same decision, but submits nothing. Returns every agent of the " +
			"capability with its factors, or the reason why it was left out.",
		body:    of[schemas.ReachMessage]("message"),
		success: []success{{http.StatusOK, "The decision.", of[schemas.Explanation]("")}},
		errors:  append([]int{http.StatusNotFound}, bodyErrors...),
	},
	{
		id: "health", method: http.MethodGet, path: healthPath, tag: tagHealth,
		summary: "Is the process alive?", text: "Answers as long as the process runs.",
		success: []success{{http.StatusOK, "It is.", of[Health]("")}},
	},
	{
		id: "ready", method: http.MethodGet, path: "/readyz", tag: tagHealth,
		summary: "Can it accept tasks?", text: "503 while something that it needs is missing, such as the broker.",
		success: []success{{http.StatusOK, "It can.", of[Health]("")}},
	},
}
