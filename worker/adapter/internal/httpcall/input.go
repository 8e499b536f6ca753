package httpcall

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
)

// Input is what an agent is given as the body of a request.
type Input string

// The inputs.
const (
	InputPayload Input = "payload" // the bare payload; the whole answer is the result
	InputMessage Input = "message" // the ReachMessage; the answer is {"result": …} or {"error": …}
	InputExecute Input = "execute" // {"capability", "payload", "token", "request_id"}; as message, or with a status
)

// Of is the input of an endpoint with that path.
func (in Input) Of(path string) (Input, error) {
	switch in {
	case InputPayload, InputMessage, InputExecute:
		return in, nil
	case "":
		return byPath(path), nil
	}
	return "", fmt.Errorf("input %q is not payload, message or execute", string(in))
}

func byPath(path string) Input {
	switch {
	case strings.HasSuffix(path, "/reach"):
		return InputMessage
	case strings.HasSuffix(path, "/execute"):
		return InputExecute
	}
	return InputPayload
}

// execute is the body for agents made for that form, without its payload. Both token and request_id are the task_id.
type execute struct {
	Capability string `json:"capability"`
	Token      string `json:"token"`
	RequestID  string `json:"request_id"`
}

// Body is what goes out for a task. An absent payload is the empty object.
func (in Input) Body(task *worker.Task) (pieces.Message, error) {
	payload := pieces.Payload(task)
	switch in {
	case InputMessage:
		message := *task.Message
		message.Payload, message.Hops = nil, nil
		return pieces.With(&message, "payload", payload)
	case InputExecute:
		return pieces.With(&execute{task.Message.Capability, task.ID(), task.ID()}, "payload", payload)
	}
	return pieces.Of(payload), nil
}

// TaskHeader names the task. What an agent's owner configured comes first and may change Accept, Content-Type and User-Agent.
func (c *Client) TaskHeader(task *worker.Task, accept string) http.Header {
	header := http.Header{
		"Accept":       {accept},
		"Content-Type": {"application/json"},
		"User-Agent":   {"agent-reach"},
	}
	for name, values := range c.header {
		header[name] = values
	}
	header.Set("Reach-Task-Id", task.ID())
	header.Set("Reach-Capability", task.Message.Capability)
	header.Set("Reach-Attempt", strconv.Itoa(task.Message.Attempt))
	header.Set("Idempotency-Key", task.ID())
	if deadline := schemas.At(task.Deadline).String(); deadline != "" {
		header.Set("Reach-Deadline", deadline)
	}
	if parent := task.Message.Traceparent; parent != "" && headerText(parent) {
		header["traceparent"] = []string{parent} // the W3C spelling
	}
	return header
}
