//go:build unix

package integration

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// history is what all customers were told of tasks, in the order in which they were.
type history struct {
	t testing.TB

	mu      sync.Mutex
	ends    map[string]heardEnd
	answers int
	streams int
}

// heardEnd is the end of a task as somebody was told it first.
type heardEnd struct {
	record, who string
	at          time.Time
}

func newHistory(t testing.TB) *history { return &history{t: t, ends: make(map[string]heardEnd)} }

// note notes an answer to a question that was asked at a time. Every end is the same end, and nobody who asks after an end was told
// sees the task open again.
func (h *history) note(who string, asked time.Time, task *schemas.Task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers++
	end, ended := h.ends[task.TaskID]
	switch {
	case !task.State.Terminal():
		if ended && asked.After(end.at) {
			h.t.Errorf("%s is told that task %s is %s, after %s was told that it has ended:\n%s",
				who, task.TaskID, task.Phase, end.who, end.record)
		}
	case !ended:
		h.ends[task.TaskID] = heardEnd{lasting(task), who, time.Now()}
	case end.record != lasting(task):
		h.t.Errorf("%s was told\n%s\nand %s\n%s", end.who, end.record, who, lasting(task))
	}
}

func (h *history) streamed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams++
}

// fits holds what was told against what there is.
func (h *history) fits(p *proof) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, end := range h.ends {
		switch task := p.ended[id]; {
		case task == nil:
			h.t.Errorf("%s was told of the end of %s, which is not in the ledger", end.who, id)
		case lasting(task) != end.record:
			h.t.Errorf("task %s is\n%s\nand %s was told\n%s", id, lasting(task), end.who, end.record)
		}
	}
}

// String counts.
func (h *history) String() string {
	return fmt.Sprintf("%d answers, %d streams read to their end, %d ends told", h.answers, h.streams, len(h.ends))
}

// listener is one reader of one stream, and knows what it may hear next. The agent says the numbers from 0 on, in each attempt.
type listener struct {
	t       testing.TB
	who     string
	taskID  string
	last    int64 // the number of the last chunk
	attempt int   // whose chunks it hears
	piece   int64 // what the agent says next; unknown is negative
	excused bool  // a notice has said that the next number is another
}

const unknown = -1

func (l *listener) chunk(c *schemas.Chunk) {
	switch {
	case c.N <= l.last:
		l.t.Errorf("%s hears chunk %d of %s after chunk %d", l.who, c.N, l.taskID, l.last)
	case c.N != l.last+1 && !l.excused:
		l.t.Errorf("%s hears chunk %d of %s after chunk %d, and nothing between", l.who, c.N, l.taskID, l.last)
	}
	if c.Attempt < l.attempt {
		l.t.Errorf("%s hears attempt %d of %s after attempt %d", l.who, c.Attempt, l.taskID, l.attempt)
	}
	if c.Attempt != l.attempt && l.attempt != 0 {
		l.piece = unknown
	}
	said := number64(c.Data) // unknown of an agent that says all at once
	if l.piece != unknown && said != unknown && said != l.piece {
		l.t.Errorf("%s hears %q as chunk %d of %s, attempt %d, and not %d", l.who, c.Data, c.N, l.taskID, c.Attempt, l.piece)
	}
	l.last, l.attempt, l.piece, l.excused = c.N, c.Attempt, unknown, false
	if said != unknown {
		l.piece = said + 1
	}
}

func (l *listener) notice(n *schemas.Notice) {
	switch l.excused = true; n.Notice {
	case "restarted":
		l.last, l.attempt, l.piece = max(l.last, n.Next-1), n.Attempt, 0
	default:
		l.piece = unknown
	}
}

func number64(text []byte) int64 {
	var n int64
	if _, err := fmt.Sscan(string(text), &n); err != nil {
		return unknown
	}
	return n
}
