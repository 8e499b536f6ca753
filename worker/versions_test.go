package worker

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

func TestAMessageOfALaterVersionIsLeftToOthers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, body string }{
		{
			"that looks like one of ours",
			`{"v":2,"task_id":"$ID","capability":"echo","payload":{},"attempt":1,"assignment":{"agent_id":"laptop-1","run_timeout_ms":9}}`,
		},
		{"whose members have other types", `{"attempt":{"n":1},"payload":{},"v":2,"task_id":7,"assignment":["laptop-1"]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t).serve()
			handler := newScript()
			h.work(handler)
			e := h.assignRaw(tt.body)
			r := h.awaitResult(e.TaskID)
			if r.State != schemas.StateRejected || r.Error.Reason != schemas.ReasonVersion || r.Ran != schemas.RanNo || r.Sequence != e.Sequence {
				t.Errorf("got %+v, %v", r, r.Error)
			}
			if len(handler.calls) != 0 || len(look(h, &h.begins)) != 0 {
				t.Error("it was begun")
			}
		})
	}
}

// assignRaw assigns a message as it stands, $ID replaced.
func (h *house) assignRaw(body string) broker.Entry {
	h.t.Helper()
	id := schemas.NewTaskID()
	return h.store(broker.Entry{
		TaskID: id, Phase: schemas.PhaseAssigned, Capability: "echo", Agent: "laptop-1", TTL: time.Hour,
		Body: []byte(strings.ReplaceAll(body, "$ID", id)),
	})
}

func TestWhatALaterReleaseAddsReachesTheAgent(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	messages := make(chan *schemas.ReachMessage, 1)
	h.work(HandlerFunc(func(_ context.Context, task *Task, _ Emit) (schemas.Payload, error) {
		messages <- task.Message
		return nil, schemas.NewError(schemas.Internal, "", "no")
	}))
	h.assignRaw(`{"v":1,"task_id":"$ID","capability":"echo","payload":{"n":1.50},"attempt":1,"mood":{"calm":9007199254740993},` +
		`"assignment":{"agent_id":"laptop-1","idempotent":true,"run_timeout_ms":1000,"seat":7}}`)
	m := <-messages
	if got := string(m.Unknown) + string(m.Assignment.Unknown); got != `{"mood":{"calm":9007199254740993}}{"seat":7}` {
		t.Errorf("the agent's message has %s beside what is known", got)
	}
}
