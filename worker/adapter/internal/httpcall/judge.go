package httpcall

import (
	"mime"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

// Judge turns whole answers into results and failures.
type Judge struct {
	Input     Input
	MaxResult int64 // bytes of an answer
}

// Result is what a whole answer holds.
func (j *Judge) Result(task *worker.Task, r *Reply) (schemas.Payload, *worker.Failure) {
	if r.Status/100 != 2 {
		return nil, r.Refused(task.Offer.ErrorMapping)
	}
	if r.Size > j.MaxResult {
		return nil, r.Ran(answer.TooLarge(j.MaxResult, r.Size))
	}
	whole, problem := answer.Value(r.Body)
	if problem != nil && r.page() {
		problem.Message = "the agent answered with a page, text/html, and not with JSON: is the path of the endpoint right?"
	}
	if problem != nil {
		return nil, r.Ran(problem)
	}
	if report, found := j.reported(task, whole); found {
		base := schemas.NewError(schemas.Internal, "", "the agent answered %s with an error", StatusLine(r.Status))
		e := report.Error(base, task.Offer.ErrorMapping)
		return nil, r.Ran(answer.WithExcerpt(e, r.Body))
	}
	return j.Input.Unwrap(whole), nil
}

// page reports whether an answer is meant for people.
func (r *Reply) page() bool {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return media == "text/html"
}

// reported finds the error in an answer whose status says that all went well.
func (j *Judge) reported(task *worker.Task, body schemas.Payload) (answer.Report, bool) {
	if j.Input == InputPayload && declaresError(task) {
		return answer.Report{}, false
	}
	report, found := answer.ReadBody(body, false)
	if found || j.Input != InputExecute {
		return report, found
	}
	if outer, ok := status(body); !ok || outer != "error" {
		return answer.Report{}, false
	}
	report, _ = answer.ReadBody(body, true)
	return report, true
}

// declaresError reports whether a result may have a member called error that is no sign of failure: the agent's own contract names one,
// or, as the dispatcher says, the dictionary's does.
func declaresError(task *worker.Task) bool {
	assignment := task.Message.Assignment
	return declares(task.Offer.OutputSchema, "error") || assignment != nil && assignment.ErrorMember
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

// Unwrap is what an answer without an error holds: for message and execute what stands under result, if anything does.
func (in Input) Unwrap(whole schemas.Payload) schemas.Payload {
	if in == InputPayload {
		return whole
	}
	if result := answer.Under(whole, "result"); result != nil {
		return schemas.Payload(result)
	}
	return whole
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
