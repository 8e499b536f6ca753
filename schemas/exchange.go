package schemas

import "github.com/go-json-experiment/json/jsontext"

// Pull asks for work: Free slots by capability, FreeTotal over all, Held the sequences that the worker has.
type Pull struct {
	V          Version        `json:"v"`
	AgentID    string         `json:"agent_id"`
	InstanceID string         `json:"instance_id"`
	Free       map[string]int `json:"free,omitempty"`
	FreeTotal  int            `json:"free_total"`
	Held       []uint64       `json:"held,omitempty"`
	After      uint64         `json:"after,omitzero"` // the highest sequence that an answer has told: what it did counts as known
	Begun      bool           `json:"begun,omitzero"` // asks for what this process has begun and does not hold
}

// PullEnd closes the answer to a Pull or a Heartbeat: Count assignments were sent before it, the worker must stop those NotYours,
// and the dispatcher had folded the ledger up to Applied.
type PullEnd struct {
	V        Version  `json:"v"`
	Count    int      `json:"count"`
	NotYours []uint64 `json:"not_yours,omitempty"`
	Applied  uint64   `json:"applied"`
	Begun    []Token  `json:"begun,omitempty"` // what the process has begun and does not hold, where the Pull asks for it
}

// Token names a task where it stands.
type Token struct {
	TaskID   string `json:"task_id"`
	Sequence uint64 `json:"sequence"`
}

// Begin asks for the right to start a non-idempotent task. Release gives back one that was not begun. Both name the sequence they
// act on and a random WriteID that makes them safe to repeat.
type Begin struct {
	V          Version `json:"v"`
	AgentID    string  `json:"agent_id,omitzero"` // of one that is posted
	TaskID     string  `json:"task_id"`
	Attempt    int     `json:"attempt"`
	Sequence   uint64  `json:"sequence"`
	InstanceID string  `json:"instance_id"`
	WriteID    string  `json:"write_id"`
}

// Release is a Begin that wants out.
type Release = Begin

// Ran says whether an agent did any work in an attempt that failed: what a retry may do depends on it.
type Ran string

// The three answers to "did it run?".
const (
	RanNo      Ran = "no"      // it was not reached, or refused before it did anything
	RanUnknown Ran = "unknown" // it was asked, and what it did is not known
	RanYes     Ran = "yes"     // it ran and failed
)

// Result is what a worker says at the end of an attempt. It is believed in these fields alone. State is completed, failed, or,
// only before begin, rejected.
type Result struct {
	V          Version  `json:"v"`
	TaskID     string   `json:"task_id"`
	AgentID    string   `json:"agent_id"`
	Attempt    int      `json:"attempt"`
	Sequence   uint64   `json:"sequence"`
	InstanceID string   `json:"instance_id,omitzero"`
	WriteID    string   `json:"write_id,omitzero"`
	State      State    `json:"state"`
	Result     Payload  `json:"result,omitzero"`
	ResultRef  *BodyRef `json:"result_ref,omitzero"` // in place of Result, once its parts are put
	Error      *Error   `json:"error,omitzero"`
	Partial    bool     `json:"partial"`
	Chunks     int64    `json:"chunks"`          // the number of the last one; 0 if the attempt had none
	Stalls     int64    `json:"stalls,omitzero"` // chunks that waited for their readers while the agent was not read
	Ran        Ran      `json:"ran,omitzero"`    // of a failed attempt: whether the agent did anything
	StartedAt  Time     `json:"started_at,omitzero"`
	FinishedAt Time     `json:"finished_at,omitzero"`
	Hops       []Hop    `json:"hops,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

// Outcome is how a Begin, Finish or Release ended.
type Outcome string

// The outcomes.
const (
	OutcomeStored       Outcome = "stored"        // done; Sequence is the new token
	OutcomeAlreadyYours Outcome = "already_yours" // a repeat of what was stored before
	OutcomeSuperseded   Outcome = "superseded"    // someone else moved or ended the task: stop, do not repeat
	OutcomeTryAgain     Outcome = "try_again"     // not known yet: send the same again
)

// Answer is the reply to Begin, Finish and Release. Error says why a result was stored as a failure, or a request refused. Idle says
// that nothing waits which the agent could take, so that its worker need not ask.
type Answer struct {
	V        Version `json:"v"`
	Outcome  Outcome `json:"outcome"`
	Sequence uint64  `json:"sequence,omitzero"`
	Idle     bool    `json:"idle,omitzero"`
	Error    *Error  `json:"error,omitzero"`
}

// What a Control asks of a worker.
const (
	DoCancel = "cancel"
	DoDrain  = "drain"
	DoResume = "resume"
	DoPing   = "ping"
	DoProbe  = "probe"
	DoBeat   = "beat" // to a worker that has adopted the agent: the agent itself says that it lives
)

// PingRegister is the reason of a ping on behalf of another process that would serve the agent.
const PingRegister = "REGISTER"

// BeatGoodbye is the reason of a beat by which an agent says that it stops.
const BeatGoodbye = "OFFLINE"

// Control is a dispatcher's word to a worker.
type Control struct {
	V        Version `json:"v"`
	Do       string  `json:"do"`
	TaskID   string  `json:"task_id,omitzero"`
	Sequence uint64  `json:"sequence,omitzero"`
	Reason   string  `json:"reason,omitzero"`

	Capability string  `json:"capability,omitzero"` // of a probe
	Payload    Payload `json:"payload,omitzero"`    // a probe's input; absent: only the health check

	Capabilities []string `json:"capabilities,omitempty"` // of a beat: what the agent can do now; absent: everything
	LoadAvg      float64  `json:"load_avg,omitzero"`      // of a beat
}

// ControlReply answers a Control; Confirmed says whether the agent itself acknowledged a stop, Error why a probe failed.
type ControlReply struct {
	V          Version `json:"v"`
	OK         bool    `json:"ok"`
	InstanceID string  `json:"instance_id"`
	Confirmed  bool    `json:"confirmed,omitzero"`
	Error      *Error  `json:"error,omitzero"`
}

// Capability is an entry of the dictionary: a named contract, the same on every device.
type Capability struct {
	V             Version         `json:"v"`
	ID            string          `json:"id"`
	Description   string          `json:"description,omitzero"`
	InputSchema   jsontext.Value  `json:"input_schema"`
	OutputSchema  jsontext.Value  `json:"output_schema"`
	ChunkSchema   jsontext.Value  `json:"chunk_schema,omitzero"` // of each piece of a result; absent: any JSON
	TimeoutHintMS int64           `json:"timeout_hint_ms,omitzero"`
	Idempotent    bool            `json:"idempotent"`
	Probe         Payload         `json:"probe,omitzero"`
	Aliases       []string        `json:"aliases,omitempty"`
	Tags          []string        `json:"tags,omitempty"`
	ErrorMapping  map[string]Code `json:"error_mapping,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

// CapabilityQuery asks for the capabilities after a page.
type CapabilityQuery struct {
	V         Version `json:"v"`
	PageToken string  `json:"page_token,omitzero"`
}

// CapabilityPage lists the dictionary: as much of it as the way of its answer takes.
type CapabilityPage struct {
	V             Version      `json:"v"`
	Items         []Capability `json:"items"`
	NextPageToken string       `json:"next_page_token,omitzero"`
}

// CapabilityRef names a capability in a request.
type CapabilityRef struct {
	V  Version `json:"v"`
	ID string  `json:"id"`
}

// AddCapability puts an entry into the dictionary; without Replace it only creates.
type AddCapability struct {
	V          Version    `json:"v"`
	Capability Capability `json:"capability"`
	Replace    bool       `json:"replace,omitzero"`
}
