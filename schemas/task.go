package schemas

import "github.com/go-json-experiment/json/jsontext"

// State is where a task stands, in the words of the A2A protocol (https://a2a-protocol.org).
type State string

// The states; the last four are terminal.
const (
	StateSubmitted     State = "submitted"
	StateWorking       State = "working"
	StateInputRequired State = "input_required"
	StateAuthRequired  State = "auth_required"
	StateCompleted     State = "completed"
	StateFailed        State = "failed"
	StateCanceled      State = "canceled"
	StateRejected      State = "rejected"
)

// Terminal reports whether a task in this state has ended for good.
func (s State) Terminal() bool {
	return s == StateCompleted || s == StateFailed || s == StateCanceled || s == StateRejected
}

// Phase is the finer step of a task, and a token of its subject in the ledger.
type Phase string

// The phases.
const (
	PhaseScheduled Phase = "scheduled"
	PhaseQueued    Phase = "queued"
	PhaseAssigned  Phase = "assigned"
	PhaseBegun     Phase = "begun"
	PhaseDone      Phase = "done"
)

// OpenState is the state of a task that has not ended: it follows from the phase alone, but for a scheduled retry, which works on.
func OpenState(phase Phase, attempt int) State {
	switch phase {
	case PhaseAssigned, PhaseBegun:
		return StateWorking
	case PhaseScheduled:
		if attempt > 0 {
			return StateWorking
		}
	}
	return StateSubmitted
}

// Task is what every reader of a task sees: the answer of submit, get, wait and cancel, an item of a list, a result message.
// Revision is the ledger's sequence. Result may be the JSON null; Error is there for every terminal state but completed.
type Task struct {
	V           Version   `json:"v"`
	TaskID      string    `json:"task_id"`
	MsgID       string    `json:"msg_id,omitzero"`
	State       State     `json:"state"`
	Phase       Phase     `json:"phase"`
	Capability  string    `json:"capability"`
	AgentID     string    `json:"agent_id,omitzero"`
	Attempt     int       `json:"attempt"`
	Revision    uint64    `json:"revision,omitzero"`
	SubmittedAt Time      `json:"submitted_at,omitzero"`
	StartedAt   Time      `json:"started_at,omitzero"`
	FinishedAt  Time      `json:"finished_at,omitzero"`
	NotBefore   Time      `json:"not_before,omitzero"`
	ExpiresAt   Time      `json:"expires_at,omitzero"`
	KeptUntil   Time      `json:"kept_until,omitzero"`
	Progress    *Progress `json:"progress,omitzero"`
	Queue       *Queue    `json:"queue,omitzero"`
	Cancel      *Cancel   `json:"cancel,omitzero"`
	Result      Payload   `json:"result,omitzero"`
	ResultRef   *BodyRef  `json:"result_ref,omitzero"` // in place of Result, where that is too large for a message
	Partial     bool      `json:"partial"`             // the result is what was there of a realtime task at its run limit
	Slow        bool      `json:"slow,omitzero"`       // its attempt takes, or took, longer than was expected
	Chunks      int64     `json:"chunks,omitzero"`     // the number of the last chunk of its stream, where that is known
	Error       *Error    `json:"error,omitzero"`
	RetryOf     string    `json:"retry_of,omitzero"`
	RetriedAs   string    `json:"retried_as,omitzero"`
	TraceID     string    `json:"trace_id,omitzero"`
	DeadLetter  bool      `json:"dead_letter,omitzero"` // it failed on its way, and waits for a person
	LateResult  Payload   `json:"late_result,omitzero"` // what came after the task had ended as ABORTED
	Callback    *Callback `json:"callback,omitzero"`    // how the telling of its end stands, where that was asked for
	Schedule    string    `json:"schedule,omitzero"`    // the name of the schedule that it is an occurrence of

	Unknown jsontext.Value `json:",embed"`
}

// CallbackState is where the telling of a task's end stands.
type CallbackState string

// The states of a callback; one that has failed is made again only when somebody asks for it.
const (
	CallbackWaiting   CallbackState = "waiting"
	CallbackDelivered CallbackState = "delivered"
	CallbackFailed    CallbackState = "failed"
)

// Callback is the telling of a task's end to the URL that its caller gave. Status and Error are of the last attempt, NextAt is when the
// next one is due.
type Callback struct {
	State       CallbackState `json:"state"`
	URL         string        `json:"url"`
	Attempts    int           `json:"attempts"`
	NextAt      Time          `json:"next_at,omitzero"`
	DeliveredAt Time          `json:"delivered_at,omitzero"`
	Status      int           `json:"status,omitzero"` // of HTTP
	Error       *Error        `json:"error,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

// Record is the body of a done message in the ledger: the Task that readers see, and what only the house needs. Message is the
// whole message of a dead letter, so that it can be replayed for as long as it is kept. Amended says that the record replaces an
// earlier one of the same end: its state is the same, and it is no news; First is then the revision that was.
type Record struct {
	Task
	Tenant  string  `json:"tenant"`
	Hops    []Hop   `json:"hops,omitempty"`
	Message Payload `json:"message,omitzero"` // a ReachMessage
	Amended bool    `json:"amended,omitzero"`
	First   uint64  `json:"first_revision,omitzero"`
}

// Progress is the agent's own word on how far it is. Fraction is 0 to 1, or absent.
type Progress struct {
	Fraction *float64 `json:"fraction,omitzero"`
	Message  string   `json:"message,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

// Queue is where a waiting task stands: Position counts from 1.
type Queue struct {
	Position         int   `json:"position"`
	EstimatedStartMS int64 `json:"estimated_start_ms,omitzero"`
}

// Cancel is how a cancel ended: Won if it ended the task, Confirmed if the agent itself acknowledged the stop.
type Cancel struct {
	Won       bool `json:"won"`
	Confirmed bool `json:"confirmed"`
}

// Trace is a task's way through the house, hop by hop.
type Trace struct {
	V       Version `json:"v"`
	TraceID string  `json:"trace_id"`
	Task    Task    `json:"task"`
	Hops    []Hop   `json:"hops"`
}

// Bounds of a page of a list.
const (
	DefaultPageSize = 50
	MaxPageSize     = 100
)

// TaskQuery selects tasks of a list, newest first. Empty fields select all.
type TaskQuery struct {
	V          Version       `json:"v"`
	State      State         `json:"state,omitzero"`
	Capability string        `json:"capability,omitzero"`
	AgentID    string        `json:"agent_id,omitzero"`
	DeadLetter bool          `json:"dead_letter,omitzero"` // dead letters alone
	Callback   CallbackState `json:"callback,omitzero"`    // only tasks whose callback stands so
	PageSize   int           `json:"page_size,omitzero"`   // 1 to 100, 50 when absent
	PageToken  string        `json:"page_token,omitzero"`
}

// TaskPage is one page of a list. Its items are without their results, and their places in a queue: a look at the task itself has them.
type TaskPage struct {
	V             Version `json:"v"`
	Items         []Task  `json:"items"`
	NextPageToken string  `json:"next_page_token,omitzero"`
}

// TaskRef names a task in a get, wait or cancel request.
type TaskRef struct {
	V      Version `json:"v"`
	TaskID string  `json:"task_id"`
	WaitMS int64   `json:"wait_ms,omitzero"`
	Reason string  `json:"reason,omitzero"`
}
