package httpfront

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// statuses is the HTTP status of each code. special and fromAgent know the exceptions.
var statuses = map[schemas.Code]int{
	schemas.InvalidArgument:    http.StatusBadRequest,
	schemas.OutOfRange:         http.StatusBadRequest,
	schemas.FailedPrecondition: http.StatusBadRequest,
	schemas.Unauthenticated:    http.StatusUnauthorized,
	schemas.PermissionDenied:   http.StatusForbidden,
	schemas.NotFound:           http.StatusNotFound,
	schemas.AlreadyExists:      http.StatusConflict,
	schemas.Aborted:            http.StatusConflict,
	schemas.ResourceExhausted:  http.StatusTooManyRequests,
	schemas.Cancelled:          statusClientClosed,
	schemas.Internal:           http.StatusInternalServerError,
	schemas.Unknown:            http.StatusInternalServerError,
	schemas.DataLoss:           http.StatusInternalServerError,
	schemas.Unimplemented:      http.StatusNotImplemented,
	schemas.Unavailable:        http.StatusServiceUnavailable,
	schemas.DeadlineExceeded:   http.StatusGatewayTimeout,
}

// Reasons that only HTTP has.
const (
	reasonNoSuchPath      = "NO_SUCH_PATH"
	reasonNoSuchVerb      = "NO_SUCH_VERB"
	reasonMethod          = "METHOD_NOT_ALLOWED"
	reasonMediaType       = "UNSUPPORTED_MEDIA_TYPE"
	reasonBodyTimeout     = "BODY_TIMEOUT"
	reasonBodyUnreadable  = "BODY_UNREADABLE"
	reasonBodyMissing     = "BODY_MISSING"
	reasonKeysDiffer      = "IDEMPOTENCY_KEYS_DIFFER"
	reasonCrossOrigin     = "CROSS_ORIGIN"
	reasonTooManyRequests = "TOO_MANY_REQUESTS"
	reasonNotReady        = "NOT_READY"
	reasonRange           = "RANGE_NOT_SATISFIABLE"
	reasonPrecondition    = "PRECONDITION_FAILED"
	reasonHTTPVersion     = "HTTP_VERSION_NOT_SUPPORTED"
)

// kind is what a code with a reason stands for.
type kind struct {
	code   schemas.Code
	reason string
}

// special is the status of a code where the reason decides.
var special = map[kind]int{
	{schemas.NotFound, schemas.ReasonExpired}:                  http.StatusGone,
	{schemas.AlreadyExists, schemas.ReasonKeyReused}:           http.StatusUnprocessableEntity,
	{schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge}: http.StatusRequestEntityTooLarge,
	{schemas.ResourceExhausted, schemas.ReasonResultTooLarge}:  http.StatusRequestEntityTooLarge,
	{schemas.InvalidArgument, reasonMediaType}:                 http.StatusUnsupportedMediaType,
	{schemas.Unimplemented, reasonMethod}:                      http.StatusMethodNotAllowed,
	{schemas.DeadlineExceeded, reasonBodyTimeout}:              http.StatusRequestTimeout,
	{schemas.OutOfRange, reasonRange}:                          http.StatusRequestedRangeNotSatisfiable,
	{schemas.FailedPrecondition, reasonPrecondition}:           http.StatusPreconditionFailed,
	{schemas.Unimplemented, reasonHTTPVersion}:                 http.StatusHTTPVersionNotSupported,
}

// fromAgent is the status of a code that an agent gave: it says nothing about this server or its caller.
var fromAgent = map[schemas.Code]int{
	schemas.Unauthenticated:  http.StatusBadGateway,
	schemas.PermissionDenied: http.StatusBadGateway,
	schemas.Internal:         http.StatusBadGateway,
	schemas.Unknown:          http.StatusBadGateway,
	schemas.DataLoss:         http.StatusBadGateway,
}

// statusClientClosed is what proxies log for a caller that left; the standard has no number for it.
const statusClientClosed = 499

// statusOf is the HTTP status of an error.
func statusOf(e *schemas.Error) int {
	if status, found := special[kind{e.Code, e.Reason}]; found {
		return status
	}
	var origin string
	if status, found := fromAgent[e.Code]; found && e.Detail("origin", &origin) && origin == "agent" {
		return status
	}
	if status, found := statuses[e.Code]; found {
		return status
	}
	return http.StatusInternalServerError
}

// problem is an error as HTTP has it: RFC 9457, with the members of schemas.Error beside the standard ones.
type problem struct {
	Type         string                    `json:"type"`
	Title        string                    `json:"title"`
	Status       int                       `json:"status"`
	Detail       string                    `json:"detail"`
	Code         schemas.Code              `json:"code"`
	Reason       string                    `json:"reason,omitzero"`
	Retryable    bool                      `json:"retryable"`
	RetryAfterMS int64                     `json:"retry_after_ms,omitzero"`
	Details      map[string]jsontext.Value `json:"details,omitempty"`
	TaskID       string                    `json:"task_id,omitzero"`
	TraceID      string                    `json:"trace_id,omitzero"`
}

var (
	_ huma.StatusError       = (*problem)(nil)
	_ huma.HeadersError      = (*problem)(nil)
	_ huma.ContentTypeFilter = (*problem)(nil)
)

// problemType is the media type of every error.
const problemType = "application/problem+json"

// newProblem is err as a problem; what is not an *schemas.Error becomes INTERNAL, without its text.
func newProblem(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	e := schemas.AsError(err)
	status := statusOf(e)
	return &problem{
		Type: "about:blank", Title: title(status), Status: status, Detail: e.Message, Code: e.Code, Reason: e.Reason,
		Retryable: e.Retryable, RetryAfterMS: e.RetryAfterMS, Details: e.Details,
	}
}

// taskProblem is the error of a task that ended without a result.
func taskProblem(task *schemas.Task) *problem {
	e := task.Error
	if e == nil {
		e = schemas.NewError(schemas.Unknown, "", "the task ended %s, without saying why", task.State)
	}
	p := newProblem(e)
	p.TaskID, p.TraceID = task.TaskID, task.TraceID
	return p
}

func title(status int) string {
	if status == statusClientClosed {
		return "Client Closed Request"
	}
	return http.StatusText(status)
}

// Error is the sentence for people.
func (p *problem) Error() string { return p.Detail }

// GetStatus serves huma.
func (p *problem) GetStatus() int { return p.Status }

// ContentType serves huma.
func (p *problem) ContentType(string) string { return problemType }

// GetHeaders says when to come back: always with 429, with 503 where it is known.
func (p *problem) GetHeaders() http.Header {
	header := http.Header{}
	wait := schemas.Duration(p.RetryAfterMS)
	switch {
	case p.Status == http.StatusTooManyRequests, p.Status == http.StatusServiceUnavailable && wait > 0:
		header.Set("Retry-After", retryAfter(wait))
	}
	return header
}

// retryAfter is a delay as the Retry-After header has it: whole seconds, at least one.
func retryAfter(d time.Duration) string {
	seconds := (d + time.Second - 1) / time.Second
	return strconv.FormatInt(max(1, int64(seconds)), 10)
}

// write sends the problem where huma is not at work.
func (p *problem) write(w http.ResponseWriter) {
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(schemas.MustEncode(p))
}

// refuse sends an error where huma is not at work.
func refuse(w http.ResponseWriter, err error) { newProblem(err).write(w) }

// huma makes its errors through one variable of its package. Nothing of a request is ever quoted in them.
func init() { huma.NewError = humaProblem }

// humaProblem is what huma calls for errors of its own: a parameter it cannot parse, a body it cannot read.
func humaProblem(status int, _ string, errs ...error) huma.StatusError {
	for _, err := range errs {
		if p := knownProblem(err); p != nil {
			return p
		}
	}
	switch status {
	case http.StatusRequestTimeout:
		return newProblem(schemas.NewError(schemas.DeadlineExceeded, reasonBodyTimeout, "the body did not arrive in time"))
	case http.StatusInternalServerError:
		return newProblem(schemas.NewError(schemas.InvalidArgument, reasonBodyUnreadable, "the body could not be read"))
	}
	return newProblem(schemas.NewError(schemas.InvalidArgument, reasonBodyMissing, "this operation needs a JSON body"))
}

// knownProblem is the problem within an error that came through huma; nil if it says nothing to us.
func knownProblem(err error) *problem {
	var (
		oversized *http.MaxBytesError
		detail    *huma.ErrorDetail
		ours      *problem
	)
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &oversized):
		return newProblem(tooLarge("body", oversized.Limit, -1))
	case errors.As(err, &detail):
		_, name, _ := strings.Cut(detail.Location, ".")
		return newProblem(badQuery(name, parameterTakes(name, detail.Message)))
	}
	return nil
}

// parameterTakes says what a parameter takes that huma could not parse.
func parameterTakes(name, message string) string {
	switch {
	case name == "page_size":
		return fmt.Sprintf("1 to %d is expected", schemas.MaxPageSize)
	case strings.HasSuffix(message, "boolean"):
		return "true or false is expected"
	case strings.HasSuffix(message, "integer"):
		return "a whole number is expected"
	}
	return message
}

// badQuery refuses a query parameter.
func badQuery(name, message string) *schemas.Error {
	return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue, "%s: %s", name, message).With("field", "/"+name)
}

// tooLarge names both sizes; a negative size is one that the caller did not say.
func tooLarge(what string, limit, size int64) *schemas.Error {
	e := schemas.NewError(schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge, "the %s is larger than %d bytes", what, limit).
		With("limit_bytes", limit)
	if size < 0 {
		return e
	}
	e.Message = fmt.Sprintf("the %s of %d bytes is larger than %d", what, size, limit)
	return e.With("size_bytes", size)
}
