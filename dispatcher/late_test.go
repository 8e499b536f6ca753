package dispatcher_test

import (
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// A caller who repeats itself late, after the task has expired, still gets that task: its msg_id, or its task_id, stands for it. Only
// what would be a new task is refused.
func TestARepeatAfterTheTaskHasExpiredIsTheSameTask(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	for name, change := range map[string]func(*schemas.ReachMessage){
		"with a msg_id":  func(m *schemas.ReachMessage) { m.MsgID = "late-" + schemas.NewTaskID() },
		"with a task_id": func(m *schemas.ReachMessage) { m.TaskID = schemas.NewTaskID() },
	} {
		m := echo(`{"n":1}`)
		var first *schemas.Task
		for life, ended := 300*time.Millisecond, schemas.StateFailed; ended != schemas.StateCompleted; life *= 2 { // as the machine needs
			change(&m)
			first = h.brief(m, life)
			w.complete(w.next())
			ended = h.wait(first.TaskID).State
		}
		m.ExpiresAt = first.ExpiresAt
		brokertest.Eventually(t, "the time after its expiry", func() bool { return time.Now().After(m.ExpiresAt.Add(50 * time.Millisecond)) })
		if again := h.submit(m); again.TaskID != first.TaskID || again.State != schemas.StateCompleted {
			t.Errorf("%s: the repeat is %s of task %s, not of %s", name, again.State, again.TaskID, first.TaskID)
		}
		m.MsgID, m.TaskID = "another", ""
		_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
		wantCode(t, err, schemas.InvalidArgument, schemas.ReasonExpired)
	}
}
