package dispatcher_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// A task whose payload is gone from where it was kept cannot go on, and is not tried for ever.
func TestATaskWhosePayloadIsGoneEnds(t *testing.T) {
	t.Parallel()
	offer := schemas.Offer{ID: "echo", InputSchema: []byte(`{"maxLength":1000000}`)} // whoever plans has to look at the payload
	for _, tt := range []struct {
		name string
		wait time.Duration // before it is due
		come func(h *house, offer schemas.Offer)
	}{
		{"when it is due", 500 * time.Millisecond, func(*house, schemas.Offer) {}},
		{"when an agent comes for it", 0, func(h *house, offer schemas.Offer) {
			w := newScriptedWith(h, "comes", offer)
			again := w.registration
			again.LargeBodies = true
			_, err := h.any().Register(h.t.Context(), &again)
			check(h.t, err)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			newScriptedWith(h, "small", offer) // takes no large bodies
			m := schemas.ReachMessage{
				Capability: "echo", Payload: schemas.Payload(`"` + strings.Repeat("x", 50_000) + `"`), WaitForAgent: true,
			}
			task := h.submitFor(m, tt.wait)
			h.loseBody(task.TaskID)
			for wait := 2 * tt.wait; wait > 0 && h.task(task.TaskID).Phase != schemas.PhaseScheduled; wait *= 2 { // it was due before: the machine is slow
				task = h.submitFor(m, wait)
				h.loseBody(task.TaskID)
			}
			tt.come(h, offer)
			done := h.wait(task.TaskID)
			if done.State != schemas.StateFailed || done.Error.Code != schemas.DataLoss || done.Error.Reason != "BODY_MISSING" || !done.DeadLetter {
				t.Errorf("it is %s with %v, among the dead letters: %v", done.State, done.Error, done.DeadLetter)
			}
			_, err := h.any().Retry(t.Context(), schemas.DefaultTenant, task.TaskID)
			wantCode(t, err, schemas.NotFound, schemas.ReasonExpired)
		})
	}
}

// submitFor submits a message that is due after some time; at once where that is 0.
func (h *house) submitFor(m schemas.ReachMessage, wait time.Duration) *schemas.Task {
	h.t.Helper()
	if wait > 0 {
		m.NotBefore = schemas.At(time.Now().Add(wait))
	}
	return h.submit(m)
}

// loseBody takes the large payload of an open task away.
func (h *house) loseBody(taskID string) {
	h.t.Helper()
	entry, err := h.any().conn.Ledger().LastAtLeader(h.t.Context(), taskID)
	check(h.t, err)
	var m schemas.ReachMessage
	check(h.t, schemas.Decode(entry.Body, &m))
	if m.PayloadRef == nil {
		h.t.Fatal("the payload is a part of the message")
	}
	h.any().conn.Blobs().Drop(broker.OfTask(taskID), m.PayloadRef.ID)
}
