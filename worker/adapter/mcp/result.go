package mcp

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

// toolResult is what a tool answered.
type toolResult struct {
	Content           []jsontext.Value `json:"content"`
	StructuredContent jsontext.Value   `json:"structuredContent"`
	IsError           bool             `json:"isError"`
	InputRequests     jsontext.Value   `json:"inputRequests"`
}

// judge is the result of a call, or the failure that the tool reported.
func (a *Agent) judge(task *worker.Task, raw []byte) (schemas.Payload, *worker.Failure) {
	var r toolResult
	if err := schemas.Decode(raw, &r); err != nil {
		return nil, odd("the server's answer is not that of a tool", raw)
	}
	switch {
	case r.IsError:
		return nil, r.failure(task.Offer.ErrorMapping)
	case r.InputRequests != nil:
		return nil, odd("the tool asks for input, which a task cannot give", nil)
	case r.StructuredContent != nil && r.StructuredContent.Kind() != 'n':
		return valued(r.StructuredContent)
	}
	text, whole := r.text()
	switch {
	case !whole:
		return schemas.MustEncode(map[string]any{"content": r.Content}), nil
	case len(r.Content) == 0:
		return valued(nil)
	}
	return a.textsOf(task.Message.Capability).result(text, task.Offer.OutputSchema != nil)
}

func valued(raw []byte) (schemas.Payload, *worker.Failure) {
	result, problem := answer.Value(raw)
	if problem != nil {
		return nil, &worker.Failure{Err: problem, Ran: schemas.RanYes}
	}
	return result, nil
}

func odd(message string, said []byte) *worker.Failure {
	e := schemas.NewError(schemas.Internal, schemas.ReasonProtocol, "%s", message)
	return &worker.Failure{Err: answer.WithExcerpt(answer.FromAgent(e), said), Ran: schemas.RanYes}
}

// text is the texts of an answer, a line each. It reports false if there is anything else, or an image and the like.
func (r *toolResult) text() (string, bool) {
	var texts []string
	for _, raw := range r.Content {
		var content struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if schemas.Decode(raw, &content) != nil || content.Type != "text" {
			return "", false
		}
		texts = append(texts, content.Text)
	}
	return strings.Join(texts, "\n"), true
}

// failure is what a tool says of its own failure: in a structure, in a text that is JSON, or in words.
func (r *toolResult) failure(mapping map[string]schemas.Code) *worker.Failure {
	text, _ := r.text()
	report, found := answer.ReadBody(r.StructuredContent, true)
	if !found {
		report, found = answer.ReadBody([]byte(text), true)
	}
	if !found {
		report, _ = answer.ReadReport(schemas.MustEncode(strings.ToValidUTF8(text, "\uFFFD")))
	}
	base := schemas.NewError(schemas.Internal, "", "the tool reported an error without details")
	return &worker.Failure{Err: answer.WithExcerpt(report.Error(base, mapping), []byte(text)), Ran: schemas.RanYes}
}
