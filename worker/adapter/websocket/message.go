package websocket

import (
	"strings"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// request is the message that the agent gets for a task.
type request struct {
	TaskID      string          `json:"task_id"`
	Capability  string          `json:"capability"`
	Attempt     int             `json:"attempt"`
	Deadline    schemas.Time    `json:"deadline,omitzero"`
	Traceparent string          `json:"traceparent,omitzero"`
	Payload     schemas.Payload `json:"payload"`
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

func requestFor(task *worker.Task) ([]byte, error) {
	m := task.Message
	r := request{task.ID(), m.Capability, m.Attempt, schemas.At(task.Deadline), m.Traceparent, m.Payload}
	if r.Payload == nil {
		r.Payload = schemas.Payload("{}")
	}
	r.Traceparent = strings.ToValidUTF8(r.Traceparent, "")
	return schemas.Encode(&r)
}

// extraOf is nothing for what cannot be read.
func extraOf(raw []byte) extra {
	var e extra
	if schemas.Decode(raw, &e) != nil {
		return extra{}
	}
	return e
}
