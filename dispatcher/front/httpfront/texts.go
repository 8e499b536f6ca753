package httpfront

import (
	"net/http"

	"github.com/agentreach/agent-reach/schemas"
)

// What the documents say in words. Every field that a caller can see has a line here: New fails without it.

const aboutText = "Carries a task to whatever agent can do it, on whatever device, and brings the result back.\n\n" +
	"Bodies are JSON (`Content-Type: application/json`). Times are RFC 3339 in UTC with milliseconds, durations are integers " +
	"in fields that end in `_ms`. Unknown members are kept. `payload` and `result` are carried literal by literal: a number " +
	"arrives with every digit that it had. Errors are problems (RFC 9457): `code` is one of the gRPC status names, `reason` " +
	"says which case of it, `retryable` whether the same request may succeed later."

var tagTexts = map[string]string{
	tagTasks:        "Submit work, wait for it, look at it, end it.",
	tagAgents:       "The programs that do the work.",
	tagWork:         "For agents that have nothing but HTTPS: they ask for their tasks, and bring the results.",
	tagShort:        "One line each: for an agent that posts itself, and for a caller that wants one call.",
	tagRoutes:       "Where tasks go, and why.",
	tagCapabilities: "The dictionary: what can be asked for, and in which form.",
	tagHealth:       "For whoever watches the process.",
}

// houseFields are fields of wire types that a caller neither sends nor sees.
var houseFields = map[string][]string{
	"Result":       {"result_ref"},
	"ReachMessage": {"task_id", "payload_ref", "tenant", "attempt", "retry_of", "schedule", "submitted_at", "forget_at", "assignment", "hops"},
}

var typeTexts = map[string]string{
	"ReachMessage":   "A task as a caller wants it. One of capability and intent is needed, nothing else.",
	"Task":           "A task as every reader sees it.",
	"TaskPage":       "A page of tasks, newest first.",
	"BodyRef":        "Stands for a payload or result that is too large for a message.",
	"Progress":       "How far the agent says that it is.",
	"Queue":          "Where a waiting task stands.",
	"Cancel":         "How a cancel went.",
	"Callback":       "The telling of a task's end to the URL that its caller gave.",
	"Error":          "Why a task ended without a result.",
	"Problem":        "An error as HTTP has it (RFC 9457).",
	"Trace":          "A task's way through the house.",
	"Hop":            "One step of a task.",
	"Registration":   "What an agent says of itself.",
	"Registered":     "The answer to a registration.",
	"Transport":      "How a worker reaches the agent.",
	"Offer":          "A capability as the agent offers it. A bare string stands for an offer with that id alone.",
	"Alignment":      "What the agent spells in another way than the dictionary.",
	"Spelling":       "How the agent spells one value.",
	"Agent":          "An agent as every reader sees it.",
	"AgentPage":      "A page of agents, by id.",
	"EndpointCard":   "An agent that has no worker beside it, in short.",
	"EndpointBeat":   "That such an agent lives.",
	"Invocation":     "What is to be done.",
	"ShortAnswer":    "How it went.",
	"Claim":          "What an agent asks for that has no feed.",
	"Claimed":        "The answer to a claim.",
	"ClaimedTask":    "A task to run.",
	"Stop":           "A task that the agent is to stop.",
	"Heard":          "The answer to what an agent says.",
	"Heartbeat":      "That an agent lives.",
	"Receipt":        "That an agent works on tasks.",
	"ReceiptTask":    "One of them.",
	"Chunk":          "A piece of a result.",
	"Result":         "The end of an attempt.",
	"Begin":          "A task to give back.",
	"Answer":         "What became of it.",
	"Capability":     "An entry of the dictionary: a named contract.",
	"CapabilityPage": "The dictionary.",
	"AddCapability":  "An entry to put into the dictionary.",
	"Health":         "All is well.",

	"Explanation":        "Why a message would go where it would.",
	"ExplainedCandidate": "An agent that may have the task.",
	"LeftOut":            "An agent that may not have the task.",
	"RoutePage":          "Every route.",
	"Route":              "What an intent leads to.",
	"RouteMatch":         "What a route wants of a message; what is absent wants nothing.",
	"RouteTarget":        "Where a route leads.",
	"RouteSplit":         "A share of the tasks, for agents of some versions.",
	"RouteFallback":      "Where a task turns to when its target fails it.",
	"RouteTimeouts":      "Of messages that name none.",
}

var fieldTexts = map[string]map[string]string{
	"BodyRef": {
		"id": "Its name.", "bytes": "How large it is.", "part_bytes": "How large its parts are; the last one is as long as is left.",
		"sha256": "Of the whole, lower-case hexadecimal.",
	},
	"ReachMessage": {
		"msg_id":             "The caller's own key, 1 to 256 printable bytes: the same key with the same body is the same task.",
		"intent":             "What is wanted, in the caller's words; routed to a capability.",
		"capability":         "The id of a capability.",
		"payload":            "The input: any JSON that fits the capability's input schema; {} when absent.",
		"timeout_ms":         "How long the caller waits for an answer. It never ends the task.",
		"run_timeout_ms":     "Lowers the time that one attempt may run.",
		"expires_at":         "When the task ends unfinished; 24 hours after submit when absent.",
		"not_before":         "When the task may start.",
		"priority":           "0 to 9; 5 when absent.",
		"trace_id":           "32 hexadecimal digits, where there is no traceparent.",
		"traceparent":        "W3C trace context.",
		"callback":           "A URL that is told of the end.",
		"prefer_agent":       "An agent to try first.",
		"version":            "A range of versions of the agent, such as >=1.2.0, <2.",
		"min_version":        "The lowest version of the agent.",
		"wait_for_agent":     "Keep the task until the preferred agent, or any, is there.",
		"fail_fast":          "Refuse rather than queue when every agent is busy.",
		"require_mode":       "Only agents that can do response_mode.",
		"tags":               "At most 32, of 64 bytes each; routes may ask for them.",
		"metadata":           "A JSON object of at most 16 KiB that travels along.",
		"response_mode":      "How the caller would like to hear of the task; the task runs the same.",
		"quality_of_service": "realtime trades care for speed, complete speed for care.",
	},
	"Task": {
		"task_id":      "A UUID version 7.",
		"msg_id":       "The caller's own key.",
		"state":        "Where the task stands; completed, failed, canceled and rejected are final.",
		"phase":        "The finer step.",
		"capability":   "The capability that does it.",
		"agent_id":     "The agent that has it, or had it last.",
		"attempt":      "How many assignments have reached an agent.",
		"revision":     "Grows with every change; the ETag.",
		"submitted_at": "When it was accepted.",
		"started_at":   "When the agent began.",
		"finished_at":  "When it ended.",
		"not_before":   "When it may start.",
		"expires_at":   "When it ends unfinished.",
		"kept_until":   "When the record goes.",
		"progress":     "How far the agent says that it is.",
		"queue":        "Where it stands while it waits.",
		"cancel":       "How a cancel went; in the answer to a cancel.",
		"result":       "What the agent answered, literal by literal; null where that was the answer.",
		"result_ref":   "In lists and events of other fronts: the result is too large to stand here. `/v1/tasks/{id}/result` has it.",
		"partial":      "The result is not all that the agent had to say.",
		"chunks":       "The number of the last chunk of its stream, where that is known.",
		"error":        "Why there is no result.",
		"retry_of":     "The task that this one repeats.",
		"retried_as":   "The task that repeats this one.",
		"trace_id":     "The trace that it belongs to.",
		"dead_letter":  "It failed on its way, and waits for a person: retry it, or purge it.",
		"late_result":  "What came after it had ended because nobody knew its outcome.",
		"callback":     "How the telling of its end stands, where that was asked for.",
		"schedule":     "The schedule that it is an occurrence of.",
	},
	"TaskPage": {
		"items":           "The tasks.",
		"next_page_token": "Asks for the next page; absent on the last.",
	},
	"Progress": {
		"fraction": "0 to 1.",
		"message":  "A word about it.",
	},
	"Queue": {
		"position":           "From 1.",
		"estimated_start_ms": "When it may start, from now.",
	},
	"Cancel": {
		"won":       "This cancel ended the task.",
		"confirmed": "The agent acknowledged the stop.",
	},
	"Callback": {
		"state":        "waiting, delivered or failed; one that has failed is made again when somebody asks for it.",
		"url":          "Where it goes.",
		"attempts":     "How often it was tried.",
		"next_at":      "When the next attempt is due.",
		"delivered_at": "When the receiver took it.",
		"status":       "What the receiver answered last, a status of HTTP.",
		"error":        "Why the last attempt failed.",
	},
	"Error": {
		"code":           "A gRPC status name.",
		"reason":         "Which case of it, in UPPER_SNAKE.",
		"message":        "A sentence for people.",
		"retryable":      "The same request may succeed later.",
		"retry_after_ms": "How much later, where that is known.",
		"details":        "What else is known, by name: field, expected, available, nearest, limit_bytes, size_bytes …",
	},
	"Problem": {
		"type":           "about:blank: the title is that of the status.",
		"title":          "The name of the status.",
		"status":         "The HTTP status.",
		"detail":         "A sentence for people.",
		"code":           "A gRPC status name.",
		"reason":         "Which case of it, in UPPER_SNAKE.",
		"retryable":      "The same request may succeed later.",
		"retry_after_ms": "How much later, where that is known.",
		"details":        "What else is known, by name: field, expected, available, nearest, limit_bytes, size_bytes …",
		"task_id":        "The task that failed.",
		"trace_id":       "Its trace.",
	},
	"Trace": {
		"trace_id": "32 hexadecimal digits.",
		"task":     "The task.",
		"hops":     "Its steps, in order.",
	},
	"Hop": {
		"hop":    "submitted, routed, published, received, adapter_request, first_chunk, agent_done, validated, stored or returned.",
		"at":     "When.",
		"by":     "Who took it.",
		"detail": "A small object that says more.",
	},
	"Registration": {
		"agent_id":        "Lower-case letters, digits and -; unique.",
		"instance_id":     "Made anew by each process.",
		"version":         "Semantic version.",
		"service":         "The name that interchangeable agents share.",
		"transport":       "How a worker reaches it.",
		"max_concurrency": "Over all capabilities; their sum when absent.",
		"capabilities":    "What it offers.",
		"metadata":        "Device type, location, gpu, cost_weight and the like.",
		"groups":          "The groups that it belongs to.",
		"priority":        "0 to 100; 50 when absent.",
		"large_bodies":    "Its worker fetches payloads that are too large for a message.",
		"intermittent":    "It comes and goes, as a phone does.",
		"adopt":           "No worker is beside it: one that adopts drives it by its endpoint. It then needs no instance_id.",
	},
	"Registered": {
		"agent_id":              "Whose registration it was.",
		"state":                 "Where the agent stands now; pending ones wait for approval.",
		"revision":              "Of the registration.",
		"heartbeat_interval_ms": "How often it should say that it lives.",
		"receipt_interval_ms":   "How often it should name the tasks that it holds.",
		"chunk_schemas":         "By capability: what each chunk has to fit, where the dictionary says.",
		"alignments":            "By capability: what the agent spells in another way than the dictionary.",
	},
	"Transport": {
		"type":         "The name of an adapter, such as http or subprocess.",
		"endpoint":     "Where the agent is.",
		"health_check": "What to ask whether it lives.",
	},
	"Offer": {
		"id":                  "The id of the capability; name is taken as well.",
		"description":         "What this agent makes of it.",
		"tags":                "Words to find it by.",
		"input_schema":        "Narrows the dictionary's.",
		"output_schema":       "Narrows the dictionary's.",
		"expected_latency_ms": "How long it usually takes.",
		"timeout_hint_ms":     "How long it may take.",
		"max_concurrency":     "How many at once; 1 when absent.",
		"cost_per_call":       "In any unit, the same for all agents.",
		"idempotent":          "Doing it twice does no harm; counts only if the dictionary says so too.",
		"probe":               "An input without side effects.",
		"error_mapping":       "From the agent's own codes to standard ones.",
		"alignment":           "What the agent spells in another way than the dictionary; it is derived, not declared.",
	},
	"Alignment": {
		"input":  "The places of the payload that are spelled in another way.",
		"output": "Those of the result.",
	},
	"Spelling": {
		"at":        "JSON pointer in the capability's terms; * stands for every element of a list.",
		"name":      "What the agent calls the member.",
		"time_from": "The capability's form of an instant: rfc3339, epoch_s, epoch_ms or epoch.",
		"time_to":   "The agent's form of it.",
		"enum":      "From the capability's constants to the agent's.",
	},
	"Agent": {
		"agent_id":     "Its id.",
		"state":        "pending, online, degraded, draining or offline.",
		"last_seen_at": "When it was heard of last.",
		"in_flight":    "How many tasks it has.",
		"load_avg":     "Load of its machine by core, over a minute.",
		"registration": "What it declared.",
	},
	"AgentPage": {
		"items":           "The agents.",
		"next_page_token": "Asks for the next page; absent on the last.",
	},
	"EndpointCard": {
		"endpoint_id":  "Its agent_id: lower-case letters, digits and -.",
		"transport":    "http when absent; sse and websocket are others.",
		"address":      "Where it takes a POST.",
		"health_check": "What to ask whether it lives; when absent, whether something listens at its address.",
		"version":      "Semantic version; 0.0.0 when absent.",
		"capabilities": "What it offers: ids, or offers.",
		"cost_weight":  "What it costs, compared with others.",
		"metadata":     "A JSON object.",
	},
	"EndpointBeat": {
		"endpoint_id":  "Its agent_id.",
		"load_avg":     "Load of its machine by core, over a minute.",
		"capabilities": "What it can serve now; all when absent.",
	},
	"Invocation": {
		"capability": "The id of a capability.",
		"payload":    "The input.",
	},
	"ShortAnswer": {
		"status":   "ok, working or error.",
		"state":    "Where the agent stands.",
		"data":     "The result.",
		"endpoint": "Who made it.",
		"task_id":  "The task.",
		"message":  "What went wrong, for people.",
		"code":     "A gRPC status name.",
	},
	"Claim": {
		"agent_id":    "As in the path.",
		"instance_id": "That of the registration.",
		"claim_id":    "A random name: the same again brings the same answer.",
		"free":        "Free slots by capability; all that were declared when absent.",
		"free_total":  "Free slots over all; what was declared and is not held when absent.",
		"held":        "The sequences of all that the agent has; when absent, what it was given counts as held.",
	},
	"Claimed": {
		"assignments": "The tasks; none after the wait.",
		"stop":        "What the agent is to stop.",
		"draining":    "The agent is given nothing new for now.",
	},
	"ClaimedTask": {
		"sequence": "The token that all the agent says of the task names.",
		"message":  "The ReachMessage: task_id, capability, payload, attempt, expires_at, assignment and more.",
	},
	"Stop": {
		"task_id":  "The task, where it is known.",
		"sequence": "Its token.",
		"reason":   "CANCELED, EXPIRED, RUN_LIMIT or SUPERSEDED.",
	},
	"Heard": {
		"ack":      "The number of the last chunk that was taken.",
		"stop":     "What the agent is to stop.",
		"draining": "The agent is given nothing new for now.",
	},
	"Heartbeat": {
		"agent_id":        "As in the path.",
		"instance_id":     "That of the registration.",
		"version":         "Of the agent.",
		"state":           "online when absent; offline says goodbye.",
		"capabilities":    "What can be served now; all when absent.",
		"load_avg":        "Load of the machine by core, over a minute.",
		"in_flight":       "How many tasks run.",
		"queued":          "How many wait.",
		"in_flight_tasks": "Their task_ids.",
		"held":            "The sequences of all that the agent has.",
		"time":            "By the agent's clock; only shown.",
	},
	"Receipt": {
		"agent_id":    "The agent.",
		"instance_id": "That of its registration.",
		"time":        "By the agent's clock; only shown.",
		"tasks":       "The task of the path alone when absent.",
	},
	"ReceiptTask": {
		"task_id":  "As in the path.",
		"attempt":  "As in the message.",
		"sequence": "Its token.",
		"running":  "The agent has begun.",
		"progress": "How far it is.",
		"hops":     "Its steps so far.",
	},
	"Chunk": {
		"agent_id":    "The agent.",
		"instance_id": "That of its registration.",
		"task_id":     "As in the path.",
		"attempt":     "As in the message.",
		"n":           "Counts from 1 within the attempt.",
		"data":        "Any JSON.",
	},
	"Result": {
		"task_id":     "As in the path.",
		"agent_id":    "The agent.",
		"attempt":     "As in the message.",
		"sequence":    "As in the header.",
		"instance_id": "That of the registration.",
		"write_id":    "A random name of this result, however often it is sent.",
		"state":       "completed, or failed, as there is an error or not, when absent; rejected only of what has not begun.",
		"result":      "Any JSON, the whole of it.",
		"error":       "Why there is none; a code of the agent's own goes through its error_mapping.",
		"partial":     "It is not all that there was to say.",
		"chunks":      "Counted here.",
		"ran":         "Of a failure, whether the agent did anything: no, unknown or yes.",
		"started_at":  "By the agent's clock: only the difference counts.",
		"finished_at": "By the agent's clock: only the difference counts.",
		"hops":        "Its steps.",
	},
	"Begin": {
		"agent_id":    "The agent.",
		"task_id":     "As in the path.",
		"attempt":     "As in the message.",
		"sequence":    "As in the header.",
		"instance_id": "That of the registration.",
		"write_id":    "A random name of this request, however often it is sent.",
	},
	"Answer": {
		"outcome":  "stored, or already_yours for a repeat.",
		"sequence": "Where it is stored.",
		"idle":     "Nothing waits that the agent could take.",
		"error":    "Why the result counts as a failure all the same.",
	},
	"Capability": {
		"id":              "Lower-case letters, digits and _, a letter first.",
		"description":     "What it does.",
		"input_schema":    "JSON Schema (2020-12) of the payload, or the shorthand {name: type}.",
		"output_schema":   "JSON Schema of the result.",
		"chunk_schema":    "JSON Schema of each piece of a streamed result; any JSON when absent.",
		"timeout_hint_ms": "How long it may take.",
		"idempotent":      "Doing it twice does no harm.",
		"probe":           "An input without side effects.",
		"aliases":         "Intents that mean it.",
		"tags":            "Words to find it by.",
		"error_mapping":   "From agents' own codes to standard ones.",
	},
	"Explanation": {
		"capability": "What the message asks for, resolved.",
		"rule":       "The route that matched, or capability.",
		"strategy":   "How the candidates were ordered.",
		"winner":     "Who would have it now; absent while every agent is full.",
		"chain":      "The best, in order: who is asked if the winner cannot be reached.",
		"candidates": "All that may have it, best first.",
		"left_out":   "All that may not.",
	},
	"ExplainedCandidate": {
		"agent_id":  "The agent.",
		"score":     "The weighted sum of its factors, 0 to 1.",
		"in_flight": "What it has now.",
		"slots":     "What it runs at once.",
		"factors":   "Each from 0 to 1.",
	},
	"LeftOut": {
		"agent_id": "The agent.",
		"why":      "The filter that it did not pass.",
	},
	"RoutePage": {
		"items": "The routes, in the order in which they are looked at.",
	},
	"Route": {
		"name":     "Shown in traces and metrics.",
		"match":    "What it wants of a message.",
		"target":   "Where it leads.",
		"fallback": "Where a task turns to, once, that nobody of the target can run.",
		"timeouts": "For messages that name none.",
		"weights":  "Of the factors of the score; absent: as the house does.",
	},
	"RouteMatch": {
		"intent":        "Compared without regard to case and separators.",
		"required_tags": "The message has all of these.",
		"tenant":        "Whose messages.",
	},
	"RouteTarget": {
		"capability":  "The contract.",
		"strategy":    "How agents are put into order; absent: as the house does.",
		"sticky_by":   "The member of a message's metadata that its tasks have in common.",
		"min_version": "The lowest version of the agent.",
		"version":     "A range of versions of the agent.",
		"split":       "Shares of the tasks by version.",
	},
	"RouteSplit": {
		"version": "A range of versions of the agent.",
		"percent": "0 to 100.",
	},
	"RouteFallback": {
		"capability": "Its contract takes the payload as well.",
		"strategy":   "How its agents are put into order.",
	},
	"RouteTimeouts": {
		"timeout_ms":     "How long the caller waits.",
		"run_timeout_ms": "How long one attempt may run.",
	},
	"CapabilityPage": {
		"items": "The capabilities, by id.",
	},
	"AddCapability": {
		"capability": "The entry.",
		"replace":    "It may take the place of another.",
	},
	"Health": {
		"status":  "ok",
		"version": "The version that runs.",
	},
}

// problemText is a status of an error in the documents.
type problemText struct {
	text    string
	example *schemas.Error
}

var problemTexts = map[int]problemText{
	http.StatusBadRequest: {
		"The request is not what is accepted here; details.field says where.",
		schemas.NewError(schemas.InvalidArgument, schemas.ReasonInputSchema, "payload.text is required by summarize").
			With("field", "/text").With("expected", "string"),
	},
	http.StatusUnauthorized: {
		"The caller is not known.", schemas.NewError(schemas.Unauthenticated, "", "no valid key"),
	},
	http.StatusForbidden: {
		"The caller may not do this, or a page of another site sent it.",
		schemas.NewError(schemas.PermissionDenied, reasonCrossOrigin, "a page of another site may not do this"),
	},
	http.StatusNotFound: {
		"There is none of that name. A task of another tenant is as unknown as one that never was.",
		schemas.NewError(schemas.NotFound, schemas.ReasonUnknownTask, "no task has this id"),
	},
	http.StatusRequestTimeout: {
		"The body did not arrive in time.",
		schemas.NewError(schemas.DeadlineExceeded, reasonBodyTimeout, "the body did not arrive in time"),
	},
	http.StatusConflict: {
		"Something else is there, or an outcome is not known.",
		schemas.NewError(schemas.Aborted, schemas.ReasonMayHaveExecuted, "the agent may have executed the task"),
	},
	http.StatusGone: {
		"It was there, and has been forgotten by its own time.",
		schemas.NewError(schemas.NotFound, schemas.ReasonExpired, "the record of this task has expired"),
	},
	http.StatusRequestEntityTooLarge: {
		"Too large; both sizes are named.", tooLarge("payload", defaultPayloadBytes, 2*defaultPayloadBytes),
	},
	http.StatusUnsupportedMediaType: {
		"The body is not declared as JSON.", unsupported,
	},
	http.StatusUnprocessableEntity: {
		"The msg_id came before, with another body.",
		schemas.NewError(schemas.AlreadyExists, schemas.ReasonKeyReused, "this msg_id came with another body"),
	},
	http.StatusTooManyRequests: {
		"Busy, or over a limit; Retry-After says when to come back.", busy,
	},
	statusClientClosed: {
		"The task was canceled.", schemas.NewError(schemas.Cancelled, schemas.ReasonCanceled, "canceled by the caller"),
	},
	http.StatusInternalServerError: {
		"A fault of ours; the log says more.",
		schemas.NewError(schemas.Internal, "", "an internal error; the log of the process that answered says more"),
	},
	http.StatusNotImplemented: {
		"The agent cannot do this.", schemas.NewError(schemas.Unimplemented, "", "the agent cannot do this"),
	},
	http.StatusBadGateway: {
		"The agent failed.",
		schemas.NewError(schemas.Internal, schemas.ReasonNotJSON, "the agent's answer is not JSON").With("origin", "agent"),
	},
	http.StatusServiceUnavailable: {
		"Nobody is there to do it now; Retry-After where that is known.",
		schemas.NewError(schemas.Unavailable, schemas.ReasonNoAgent, "no agent for summarize is online"),
	},
	http.StatusGatewayTimeout: {
		"The task ran out of its time.", schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonRunLimit, "the run limit has passed"),
	},
}

var busy = &schemas.Error{
	Code: schemas.ResourceExhausted, Reason: schemas.ReasonBusy, Message: "every agent for summarize is busy (2 of 2 slots)",
	Retryable: true, RetryAfterMS: 1200,
}
