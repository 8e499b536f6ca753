package openai

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
)

// owned are the members of a request that options cannot set.
var owned = map[string]bool{"model": true, "messages": true, "stream": true, "n": true}

var jsonObject = jsontext.Value(`{"type":"json_object"}`)

// request is the body for a task.
func (a *Agent) request(task *worker.Task) ([]byte, *worker.Failure) {
	messages, err := a.prompt.messages(pieces.Payload(task))
	if err != nil {
		e := schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue,
			"the prompt of %s cannot be made from this payload: a member has another type than the template expects", task.Message.Capability)
		return nil, &worker.Failure{Err: e, Ran: schemas.RanNo}
	}
	members := make(map[string]any, len(a.cfg.Options)+4)
	for name, value := range a.cfg.Options {
		members[name] = value
	}
	if _, set := members["response_format"]; a.cfg.JSON && !set {
		members["response_format"] = jsonObject
	}
	members["model"], members["messages"] = a.cfg.Model, messages
	if !a.cfg.NoStream {
		members["stream"] = true
	}
	body, err := schemas.Encode(members)
	if err != nil {
		return nil, &worker.Failure{Err: schemas.AsError(err), Ran: schemas.RanNo}
	}
	return body, nil
}
