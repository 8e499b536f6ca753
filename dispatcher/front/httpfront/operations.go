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

const waitText = "A wait has a limit, usually 60 seconds, and the answer then is the task as it stands. Whoever stops waiting, or " +
	"goes away, changes nothing for the task."

var operations = []operation{
	{
		id: "submitTask", method: http.MethodPost, path: "/v1/tasks", tag: tagTasks,
		summary: "Submit a task",
		text: "Answers as soon as the task is durable: 202 with the task, its Location, and when to look again. With a wait " +
			"(`?wait=30s` or `Prefer: wait=30`) it answers 200 if the task ended in time, however it ended. The same `msg_id`, or " +
			"`Idempotency-Key`, with the same body is the same task for 24 hours; with another body it is 422. " + waitText,
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
		text: "One call for both. Waits as long as `?wait=`, `Prefer: wait=` or `timeout_ms` say, else twice the latency that the " +
			"agent declared, else as long as it may. A task that failed answers with the status of its error, and its `task_id`. " +
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
		summary: "Look at a task, or wait for its end",
		text: "200 for every task that exists, failed ones too. An id that is unknown, or another tenant's, is 404; one whose record " +
			"has been forgotten by its own time is 410. The ETag is the task's revision. " + waitText,
		success: []success{
			{http.StatusOK, "The task.", of[schemas.Task]("task")},
			{http.StatusNotModified, "The task is as the caller knows it.", nil},
		},
		errors: taskErrors,
	},
	{
		id: "getResult", method: http.MethodGet, path: "/v1/tasks/{id}/result", tag: tagTasks,
		summary: "Fetch the result of a task alone",
		text: "The bare result, however large, whole or in ranges (`Range: bytes=…`; 416 where it has no such bytes). A task that ended without one answers with its " +
			"error, and one that has not ended with 400. " + waitText,
		success: []success{
			{http.StatusOK, "The result.", of[schemas.Payload]("")},
			{http.StatusPartialContent, "The bytes that were asked for.", nil},
			{http.StatusNotModified, "The result is the one that the caller has (`If-None-Match`).", nil},
		},
		errors: slices.Concat([]int{http.StatusGone}, rangeErrors, resultErrors),
	},
	{
		id: "followTask", method: http.MethodGet, path: "/v1/tasks/{id}/events", tag: tagTasks,
		summary: "Follow a task as it happens",
		text: "A stream of server-sent events: `state` when the task moves, `chunk` for each piece of the result as its agent makes it, " +
			"`progress`, `notice`, and `done` with the task as it ended, after which the stream closes. The id of a chunk is its number: " +
			"whoever comes back with it as `Last-Event-ID` gets the next one. The notice `restarted` says that another attempt has " +
			"begun: what came before no longer counts. After `mode_changed`, for a reader that is much slower than the agent, and " +
			"`gap`, for one that comes too late, there are no more chunks, and `done` has the whole result all the same. A comment " +
			"every 15 seconds says that the stream is alive. Whoever comes after the end gets `done` at once. Whoever leaves changes " +
			"nothing for the task.",
		streams: true,
		success: []success{
			{http.StatusOK, "The events.", nil},
			{http.StatusNoContent, "The caller has had the last event (`Last-Event-ID: end`); there is nothing more to come.", nil},
		},
		errors: taskErrors,
	},
	{
		id: "listTasks", method: http.MethodGet, path: "/v1/tasks", tag: tagTasks,
		summary: "List tasks",
		text: "A page of tasks, newest first: the open ones, and those that ended lately. An item is the task without its result and " +
			"without its place in a queue, which a look at the task itself has.",
		success: []success{{http.StatusOK, "A page.", of[schemas.TaskPage]("")}},
		errors:  []int{http.StatusBadRequest},
	},
	{
		id: "cancelTask", method: http.MethodPost, path: "/v1/tasks/{id}:cancel", tag: tagTasks,
		summary: "Cancel a task",
		text: "Ends a task that has not ended: at once if no agent has begun it, else the agent is told, and `cancel.confirmed` says " +
			"whether it acknowledged. On a task that has ended `cancel.won` is false, and nothing changes.",
		success: []success{{http.StatusOK, "The task.", of[schemas.Task]("canceled")}},
		errors:  cancelErrors,
	},
	{
		id: "deleteTask", method: http.MethodDelete, path: "/v1/tasks/{id}", tag: tagTasks,
		summary: "Cancel a task", text: "The same as `:cancel`. The record stays until its own time.",
		success: []success{{http.StatusOK, "The task.", of[schemas.Task]("canceled")}},
		errors:  cancelErrors,
	},
	{
		id: "retryTask", method: http.MethodPost, path: "/v1/tasks/{id}:retry", tag: tagTasks,
		summary: "Run an ended task again",
		text: "As a new task, which says whose retry it is (`retry_of`), while the old one says `retried_as`. Retrying twice gives " +
			"the same new task. A task that may have executed is run again by nobody but a person who asks for it here.",
		success: []success{{http.StatusAccepted, "The new task.", of[schemas.Task]("working")}},
		errors:  append([]int{http.StatusTooManyRequests}, cancelErrors...),
	},
	{
		id: "purgeTask", method: http.MethodPost, path: "/v1/tasks/{id}:purge", tag: tagTasks,
		summary: "Take a task out of the dead letters", text: "Its record stays until its own time; its payload is no longer kept for a retry. " +
			"Of a task that is not among the dead letters it is 404, with the reason NO_DEAD_LETTER.",
		success: []success{{http.StatusOK, "The task.", of[schemas.Task]("task")}},
		errors:  cancelErrors,
	},
	{
		id: "redeliverTask", method: http.MethodPost, path: "/v1/tasks/{id}:redeliver", tag: tagTasks,
		summary: "Make a task's callback again",
		text: "At once, and with all its attempts, whether it has failed or was delivered. The `webhook-id` stays the same, so that a " +
			"receiver can tell that it has it already.",
		success: []success{{http.StatusOK, "The task; its callback waits.", of[schemas.Task]("task")}},
		errors:  cancelErrors,
	},
	{
		id: "getTrace", method: http.MethodGet, path: "/v1/traces/{id}", tag: tagTasks,
		summary: "Follow a task, hop by hop", text: "By `task_id` or by `trace_id`.",
		success: []success{{http.StatusOK, "The task and its hops, in order.", of[schemas.Trace]("")}},
		errors:  taskErrors,
	},
	{
		id: "registerAgent", method: http.MethodPost, path: "/v1/agents", tag: tagAgents,
		summary: "Register an agent",
		text: "Says what an agent is and can do. A capability that the dictionary does not know is refused with the nearest that it " +
			"knows. An `agent_id` belongs to one process at a time.",
		body:    of[schemas.Registration]("registration"),
		success: []success{{http.StatusOK, "Registered.", of[schemas.Registered]("registered")}},
		errors:  append([]int{http.StatusConflict, http.StatusTooManyRequests}, bodyErrors...),
	},
	{
		id: "listAgents", method: http.MethodGet, path: "/v1/agents", tag: tagAgents,
		summary: "List agents", text: "A page of the agents that have registered, by id, and where each stands.",
		success: []success{{http.StatusOK, "A page.", of[schemas.AgentPage]("")}},
		errors:  []int{http.StatusBadRequest},
	},
	{
		id: "getAgent", method: http.MethodGet, path: "/v1/agents/{id}", tag: tagAgents,
		summary: "Look at an agent", text: "Where it stands, and what it declared.",
		success: []success{{http.StatusOK, "The agent.", of[schemas.Agent]("")}},
		errors:  lookErrors,
	},
	{
		id: "drainAgent", method: http.MethodPost, path: "/v1/agents/{id}:drain", tag: tagAgents,
		summary: "Drain an agent", text: "It finishes what it has and is given nothing new.",
		success: []success{{http.StatusOK, "The agent.", of[schemas.Agent]("")}},
		errors:  agentErrors,
	},
	{
		id: "resumeAgent", method: http.MethodPost, path: "/v1/agents/{id}:resume", tag: tagAgents,
		summary: "Resume an agent", text: "Ends a drain.",
		success: []success{{http.StatusOK, "The agent.", of[schemas.Agent]("")}},
		errors:  agentErrors,
	},
	{
		id: "removeAgent", method: http.MethodDelete, path: "/v1/agents/{id}", tag: tagAgents,
		summary: "Remove an agent",
		text: "Forgets an agent that is offline, or that posted itself and is not well, and answers with it as it was. One that is " +
			"there is refused with FAILED_PRECONDITION: its worker is to be stopped first.",
		success: []success{{http.StatusOK, "The agent, as it was.", of[schemas.Agent]("")}},
		errors:  agentErrors,
	},
	{
		id: "claimTasks", method: http.MethodPost, path: "/v1/agents/{id}/claims", tag: tagWork,
		summary: "Claim tasks",
		text: "For an agent that has nothing but HTTPS: gives it its tasks as soon as there is one, each with the token that all it " +
			"says of the task has to name; or, after the wait (`?wait=30s` where there is none), nothing. What has side effects is begun " +
			"by the claim. Where `held` is there, it is all that the agent has: what it does not name was lost on its way and comes again, " +
			"and an older claim ends. The same `claim_id` again brings the same answer. `stop` names what the agent is to stop.",
		body:    of[schemas.Claim]("claim"),
		success: []success{{http.StatusOK, "The tasks, or none.", of[schemas.Claimed]("")}},
		errors:  workErrors,
	},
	{
		id: "heartbeat", method: http.MethodPost, path: "/v1/agents/{id}/heartbeat", tag: tagWork,
		summary: "Say that an agent lives",
		text: "Every 15 seconds or so while no claim is open: 45 seconds of silence make it offline. `capabilities` are those that it can " +
			"serve now, all where they are absent. With `state` `offline` it says goodbye.",
		body:    of[schemas.Heartbeat]("heartbeat"),
		success: []success{{http.StatusOK, "Heard.", of[schemas.Heard]("")}},
		errors:  workErrors,
	},
	{
		id: "postReceipt", method: http.MethodPost, path: "/v1/tasks/{id}/receipts", tag: tagWork,
		summary: "Say that an agent works on a task", text: "And how far it is. The header `Reach-Token` names the task's token.",
		body:    of[schemas.Receipt]("receipt"),
		success: []success{{http.StatusOK, "Heard.", of[schemas.Heard]("")}},
		errors:  workErrors,
	},
	{
		id: "getPayload", method: http.MethodGet, path: "/v1/tasks/{id}/payload", tag: tagWork,
		summary: "Fetch the payload of a task",
		text: "For an agent that has said `large_bodies`: what is larger than a MiB comes as `payload_ref` in the message, and is fetched here, " +
			"whole or in ranges. The header `Reach-Token` names the task's token.",
		success: []success{
			{http.StatusOK, "The payload.", of[schemas.Payload]("")},
			{http.StatusPartialContent, "A range of it.", nil},
		},
		errors: slices.Concat(rangeErrors, taskWorkErrors),
	},
	{
		id: "postChunk", method: http.MethodPost, path: "/v1/tasks/{id}/chunks", tag: tagWork,
		summary: "Pass on a piece of a result",
		text: "`n` counts from 1 within the attempt. A chunk that came before is taken as it is known; one after a gap is 400, with the number " +
			"that comes next. While the readers are behind by a whole window the answer waits, and is then 429: send the same again. " +
			"The result that follows is the whole one.",
		body:    of[schemas.Chunk]("chunk"),
		success: []success{{http.StatusOK, "Taken, up to `ack`.", of[schemas.Heard]("")}},
		errors:  taskWorkErrors,
	},
	{
		id: "postResult", method: http.MethodPost, path: "/v1/tasks/{id}/result", tag: tagWork,
		summary: "Bring a result",
		text: "`result`, or `error` with a `code`. The same again is the same: send it until it is answered. An `error` in the answer says " +
			"why the result counts as a failure all the same. 409 says that the task is no longer the agent's: forget it.",
		body:    of[schemas.Result]("result"),
		success: []success{{http.StatusOK, "Stored, now or before.", of[schemas.Answer]("")}},
		errors:  taskWorkErrors,
	},
	{
		id: "releaseTask", method: http.MethodPost, path: "/v1/tasks/{id}/release", tag: tagWork,
		summary: "Give a task back", text: "One that has not begun: somebody else may have it.",
		body:    of[schemas.Release]("release"),
		success: []success{{http.StatusOK, "Given back.", of[schemas.Answer]("")}},
		errors:  taskWorkErrors,
	},
	{
		id: "shortRegister", method: http.MethodPost, path: "/register", tag: tagShort, short: true,
		summary: "Register an endpoint",
		text: "For an agent that answers POST at its address and has no worker beside it: a worker that adopts such agents, as the one of " +
			"`reach up` does, drives it from then on, while its health check is well or, where it names none, something listens there. " +
			"An address that ends in `/execute` is given `{capability, payload, token, request_id}`.",
		body:    of[EndpointCard]("endpoint"),
		success: []success{{http.StatusOK, "Registered.", of[ShortAnswer]("")}},
		errors:  append([]int{http.StatusConflict, http.StatusTooManyRequests}, bodyErrors...),
	},
	{
		id: "shortHeartbeat", method: http.MethodPost, path: "/heartbeat", tag: tagShort, short: true,
		summary: "Say that an endpoint lives",
		text: "Nobody has to; but who has begun to, and is silent for 45 seconds, gets no tasks until it is heard again. `capabilities` are " +
			"those that it can serve now.",
		body:    of[EndpointBeat]("beat"),
		success: []success{{http.StatusOK, "Heard.", of[ShortAnswer]("")}},
		errors:  append([]int{http.StatusNotFound, http.StatusNotImplemented}, bodyErrors...),
	},
	{
		id: "shortInvoke", method: http.MethodPost, path: "/invoke", tag: tagShort, short: true,
		summary: "Have something done",
		text: "`/v1/reach` in short: `data` is the result, `endpoint` the agent that made it. Where the wait ends first, `status` is " +
			"`working` and the task runs on.",
		body: of[Invocation]("invocation"),
		success: []success{
			{http.StatusOK, "Done.", of[ShortAnswer]("")},
			{http.StatusAccepted, "The wait ended first; the task runs on.", of[ShortAnswer]("")},
		},
		errors: reachErrors,
	},
	{
		id: "listCapabilities", method: http.MethodGet, path: "/v1/capabilities", tag: tagCapabilities,
		summary: "List capabilities", text: "The dictionary: the same on every device.",
		success: []success{{http.StatusOK, "The capabilities.", of[schemas.CapabilityPage]("")}},
	},
	{
		id: "addCapability", method: http.MethodPost, path: "/v1/capabilities", tag: tagCapabilities,
		summary: "Add a capability",
		text: "Puts an entry into the dictionary. Without `replace` it only creates. A schema that does not compile, or that refers to " +
			"anything outside itself, is refused with the pointer.",
		body: of[schemas.AddCapability]("capability"),
		success: []success{
			{http.StatusCreated, "Stored.", of[schemas.Capability]("")},
			{http.StatusOK, "Stored, where `replace` was set.", of[schemas.Capability]("")},
		},
		errors: append([]int{http.StatusConflict}, bodyErrors...),
	},
	{
		id: "getCapability", method: http.MethodGet, path: "/v1/capabilities/{id}", tag: tagCapabilities,
		summary: "Look at a capability", text: "Its description, its schemas, and what may be expected of it.",
		success: []success{{http.StatusOK, "The capability.", of[schemas.Capability]("")}},
		errors:  lookErrors,
	},
	{
		id: "listRoutes", method: http.MethodGet, path: "/v1/routes", tag: tagRoutes,
		summary: "List routes", text: "What intents lead to, in the order in which routes are looked at.",
		success: []success{{http.StatusOK, "The routes.", of[schemas.RoutePage]("")}},
	},
	{
		id: "addSchedule", method: http.MethodPost, path: "/v1/schedules", tag: tagSchedules,
		summary: "Add a schedule",
		text: "A task that recurs: `cron` and `time_zone` say when, `message` what is submitted each time. Without `replace` it only " +
			"creates. The message has to be one that could be submitted now, whether an agent is online or not.",
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
		summary: "Look at a schedule", text: "When it is due next, its last task, and why that could not be submitted, if it could not.",
		success: []success{{http.StatusOK, "The schedule.", of[schemas.Schedule]("")}},
		errors:  lookErrors,
	},
	{
		id: "pauseSchedule", method: http.MethodPost, path: "/v1/schedules/{name}:pause", tag: tagSchedules,
		summary: "Pause a schedule", text: "Nothing of it happens until it is resumed. Its tasks that are there go on.",
		success: []success{{http.StatusOK, "The schedule.", of[schemas.Schedule]("")}},
		errors:  agentErrors,
	},
	{
		id: "resumeSchedule", method: http.MethodPost, path: "/v1/schedules/{name}:resume", tag: tagSchedules,
		summary: "Resume a schedule", text: "Goes on with the next time that comes; what was due during the pause is not made up for.",
		success: []success{{http.StatusOK, "The schedule.", of[schemas.Schedule]("")}},
		errors:  agentErrors,
	},
	{
		id: "deleteSchedule", method: http.MethodDelete, path: "/v1/schedules/{name}", tag: tagSchedules,
		summary: "Delete a schedule", text: "Answers with the schedule as it was. Its tasks that are there go on.",
		success: []success{{http.StatusOK, "The schedule.", of[schemas.Schedule]("")}},
		errors:  agentErrors,
	},
	{
		id: "explainRoute", method: http.MethodPost, path: "/v1/routes:explain", tag: tagRoutes,
		summary: "Say where a message would go, and why",
		text: "Takes a message as a submit does and decides as it would, but submits nothing: every agent of the capability with its " +
			"factors, or the reason for which it was left out.",
		body:    of[schemas.ReachMessage]("message"),
		success: []success{{http.StatusOK, "The decision.", of[schemas.Explanation]("")}},
		errors:  append([]int{http.StatusNotFound}, bodyErrors...),
	},
	{
		id: "health", method: http.MethodGet, path: healthPath, tag: tagHealth,
		summary: "Is the process alive?", text: "Answers as long as the process does.",
		success: []success{{http.StatusOK, "It is.", of[Health]("")}},
	},
	{
		id: "ready", method: http.MethodGet, path: "/readyz", tag: tagHealth,
		summary: "Can it accept tasks?", text: "503 while something that it needs is missing, the broker for one.",
		success: []success{{http.StatusOK, "It can.", of[Health]("")}},
	},
}
