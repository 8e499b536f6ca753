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
	soon := schemas.At(time.Now().Add(300 * time.Millisecond))
	for name, change := range map[string]func(*schemas.ReachMessage){
		"with a msg_id":  func(m *schemas.ReachMessage) { m.MsgID = "late" },
		"with a task_id": func(m *schemas.ReachMessage) { m.TaskID = schemas.NewTaskID() },
	} {
		m := echo(`{"n":1}`)
		m.ExpiresAt = soon
		change(&m)
		first := h.submit(m)
		w.complete(w.next())
		brokertest.Eventually(t, "the time after its expiry", func() bool { return time.Now().After(soon.Add(50 * time.Millisecond)) })
		if again := h.submit(m); again.TaskID != first.TaskID || again.State != schemas.StateCompleted {
			t.Errorf("%s: the repeat is %s of task %s, not of %s", name, again.State, again.TaskID, first.TaskID)
		}
		m.MsgID, m.TaskID = "another", ""
		_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
		wantCode(t, err, schemas.InvalidArgument, schemas.ReasonExpired)
		soon = schemas.At(time.Now().Add(300 * time.Millisecond))
	}
}
