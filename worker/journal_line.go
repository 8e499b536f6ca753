package worker

import "github.com/agentreach/agent-reach/schemas"

// The lines of a journal.
const (
	kindBegun   = "begun"   // an attempt with side effects is about to begin
	kindResult  = "result"  // an attempt has ended
	kindSettled = "settled" // a dispatcher has had the last word on it
)

// line is one line of a journal, a JSON object.
type line struct {
	V         schemas.Version `json:"v"`
	Kind      string          `json:"kind"`
	AgentID   string          `json:"agent_id"`
	TaskID    string          `json:"task_id"`
	Attempt   int             `json:"attempt"`
	At        schemas.Time    `json:"at"`
	ExpiresAt schemas.Time    `json:"expires_at,omitzero"` // of a result: until when a dispatcher may want it
	NotRun    bool            `json:"not_run,omitzero"`    // of a result: the agent did nothing
	Body      schemas.Payload `json:"body,omitzero"`       // of a result: what is sent, as it is sent
}

// append adds the line to a buffer. The body, which may be large, is JSON on one line already and is copied as it is.
func (l *line) append(buffer []byte) []byte {
	head := *l
	head.Body = nil
	buffer = append(buffer, schemas.MustEncode(&head)...)
	if l.Body != nil {
		buffer = append(buffer[:len(buffer)-1], `,"body":`...)
		buffer = append(buffer, l.Body...)
		buffer = append(buffer, '}')
	}
	return append(buffer, '\n')
}
