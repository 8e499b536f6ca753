package httpagent

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

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

// judge turns a whole answer into a result or a failure.
func (a *Agent) judge(task *worker.Task, r *reply) (schemas.Payload, *worker.Failure) {
	if r.status/100 != 2 {
		return nil, a.refused(task, r)
	}
	if r.size > a.cfg.MaxResult {
		return nil, ran(answer.TooLarge(a.cfg.MaxResult, r.size), r)
	}
	whole, problem := answer.Value(r.body)
	if problem != nil {
		return nil, ran(problem, r)
	}
	if report, found := a.reported(task, whole); found {
		base := schemas.NewError(schemas.Internal, "", "the agent answered %s with an error", statusLine(r.status))
		e := report.Error(base, task.Offer.ErrorMapping)
		return nil, ran(answer.WithExcerpt(e, r.body), r)
	}
	return a.cfg.Input.result(whole), nil
}

// refused is an answer whose status says that the call failed.
func (a *Agent) refused(task *worker.Task, r *reply) *worker.Failure {
	v := verdictOf(r.status)
	e := schemas.NewError(v.code, v.reason, "the agent answered %s", statusLine(r.status))
	e.Retryable = v.again
	if r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable {
		e.RetryAfterMS = schemas.Milliseconds(retryAfter(r.header.Get("Retry-After"), time.Now()))
	}
	report, _ := answer.ReadBody(r.body, true)
	e = answer.WithExcerpt(report.Error(e, task.Offer.ErrorMapping), r.body)
	return &worker.Failure{Err: e.With("agent_status", r.status), Ran: v.ran}
}

func ran(e *schemas.Error, r *reply) *worker.Failure {
	return &worker.Failure{Err: e.With("agent_status", r.status), Ran: schemas.RanYes}
}

// reported finds the error in an answer whose status says that all went well.
func (a *Agent) reported(task *worker.Task, body schemas.Payload) (answer.Report, bool) {
	if a.cfg.Input == InputPayload && a.declaresError(task) {
		return answer.Report{}, false
	}
	report, found := answer.ReadBody(body, false)
	if found || a.cfg.Input != InputExecute {
		return report, found
	}
	if outer, ok := status(body); !ok || outer != "error" {
		return answer.Report{}, false
	}
	report, _ = answer.ReadBody(body, true)
	return report, true
}

func (a *Agent) declaresError(task *worker.Task) bool {
	capability := task.Message.Capability
	return declares(task.Offer.OutputSchema, "error") || a.cfg.DeclaresError != nil && a.cfg.DeclaresError(capability)
}

// declares tells whether a schema names a property of the result's first level, also in the short form {"error": "string"}.
func declares(schema jsontext.Value, property string) bool {
	var top map[string]jsontext.Value
	if len(schema) == 0 || schemas.Decode(schema, &top) != nil {
		return false
	}
	properties, long := top["properties"]
	if !long {
		return top[property] != nil || top[property+"?"] != nil
	}
	var named map[string]jsontext.Value
	return schemas.Decode(properties, &named) == nil && named[property] != nil
}

// result is what an answer without an error holds: for message and execute what stands under result, if anything does.
func (in Input) result(whole schemas.Payload) schemas.Payload {
	var wrapped struct {
		Result schemas.Payload `json:"result"`
	}
	if in == InputPayload || jsontext.Value(whole).Kind() != '{' {
		return whole
	}
	if err := schemas.Decode(whole, &wrapped); err != nil || wrapped.Result == nil {
		return whole
	}
	return wrapped.Result
}

// status is the member that the execute form has at its first level.
func status(body []byte) (string, bool) {
	var outer struct {
		Status jsontext.Value `json:"status"`
	}
	if jsontext.Value(body).Kind() != '{' || schemas.Decode(body, &outer) != nil || outer.Status.Kind() != '"' {
		return "", false
	}
	unquoted, err := jsontext.AppendUnquote(nil, outer.Status)
	return string(unquoted), err == nil
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

// statusLine is a status with its name, where it has one.
func statusLine(status int) string {
	if text := http.StatusText(status); text != "" {
		return fmt.Sprintf("%d %s", status, text)
	}
	return strconv.Itoa(status)
}
