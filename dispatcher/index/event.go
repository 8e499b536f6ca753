package index

import (
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Event is one change of a task, as the ledger has stored it. Message is set for an open phase, without its
// payload and hops; Record for done.
type Event struct {
	Sequence   uint64
	Previous   uint64 // the task's sequence before this change; 0 for its first
	TaskID     string
	Phase      schemas.Phase
	Capability string
	AgentID    string // empty where there is none
	TTL        time.Duration
	At         time.Time // when it was stored, on the ledger's clock
	Message    *schemas.ReachMessage
	Record     *schemas.Record
	Foreign    bool // its content is of a version that this code does not speak; there is neither Message nor Record
}
