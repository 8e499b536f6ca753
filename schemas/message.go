package schemas

import "github.com/go-json-experiment/json/jsontext"

// ResponseMode is how a caller would like to hear of its task. The task itself runs the same in each.
type ResponseMode string

// The response modes.
const (
	ModeSync   ResponseMode = "sync"
	ModeAsync  ResponseMode = "async"
	ModeStream ResponseMode = "stream"
)

// QualityOfService trades speed for care.
type QualityOfService string

// The qualities of service.
const (
	QoSRealtime QualityOfService = "realtime"
	QoSStandard QualityOfService = "standard"
	QoSComplete QualityOfService = "complete"
)

// Bounds of a ReachMessage.
const (
	MaxTags          = 32
	MaxTagBytes      = 64
	MaxMetadataBytes = 16 << 10
	MaxPriority      = 9
	DefaultPriority  = 5
)

// ReachMessage is the one envelope that every hop speaks. A caller fills the upper part; Tenant, Schedule, Attempt, SubmittedAt,
// ForgetAt, Assignment and Hops are the dispatcher's, and dropped when a caller sends them. Payload, or PayloadRef in its place where it
// is large, is part of scheduled, queued and assigned messages only.
type ReachMessage struct {
	V            Version        `json:"v"`
	TaskID       string         `json:"task_id,omitzero"`
	MsgID        string         `json:"msg_id,omitzero"`
	Tenant       string         `json:"tenant,omitzero"`
	Intent       string         `json:"intent,omitzero"`
	Capability   string         `json:"capability,omitzero"`
	Payload      Payload        `json:"payload,omitzero"`
	PayloadRef   *BodyRef       `json:"payload_ref,omitzero"`
	TimeoutMS    int64          `json:"timeout_ms,omitzero"`
	RunTimeoutMS int64          `json:"run_timeout_ms,omitzero"`
	ExpiresAt    Time           `json:"expires_at,omitzero"`
	NotBefore    Time           `json:"not_before,omitzero"`
	Priority     *int           `json:"priority,omitzero"` // 0 to 9; absent is DefaultPriority
	RetryOf      string         `json:"retry_of,omitzero"`
	TraceID      string         `json:"trace_id,omitzero"`
	Traceparent  string         `json:"traceparent,omitzero"`
	Callback     string         `json:"callback,omitzero"`
	PreferAgent  string         `json:"prefer_agent,omitzero"`
	Version      string         `json:"version,omitzero"` // a semver range
	MinVersion   string         `json:"min_version,omitzero"`
	WaitForAgent bool           `json:"wait_for_agent,omitzero"`
	FailFast     bool           `json:"fail_fast,omitzero"`
	RequireMode  bool           `json:"require_mode,omitzero"`
	Tags         []string       `json:"tags,omitempty"`
	Metadata     jsontext.Value `json:"metadata,omitzero"` // a JSON object

	ResponseMode     ResponseMode     `json:"response_mode,omitzero"`
	QualityOfService QualityOfService `json:"quality_of_service,omitzero"`

	Schedule    string      `json:"schedule,omitzero"` // what it is an occurrence of
	Attempt     int         `json:"attempt,omitzero"`
	SubmittedAt Time        `json:"submitted_at,omitzero"`
	ForgetAt    Time        `json:"forget_at,omitzero"`
	Assignment  *Assignment `json:"assignment,omitzero"`
	Hops        []Hop       `json:"hops,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

// Assignment is what the dispatcher decided: who runs the task, under which limits, and who is next.
type Assignment struct {
	AgentID      string   `json:"agent_id,omitzero"` // absent while the task waits
	Idempotent   bool     `json:"idempotent"`
	RunTimeoutMS int64    `json:"run_timeout_ms"`
	ErrorMember  bool     `json:"error_member,omitzero"` // results may have a member called error that is no sign of failure
	Chain        []string `json:"chain,omitempty"`       // the best agents at submit, in order
	Tried        []string `json:"tried,omitempty"`       // agents that have failed since the chain was made
	Lost         int      `json:"lost,omitzero"`         // agents that were lost with the task, one after another, and did not say how it went
	Also         string   `json:"also,omitzero"`         // an agent that was asked before, and may still be the one that finishes
	InstanceID   string   `json:"instance_id,omitzero"`  // set by begin
	BegunAt      Time     `json:"begun_at,omitzero"`

	TimeoutHintMS int64 `json:"timeout_hint_ms,omitzero"` // how long it is expected to take: beyond, the task is marked slow

	// What was decided once, at submit, and stays so while routes change.
	Route            string `json:"route,omitzero"`    // its name
	Strategy         string `json:"strategy,omitzero"` // absent: as the house does
	Versions         string `json:"versions,omitzero"` // of agents that may run it
	Share            string `json:"share,omitzero"`    // of a split, which versions of those; counts while an agent of it is there
	Sticky           string `json:"sticky,omitzero"`   // absent: the msg_id
	Fallback         string `json:"fallback,omitzero"` // the capability to turn to, once
	FallbackStrategy string `json:"fallback_strategy,omitzero"`
	Shape            *Shape `json:"shape,omitzero"` // while the task waits, where agents have schemas of their own

	// Where the numbers of the chunks go on. Restarts counts the assignments since NextChunk was known that may have sent some.
	NextChunk int64 `json:"next_chunk,omitzero"` // absent: 1
	Restarts  int   `json:"restarts,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

// Shape is what of a payload says how well an agent's schemas fit it: it is known while the payload is not at hand.
type Shape struct {
	Object  bool     `json:"object"`
	Members []string `json:"members,omitempty"` // of an object, their names
	Format  string   `json:"format,omitzero"`   // in which the result would be welcome
}

// PriorityOrDefault is Priority, or DefaultPriority where it is absent.
func (m *ReachMessage) PriorityOrDefault() int {
	if m.Priority == nil {
		return DefaultPriority
	}
	return *m.Priority
}

// The hops of a task, in the order in which they happen.
const (
	HopSubmitted      = "submitted"
	HopRouted         = "routed"
	HopPublished      = "published"
	HopReceived       = "received"
	HopAdapterRequest = "adapter_request"
	HopFirstChunk     = "first_chunk"
	HopAgentDone      = "agent_done"
	HopValidated      = "validated"
	HopStored         = "stored"
	HopCallback       = "callback"
)

// Bounds of a task's hops.
const (
	MaxHops     = 64
	MaxHopBytes = 16 << 10
)

// Hop is one step of a task, with who took it. Detail is a small JSON object.
type Hop struct {
	Hop    string         `json:"hop"`
	At     Time           `json:"at,omitzero"`
	By     string         `json:"by"`
	Detail jsontext.Value `json:"detail,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}
