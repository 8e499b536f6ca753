package dispatcher_test

import (
	"testing"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/schemas"
)

// A ledger that may hold little takes tasks until it is nearly full. What it has taken begins and ends all the same.
func TestASmallLedgerRefusesNewTasksAndEndsTheOthers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		small func(*dispatcher.Config)
	}{
		{"in messages", func(c *dispatcher.Config) { c.MaxMessages = 40 }},
		{"in bytes", func(c *dispatcher.Config) { c.MaxBytes = 40_000 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := quick()
			tt.small(&cfg)
			h := newHouse(t, cfg)
			w := newScripted(h, "laptop-1", offer{"test_run", 8})
			w.keepBeating()
			var accepted []string
			var refused error
			brokertest.Eventually(t, "it is nearly full", func() bool {
				m := work()
				task, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
				if err != nil {
					refused = err
					return true
				}
				accepted = append(accepted, task.TaskID)
				return false
			})
			if e := wantCode(t, refused, schemas.ResourceExhausted, schemas.ReasonLedgerFull); !e.Retryable {
				t.Errorf("%v is not to be tried again", refused)
			}
			for range accepted {
				a := w.next()
				begun := w.begin(a)
				a.sequence = begun.Sequence
				r := w.result(a, schemas.StateCompleted)
				r.Result = schemas.Payload(`{"passed":true,"output":"ok"}`)
				if answer := w.finish(r); begun.Outcome != schemas.OutcomeStored || answer.Outcome != schemas.OutcomeStored {
					t.Fatalf("begin: %+v, finish: %+v", begun, answer)
				}
				w.pullQuietly("test_run")
			}
			for _, id := range accepted {
				if task := h.wait(id); task.State != schemas.StateCompleted {
					t.Errorf("%s is %s", id, task.State)
				}
			}
		})
	}
}
