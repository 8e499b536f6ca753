package front

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentreach/agent-reach/schemas"
)

// What enters through a front is read here, once for all of them: the JSON bounded and exact, the names within their grammar, the
// fields that only the house may write dropped. What the message means is the house's own question.

// Message reads a caller's ReachMessage. A task_id in it is dropped, and a payload_ref: callers of most fronts do not choose one, and
// have no way to put the parts of a body.
func Message(data []byte) (*schemas.ReachMessage, error) {
	message, err := NamedMessage(data)
	if err != nil {
		return nil, err
	}
	message.TaskID, message.PayloadRef = "", nil
	return message, nil
}

// NamedMessage is Message, but keeps both: a task_id that the caller made afresh makes a lost reply safe to repeat.
func NamedMessage(data []byte) (*schemas.ReachMessage, error) {
	message := new(schemas.ReachMessage)
	if err := read(data, message); err != nil {
		return nil, err
	}
	if err := checkKey(data, message); err != nil {
		return nil, err
	}
	dropOwn(message)
	if problem := message.Check(); problem != nil {
		return nil, problem
	}
	return message, nil
}

// checkKey refuses a msg_id that is there and empty. Whoever sends one counts on it: taken for none, a repeat would run again.
func checkKey(data []byte, message *schemas.ReachMessage) error {
	if message.MsgID != "" || !mayHave(data, `"msg_id"`) { // most often, it is not there at all
		return nil
	}
	var said struct {
		MsgID *string `json:"msg_id"`
	}
	if schemas.Decode(data, &said) != nil || said.MsgID == nil {
		return nil
	}
	return schemas.CheckMsgID(*said.MsgID)
}

// mayHave reports whether an object can have a member of that name, which may be written with escapes.
func mayHave(data []byte, name string) bool {
	return bytes.Contains(data, []byte(name)) || bytes.Contains(data, []byte(`\u`))
}

// dropOwn clears what only the house writes.
func dropOwn(m *schemas.ReachMessage) {
	m.Tenant, m.Schedule, m.Attempt, m.RetryOf = "", "", 0, ""
	m.SubmittedAt, m.ForgetAt = schemas.Time{}, schemas.Time{}
	m.Assignment, m.Hops = nil, nil
}

// Registration reads an agent's registration. One that names an endpoint and no process is of an agent without a worker.
func Registration(data []byte) (*schemas.Registration, error) {
	registration := new(schemas.Registration)
	if err := read(data, registration); err != nil {
		return nil, err
	}
	if registration.InstanceID == "" && registration.Transport.Endpoint != "" {
		registration.Adopt = true
	}
	if problem := registration.Check(); problem != nil {
		return nil, problem
	}
	return registration, nil
}

// AddCapability reads an entry for the dictionary.
func AddCapability(data []byte) (*schemas.AddCapability, error) {
	add := new(schemas.AddCapability)
	if err := accept(data, add, &add.V); err != nil {
		return nil, err
	}
	if add.Capability.ID == "" {
		return nil, badValue("capability/id", `capability takes the entry, which has an id: {"capability": {"id": "word_count", …}}`)
	}
	return add, schemas.CheckCapability(add.Capability.ID)
}

// TaskRef reads the name of a task.
func TaskRef(data []byte) (*schemas.TaskRef, error) {
	ref := new(schemas.TaskRef)
	if err := accept(data, ref, &ref.V); err != nil {
		return nil, err
	}
	return ref, schemas.CheckTaskID(ref.TaskID)
}

// TraceRef reads the name of a task or of a trace: its task_id field takes both.
func TraceRef(data []byte) (*schemas.TaskRef, error) {
	ref := new(schemas.TaskRef)
	if err := accept(data, ref, &ref.V); err != nil {
		return nil, err
	}
	return ref, CheckTraceRef(ref.TaskID)
}

// AgentRef reads the name of an agent.
func AgentRef(data []byte) (*schemas.AgentRef, error) {
	ref := new(schemas.AgentRef)
	if err := accept(data, ref, &ref.V); err != nil {
		return nil, err
	}
	return ref, schemas.CheckAgentID(ref.AgentID)
}

// CapabilityRef reads the name of a capability.
func CapabilityRef(data []byte) (*schemas.CapabilityRef, error) {
	ref := new(schemas.CapabilityRef)
	if err := accept(data, ref, &ref.V); err != nil {
		return nil, err
	}
	return ref, schemas.CheckCapability(ref.ID)
}

// AddSchedule reads a schedule to store.
func AddSchedule(data []byte) (*schemas.AddSchedule, error) {
	add := new(schemas.AddSchedule)
	if err := accept(data, add, &add.V); err != nil {
		return nil, err
	}
	dropOwn(&add.Schedule.Message)
	add.Schedule.Message.TaskID = ""
	if problem := add.Schedule.Check(); problem != nil {
		return nil, problem
	}
	return add, nil
}

// ScheduleRef reads the name of a schedule.
func ScheduleRef(data []byte) (*schemas.ScheduleRef, error) {
	ref := new(schemas.ScheduleRef)
	if err := accept(data, ref, &ref.V); err != nil {
		return nil, err
	}
	return ref, schemas.CheckSchedule(ref.Name)
}

// ScheduleQuery reads which page of the schedules to list; no data at all is the first.
func ScheduleQuery(data []byte) (*schemas.ScheduleQuery, error) {
	query := new(schemas.ScheduleQuery)
	if len(data) == 0 {
		return query, nil
	}
	if err := accept(data, query, &query.V); err != nil {
		return nil, err
	}
	return query, CheckScheduleQuery(query)
}

// CheckScheduleQuery refuses a query that no list can answer.
func CheckScheduleQuery(q *schemas.ScheduleQuery) error {
	switch {
	case q.PageSize < 0 || q.PageSize > schemas.MaxPageSize:
		return badValue("page_size", "page_size takes 1 to %d", schemas.MaxPageSize).With("limit", schemas.MaxPageSize)
	case optional(q.PageToken, schemas.CheckSchedule) != nil:
		return badValue("page_token", "page_token takes the next_page_token of the page before")
	}
	return nil
}

// TaskQuery reads what to list; no data at all lists everything.
func TaskQuery(data []byte) (*schemas.TaskQuery, error) {
	query := new(schemas.TaskQuery)
	if len(data) == 0 {
		return query, nil
	}
	if err := accept(data, query, &query.V); err != nil {
		return nil, err
	}
	return query, CheckTaskQuery(query)
}

// AgentQuery reads which agents to list; no data at all lists everything.
func AgentQuery(data []byte) (*schemas.AgentQuery, error) {
	query := new(schemas.AgentQuery)
	if len(data) == 0 {
		return query, nil
	}
	if err := accept(data, query, &query.V); err != nil {
		return nil, err
	}
	return query, CheckAgentQuery(query)
}

// CapabilityQuery reads which page of the dictionary to list; no data at all is the first.
func CapabilityQuery(data []byte) (*schemas.CapabilityQuery, error) {
	query := new(schemas.CapabilityQuery)
	if len(data) == 0 {
		return query, nil
	}
	if err := accept(data, query, &query.V); err != nil {
		return nil, err
	}
	return query, checkPage(0, query.PageToken)
}

var agentStates = []schemas.AgentState{
	schemas.AgentPending, schemas.AgentOnline, schemas.AgentDegraded, schemas.AgentDraining, schemas.AgentOffline,
}

// CheckAgentQuery refuses a query that no list can answer.
func CheckAgentQuery(q *schemas.AgentQuery) error {
	if q.State != "" && !slices.Contains(agentStates, q.State) {
		return badValue("state", "state takes %s", alternatives(agentStates)).With("available", agentStates)
	}
	return cmp.Or(checkPage(q.PageSize, q.PageToken), optional(q.Capability, schemas.CheckCapability))
}

// alternatives are the values that a field takes, as a sentence names them.
func alternatives[S ~string](values []S) string {
	var text strings.Builder
	for i, value := range values {
		switch {
		case i > 0 && i == len(values)-1:
			text.WriteString(" or ")
		case i > 0:
			text.WriteString(", ")
		}
		text.WriteString(string(value))
	}
	return text.String()
}

// checkPage refuses a page that no list has.
func checkPage(size int, token string) error {
	switch {
	case size < 0 || size > schemas.MaxPageSize:
		return badValue("page_size", "page_size takes 1 to %d", schemas.MaxPageSize).With("limit", schemas.MaxPageSize)
	case !isToken(token):
		return badValue("page_token", "page_token takes the next_page_token of the page before")
	}
	return nil
}

// states are those that a task can be listed by.
var states = []schemas.State{
	schemas.StateSubmitted, schemas.StateWorking, schemas.StateInputRequired, schemas.StateAuthRequired,
	schemas.StateCompleted, schemas.StateFailed, schemas.StateCanceled, schemas.StateRejected,
}

// callbackStates are those that a task can be listed by.
var callbackStates = []schemas.CallbackState{schemas.CallbackWaiting, schemas.CallbackDelivered, schemas.CallbackFailed}

// maxPageToken bounds a page token in bytes.
const maxPageToken = 512

// CheckTaskQuery refuses a query that no list can answer.
func CheckTaskQuery(q *schemas.TaskQuery) error {
	switch {
	case q.State != "" && !slices.Contains(states, q.State):
		return badValue("state", "state takes %s", alternatives(states)).With("available", states)
	case q.Callback != "" && !slices.Contains(callbackStates, q.Callback):
		return badValue("callback", "callback takes %s", alternatives(callbackStates)).With("available", callbackStates)
	}
	return cmp.Or(checkPage(q.PageSize, q.PageToken), optional(q.Capability, schemas.CheckCapability),
		optional(q.AgentID, schemas.CheckAgentID))
}

var traceID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// CheckTraceRef refuses what is neither a task_id nor a trace_id.
func CheckTraceRef(id string) error {
	if traceID.MatchString(id) || schemas.CheckTaskID(id) == nil {
		return nil
	}
	return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadName,
		"this is neither a task_id (a lower-case UUID version 7) nor a trace_id (32 lower-case hexadecimal digits)").
		With("field", "/id")
}

// accept reads data into a wire type and refuses a version that this code does not speak.
func accept(data []byte, into any, version *schemas.Version) error {
	if err := read(data, into); err != nil {
		return err
	}
	if version.Understood() {
		return nil
	}
	return schemas.NewError(schemas.FailedPrecondition, schemas.ReasonVersion, "v is beyond %d, the version that is supported here",
		schemas.CurrentVersion).With("field", "/v").With("expected", schemas.CurrentVersion)
}

// read reads data into a wire type.
func read(data []byte, into any) error {
	if err := schemas.Accept(data, into); err != nil {
		return placed(schemas.AsError(err))
	}
	return nil
}

// placed says of a value of the wrong type which field it stands in.
func placed(e *schemas.Error) *schemas.Error {
	var field string
	if e.Reason != schemas.ReasonWrongType || schemas.Decode(e.Details["field"], &field) != nil || field == "" {
		return e
	}
	if takes, found := strings.CutPrefix(e.Message, "this field "); found {
		e.Message = strings.TrimPrefix(field, "/") + " " + takes
	}
	return e
}

func isToken(s string) bool {
	return len(s) <= maxPageToken && utf8.ValidString(s) &&
		!slices.ContainsFunc([]rune(s), func(r rune) bool { return !unicode.IsPrint(r) })
}

func badValue(field, format string, args ...any) *schemas.Error {
	return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue, format, args...).With("field", "/"+field)
}

// optional checks a name if there is one.
func optional(name string, check func(string) error) error {
	if name == "" {
		return nil
	}
	return check(name)
}
