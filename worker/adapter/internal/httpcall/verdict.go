package httpcall

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

// verdict is what a status says of a call that failed, before the agent's own word.
type verdict struct {
	code   schemas.Code
	reason string
	ran    schemas.Ran
	again  bool // some repeat of the task may help: elsewhere, later, or of an idempotent one
}

// verdictOf is the table of statuses.
func verdictOf(status int) verdict {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		return verdict{schemas.Unavailable, schemas.ReasonNoSuchEndpoint, schemas.RanNo, true}
	case http.StatusTooManyRequests:
		return verdict{schemas.ResourceExhausted, schemas.ReasonBusy, schemas.RanNo, true}
	case http.StatusServiceUnavailable:
		return verdict{schemas.Unavailable, "", schemas.RanNo, true}
	case http.StatusBadGateway:
		return verdict{schemas.Unavailable, "", schemas.RanUnknown, true}
	case http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return verdict{schemas.DeadlineExceeded, "", schemas.RanUnknown, true}
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return verdict{schemas.InvalidArgument, "", schemas.RanNo, false}
	case http.StatusUnauthorized:
		return verdict{schemas.Unauthenticated, "", schemas.RanNo, false}
	case http.StatusForbidden:
		return verdict{schemas.PermissionDenied, "", schemas.RanNo, false}
	case http.StatusConflict:
		return verdict{schemas.FailedPrecondition, "", schemas.RanNo, false}
	case http.StatusRequestEntityTooLarge:
		return verdict{schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge, schemas.RanNo, false}
	case http.StatusNotImplemented:
		return verdict{schemas.Unimplemented, "", schemas.RanNo, false}
	}
	return verdict{schemas.Internal, "", schemas.RanYes, false}
}

// Refused is the failure of a call whose answer has a status that says so. The agent's own word on it counts first.
func (r *Reply) Refused(mapping map[string]schemas.Code) *worker.Failure {
	v := verdictOf(r.Status)
	e := schemas.NewError(v.code, v.reason, "the agent answered %s", StatusLine(r.Status))
	e.Retryable = v.again
	if r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable {
		e.RetryAfterMS = schemas.Milliseconds(retryAfter(r.Header.Get("Retry-After"), time.Now()))
	}
	report, _ := answer.ReadBody(r.Body, true)
	e = answer.WithExcerpt(report.Error(e, mapping), r.Body)
	return &worker.Failure{Err: e.With("agent_status", r.Status), Ran: v.ran}
}

// Ran is the failure of a call that went well, as far as its status says.
func (r *Reply) Ran(e *schemas.Error) *worker.Failure {
	return &worker.Failure{Err: e.With("agent_status", r.Status), Ran: schemas.RanYes}
}

// maxRetryAfter keeps an agent from putting off its tasks for ever.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads a Retry-After, in seconds or as a date; 0 if there is none.
func retryAfter(value string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		wait = time.Duration(min(seconds, int64(maxRetryAfter/time.Second))) * time.Second
	} else if date, err := http.ParseTime(value); err == nil {
		wait = date.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// StatusLine is a status with its name, where it has one.
func StatusLine(status int) string {
	if text := http.StatusText(status); text != "" {
		return fmt.Sprintf("%d %s", status, text)
	}
	return strconv.Itoa(status)
}
