package desk_test

import (
	"context"
	"testing"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// A desk begins a task with side effects for a caller that leaves, and keeps it. What that caller does then at another desk, this one is not
// told of: it must not give the task to anybody who may have it, or have done it.
func TestADeskThatIsBehindGivesNothingTwice(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	tests := []struct {
		name string
		did  bool // the caller has asked again elsewhere, and done the task
		next []func(*schemas.Claim)
	}{
		{"done elsewhere, and the next claim says what the agent has", true, []func(*schemas.Claim){named("next"), held()}},
		{"done elsewhere, and the next claim says nothing of that", true, []func(*schemas.Claim){named("next")}},
		{"done elsewhere, and the same claim comes here late", true, []func(*schemas.Claim){named("lost"), held()}},
		{"given elsewhere, and the next claim says nothing of what the agent has", false, []func(*schemas.Claim){named("next")}},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := h.claimer("phone-"+string(rune('a'+i)), testRun)
			behind := h.desk()
			task := a.begunForNobody(behind, "lost")
			elsewhere := h.desk()
			given := a.one(a.claim(elsewhere, named("lost"), held()))
			if tt.did {
				_, err := elsewhere.Finish(t.Context(), a.result(given, passed))
				check(t, err)
			}
			none, err := a.ask(t.Context(), behind, 0, tt.next...)
			check(t, err)
			if len(none.Assignments) != 0 {
				t.Errorf("given again: %s", none.Assignments[0].Message)
			}
			if !tt.did {
				_, err := elsewhere.Finish(t.Context(), a.result(given, passed))
				check(t, err)
			}
			if ended := h.ends(task.TaskID); ended.State != schemas.StateCompleted {
				t.Errorf("ended %+v", ended)
			}
		})
	}
}

// begunForNobody is a task that a desk has begun for a claim whose caller has left by then.
func (a *claimer) begunForNobody(d *running, claimID string) *schemas.Task {
	a.h.t.Helper()
	_, err := a.ask(a.h.t.Context(), d, 0, held()) // from now on the desk hears what is the agent's
	check(a.h.t, err)
	task := a.h.submit("test_run", command, func(m *schemas.ReachMessage) { m.PreferAgent, m.WaitForAgent = a.id, true })
	gone, leave := context.WithCancel(a.h.t.Context())
	leave()
	brokertest.Eventually(a.h.t, "the task is begun for a caller that has left", func() bool {
		_, _ = a.ask(gone, d, 0, named(claimID), held())
		now, err := a.h.Task(a.h.t.Context(), schemas.DefaultTenant, task.TaskID)
		check(a.h.t, err)
		return now.Phase == schemas.PhaseBegun
	})
	return task
}

// A claim whose name was used before waits for what is new, once nothing is left of what that had brought.
func TestAClaimWhoseTasksHaveEndedWaitsForMore(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(), h.claimer("phone", echo)
	for _, payload := range []string{`1`, `2`} {
		task := h.submit("echo", payload)
		g := a.one(a.claim(d, named("always the same")))
		if g.message.TaskID != task.TaskID {
			t.Fatalf("given %s, want %s", g.message.TaskID, task.TaskID)
		}
		_, err := d.Finish(t.Context(), a.result(g, payload))
		check(t, err)
	}
}

// What one agent has failed at, or has given back, may be assigned to the next by the very write of that. The word of the next one must not
// be taken for the same.
func TestTheWordsOfTwoAgentsOnOneTaskHaveTwoNames(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	failed := func(d *running, a *claimer, g given) (*schemas.Answer, error) {
		r := a.result(g, "")
		r.State, r.Result, r.Ran = schemas.StateFailed, nil, schemas.RanNo
		r.Error = schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "not now")
		return d.Finish(t.Context(), r)
	}
	released := func(d *running, a *claimer, g given) (*schemas.Answer, error) {
		return d.Release(t.Context(), &schemas.Release{
			AgentID: a.id, InstanceID: a.instance, TaskID: g.message.TaskID, Sequence: g.sequence, Attempt: 1,
		})
	}
	for _, tt := range []struct {
		name       string
		capability string
		say        func(*running, *claimer, given) (*schemas.Answer, error)
	}{{"failed", "echo", failed}, {"released", "text_stats", released}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := h.desk()
			agents := map[string]*claimer{}
			for _, id := range []string{tt.name + "-1", tt.name + "-2"} {
				agents[id] = h.claimer(id, schemas.Offer{ID: tt.capability})
			}
			task := h.submit(tt.capability, `{"text":"ships"}`)
			var writes []string
			for range 2 {
				entry, err := d.conn.Ledger().LastAtLeader(t.Context(), task.TaskID)
				check(t, err)
				a := agents[entry.Agent]
				g := a.one(a.claim(d))
				answer, err := tt.say(d, a, g)
				check(t, err)
				entry, err = d.conn.Ledger().At(t.Context(), answer.Sequence)
				check(t, err)
				if writes = append(writes, entry.Write); entry.Previous != g.sequence {
					t.Fatalf("the task went on after %d, want %d", entry.Previous, g.sequence)
				}
			}
			if writes[0] == writes[1] {
				t.Error("the second agent's word has the name of the first one's")
			}
		})
	}
}
