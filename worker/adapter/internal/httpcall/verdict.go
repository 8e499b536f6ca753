package httpcall

import (
	"bytes"
	"cmp"
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

// advice is what to do about a status, where the agent says nothing itself.
var advice = map[int]string{
	http.StatusNotFound:         ": is the path of the endpoint right?",
	http.StatusGone:             ": is the path of the endpoint right?",
	http.StatusMethodNotAllowed: ": is this the endpoint for tasks, and its transport?",
	http.StatusUnauthorized:     ": it needs credentials, or other ones; put them into transport.headers",
	http.StatusForbidden:        ": it does not admit this worker, or needs other credentials in transport.headers",
}

// overTLS reports whether the status says that the other side wanted TLS: servers answer what came without it in so many words.
func (r *Reply) overTLS() bool {
	if r.Status != http.StatusBadRequest {
		return false
	}
	for _, words := range []string{"HTTP request to an HTTPS server", "plain HTTP request was sent to HTTPS port", "plain HTTP to an SSL-enabled server port"} {
		if bytes.Contains(r.Body, []byte(words)) {
			return true
		}
	}
	return false
}

// Refused is the failure of a call whose answer has a status that says so. The agent's own word on it counts first.
func (r *Reply) Refused(mapping map[string]schemas.Code) *worker.Failure {
	v, what := verdictOf(r.Status), ""
	if r.overTLS() {
		v = verdict{schemas.Unavailable, schemas.ReasonCannotConnect, schemas.RanNo, true}
		what = ": the port expects TLS: use https or wss"
	}
	e := schemas.NewError(v.code, v.reason, "the agent answered %s%s", StatusLine(r.Status), cmp.Or(what, advice[r.Status]))
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
