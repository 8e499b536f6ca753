package schemas

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Code is one of the standard status names of gRPC (https://grpc.io/docs/guides/status-codes/), OK left out.
type Code string

// The codes, in gRPC's order and spelling.
const (
	Cancelled          Code = "CANCELLED"
	Unknown            Code = "UNKNOWN"
	InvalidArgument    Code = "INVALID_ARGUMENT"
	DeadlineExceeded   Code = "DEADLINE_EXCEEDED"
	NotFound           Code = "NOT_FOUND"
	AlreadyExists      Code = "ALREADY_EXISTS"
	PermissionDenied   Code = "PERMISSION_DENIED"
	ResourceExhausted  Code = "RESOURCE_EXHAUSTED"
	FailedPrecondition Code = "FAILED_PRECONDITION"
	Aborted            Code = "ABORTED"
	OutOfRange         Code = "OUT_OF_RANGE"
	Unimplemented      Code = "UNIMPLEMENTED"
	Internal           Code = "INTERNAL"
	Unavailable        Code = "UNAVAILABLE"
	DataLoss           Code = "DATA_LOSS"
	Unauthenticated    Code = "UNAUTHENTICATED"
)

// Codes lists every code.
var Codes = []Code{
	Cancelled, Unknown, InvalidArgument, DeadlineExceeded, NotFound, AlreadyExists, PermissionDenied, ResourceExhausted,
	FailedPrecondition, Aborted, OutOfRange, Unimplemented, Internal, Unavailable, DataLoss, Unauthenticated,
}

// Standard reports whether c is one of Codes.
func (c Code) Standard() bool {
	for _, known := range Codes {
		if c == known {
			return true
		}
	}
	return false
}

// Reasons that more than one package names. Reason is UPPER_SNAKE.
const (
	ReasonInputSchema       = "INPUT_SCHEMA_MISMATCH"
	ReasonOutputSchema      = "OUTPUT_SCHEMA_MISMATCH"
	ReasonPayloadTooLarge   = "PAYLOAD_TOO_LARGE"
	ReasonResultTooLarge    = "RESULT_TOO_LARGE"
	ReasonKeyReused         = "IDEMPOTENCY_KEY_REUSED"
	ReasonExpired           = "EXPIRED"
	ReasonOutcomeUnknown    = "OUTCOME_UNKNOWN"
	ReasonRunLimit          = "RUN_LIMIT"
	ReasonNoAgent           = "NO_AGENT_ONLINE"
	ReasonBusy              = "BUSY"
	ReasonQueueFull         = "QUEUE_FULL"
	ReasonLedgerFull        = "LEDGER_FULL"
	ReasonMayHaveExecuted   = "MAY_HAVE_EXECUTED"
	ReasonWorkerStopped     = "WORKER_STOPPED"
	ReasonCanceled          = "CANCELED"
	ReasonTooManyAttempts   = "TOO_MANY_ATTEMPTS"
	ReasonNoSuchEndpoint    = "NO_SUCH_ENDPOINT"
	ReasonCannotConnect     = "CANNOT_CONNECT"
	ReasonConnectionLost    = "CONNECTION_LOST"
	ReasonNotJSON           = "NOT_JSON"
	ReasonProtocol          = "PROTOCOL"
	ReasonRedirectRefused   = "REDIRECT_REFUSED"
	ReasonBadName           = "BAD_NAME"
	ReasonBadValue          = "BAD_VALUE"
	ReasonWrongType         = "WRONG_TYPE"
	ReasonDuplicateName     = "DUPLICATE_NAME"
	ReasonTooDeep           = "JSON_TOO_DEEP"
	ReasonTooManyMembers    = "JSON_TOO_MANY_MEMBERS"
	ReasonBadNumber         = "NUMBER_OUT_OF_RANGE"
	ReasonVersion           = "UNSUPPORTED_VERSION"
	ReasonBrokerOutage      = "BROKER_UNAVAILABLE"
	ReasonNoDispatcher      = "NO_DISPATCHER"
	ReasonUnknownTask       = "UNKNOWN_TASK"
	ReasonNoDeadLetter      = "NO_DEAD_LETTER"
	ReasonUnknownAgent      = "UNKNOWN_AGENT"
	ReasonUnknownCapability = "UNKNOWN_CAPABILITY"
)

// Error is the only error that crosses a border of the house: a process, a front, an agent. Message is one sentence that says what
// to do next; it never quotes a payload. Details holds raw JSON values by name.
type Error struct {
	Code         Code                      `json:"code"`
	Reason       string                    `json:"reason,omitzero"`
	Message      string                    `json:"message"`
	Retryable    bool                      `json:"retryable"`
	RetryAfterMS int64                     `json:"retry_after_ms,omitzero"`
	Details      map[string]jsontext.Value `json:"details,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

// NewError is an error with a formatted message. UNAVAILABLE and RESOURCE_EXHAUSTED are retryable until said otherwise, except
// what is too large, which no repeat makes smaller.
func NewError(code Code, reason, format string, args ...any) *Error {
	tooLarge := reason == ReasonPayloadTooLarge || reason == ReasonResultTooLarge
	retryable := code == Unavailable || code == ResourceExhausted && !tooLarge
	return &Error{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...), Retryable: retryable}
}

// Error is the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// With returns e with one more detail. A value that JSON cannot hold is left out.
func (e *Error) With(name string, value any) *Error {
	raw, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return e
	}
	if e.Details == nil {
		e.Details = make(map[string]jsontext.Value)
	}
	e.Details[name] = raw
	return e
}

// OverRunLimit reports whether an attempt was stopped at its run limit. An agent that answers with such an error has answered.
func (e *Error) OverRunLimit() bool {
	var origin string
	return e.Code == DeadlineExceeded && e.Reason == ReasonRunLimit && !e.Detail("origin", &origin)
}

// Detail reads one detail into value, a pointer, and reports whether it was there and fitted.
func (e *Error) Detail(name string, value any) bool {
	raw, found := e.Details[name]
	return found && json.Unmarshal(raw, value) == nil
}

// AsError is the *Error within err; anything else becomes INTERNAL without its text, which may say too much.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return NewError(Internal, "", "an internal error; the log of the process that answered says more")
}
