package websocket

import (
	"strings"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
)

// request is the message that the agent gets for a task, without its payload.
type request struct {
	TaskID      string       `json:"task_id"`
	Capability  string       `json:"capability"`
	Attempt     int          `json:"attempt"`
	Deadline    schemas.Time `json:"deadline,omitzero"`
	Traceparent string       `json:"traceparent,omitzero"`
}

// cancel is the message that stops a task.
type cancel struct {
	Cancel string `json:"cancel"`
}

// resume is the message that goes on with a task on another connection.
type resume struct {
	Resume string `json:"resume"`
	Next   int64  `json:"next"`
}

// extra is what a message may hold besides a protocol line.
type extra struct {
	N    int64 `json:"n"`
	Lost bool  `json:"lost"`
}

func requestFor(task *worker.Task) (pieces.Message, error) {
	m := task.Message
	parent := strings.ToValidUTF8(m.Traceparent, "")
	r := request{task.ID(), m.Capability, m.Attempt, schemas.At(task.Deadline), parent}
	return pieces.With(&r, "payload", pieces.Payload(task))
}

// extraOf is nothing for what cannot be read.
func extraOf(raw []byte) extra {
	var e extra
	if schemas.Decode(raw, &e) != nil {
		return extra{}
	}
	return e
}
