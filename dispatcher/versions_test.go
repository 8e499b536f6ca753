package dispatcher_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// reject says that a worker does not speak the version of a task.
func (w *scripted) reject(a assignment) schemas.Answer {
	w.t.Helper()
	r := w.result(a, schemas.StateRejected)
	r.Ran, r.Error = schemas.RanNo, schemas.NewError(schemas.FailedPrecondition, schemas.ReasonVersion, "this worker speaks version 1")
	return w.finish(r)
}

func TestAMessageThatAWorkerDoesNotUnderstandGoesToAnother(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	workers := []*scripted{newScripted(h, "old", offer{"echo", 1}), newScripted(h, "new", offer{"echo", 1})}
	for _, w := range workers {
		w.keepBeating()
	}
	m := echo(`{"n":1}`)
	m.PreferAgent = "old"
	task := h.submit(m)
	workers[0].reject(workers[0].next())
	a := workers[1].next()
	if a.message.Attempt != 1 {
		t.Errorf("it cost an attempt: the next is number %d", a.message.Attempt)
	}
	workers[1].complete(a)
	if got := h.wait(task.TaskID); got.State != schemas.StateCompleted || got.Attempt != 1 {
		t.Errorf("it is %s after attempt %d", got.State, got.Attempt)
	}
}

// rejections serves a task with an agent that rejects it each time, until it ends. Each time it waits as long as it has waited before.
func (h *house) rejections(w *scripted, task *schemas.Task) (times int, end *schemas.Task) {
	h.t.Helper()
	var age time.Duration
	brokertest.Eventually(h.t, "the end of the task", func() bool {
		select {
		case e := <-w.arrived:
			a := w.read(e)
			if !w.isNew(a) {
				break
			}
			if a.message.Attempt != 1 {
				h.t.Errorf("it cost an attempt: the next is number %d", a.message.Attempt)
			}
			if now := time.Since(task.SubmittedAt.Time); now < 2*age-100*time.Millisecond {
				h.t.Errorf("it was offered again after %v, though it had been rejected after %v", now, age)
			}
			age = min(time.Since(task.SubmittedAt.Time), quick().BackoffCap)
			w.reject(a)
			times++
		default:
		}
		end = h.task(task.TaskID)
		return end.State.Terminal()
	})
	return times, end
}

func TestAMessageThatNobodyUnderstandsWaitsAndEndsWhole(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "old", offer{"echo", 1})
	w.keepBeating()
	m := echo(`{"n":9007199254740993}`)
	m.Unknown = []byte(`{"mood":"calm"}`)
	var task, got *schemas.Task
	lasts := 1500 * time.Millisecond
	for times := 0; times < 3; lasts *= 4 { // a machine that is busy may need more time
		if lasts > 10*time.Second {
			t.Fatalf("it was offered %d times in %v", times, lasts/4)
		}
		m.ExpiresAt = schemas.At(time.Now().Add(lasts))
		task = h.submit(m)
		times, got = h.rejections(w, task)
	}
	if got.State != schemas.StateFailed || got.Error.Code != schemas.DeadlineExceeded || !got.DeadLetter || got.Attempt != 1 {
		t.Errorf("it ended as %s, %v, dead letter %v, attempt %d", got.State, got.Error, got.DeadLetter, got.Attempt)
	}
	entry, err := h.any().conn.Ledger().LastAtLeader(t.Context(), task.TaskID)
	check(t, err)
	for _, part := range []string{`"mood":"calm"`, `{"n":9007199254740993}`} {
		if !strings.Contains(string(entry.Body), part) {
			t.Errorf("the dead letter has no %s", part)
		}
	}
}

func TestTasksOfALaterReleaseAreLeftAlone(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"v":2,"task_id":"$ID","tenant":"default","capability":"echo","attempt":1,"assignment":{"agent_id":"a","idempotent":true}}`,
		`{"v":2,"task_id":["$ID"],"capability":{"id":"echo"}}`,
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			d := h.any()
			w := newScripted(h, "a", offer{"echo", 2})
			other := newScripted(h, "b", offer{"echo", 2})
			other.keepBeating()
			m := echo(`{"n":1}`)
			m.PreferAgent = "a"
			task := h.submit(m)
			a := w.next()
			foreign, err := d.conn.Ledger().Write(t.Context(), broker.Entry{
				TaskID: task.TaskID, Phase: schemas.PhaseAssigned, Capability: "echo", Agent: "a", Previous: a.sequence, TTL: time.Hour,
				Body: []byte(strings.ReplaceAll(body, "$ID", task.TaskID)),
			})
			check(t, err)
			brokertest.Eventually(t, "the foreign task counted", func() bool { return d.Foreign() == 1 })

			a.sequence = foreign.Sequence
			if answer := w.complete(a); answer.Outcome != schemas.OutcomeTryAgain {
				t.Errorf("its result is %s", answer.Outcome)
			}
			if _, end := w.beat(schemas.AgentOnline, []string{"echo"}, foreign.Sequence); len(end.NotYours) != 0 {
				t.Error("its worker is told that it is not its own")
			}
			_, err = d.Task(t.Context(), schemas.DefaultTenant, task.TaskID)
			wantCode(t, err, schemas.Unavailable, schemas.ReasonVersion)
			_, err = d.Cancel(t.Context(), schemas.DefaultTenant, task.TaskID)
			wantCode(t, err, schemas.Unavailable, schemas.ReasonVersion)

			w.vanish() // and what is the agent's of this version, moves
			own := echo(`{"n":2}`)
			own.PreferAgent = "a"
			other.complete(h.awaitAt(other, h.submit(own).TaskID))
			last, err := d.conn.Ledger().LastAtLeader(t.Context(), task.TaskID)
			check(t, err)
			if last.Sequence != foreign.Sequence {
				t.Errorf("it was moved: %s to %s", last.Phase, last.Agent)
			}

			_, err = d.conn.Ledger().Write(t.Context(), broker.Entry{
				TaskID: task.TaskID, Phase: schemas.PhaseDone, Capability: "echo", Agent: "a", Previous: foreign.Sequence, TTL: time.Hour,
				Body: []byte(`{"v":2,"result":{}}`),
			})
			check(t, err)
			brokertest.Eventually(t, "the end of the foreign task", func() bool { return d.Foreign() == 0 })
		})
	}
}

// awaitAt is the assignment of a task that comes to a worker, now or after another was lost.
func (h *house) awaitAt(w *scripted, taskID string) assignment {
	h.t.Helper()
	for {
		if a := w.next(); a.message.TaskID == taskID {
			return a
		}
	}
}

func TestAStopOfAWorkerCostsNoMoreThanItsDeath(t *testing.T) {
	t.Parallel()
	stopped := schemas.NewError(schemas.Unavailable, schemas.ReasonWorkerStopped, "the worker stopped before the agent had answered")
	for _, tt := range []struct {
		name    string
		message schemas.ReachMessage
		begin   bool
		ran     schemas.Ran
		attempt int // the next one; 0 if there is none
	}{
		{"idempotent and running: it runs again", echo(`1`), false, schemas.RanUnknown, 2},
		{"idempotent and not begun: it cost nothing", echo(`1`), false, schemas.RanNo, 1},
		{"with side effects, and begun only here: it cost nothing", work(), true, schemas.RanNo, 1},
		{"with side effects and running: nobody knows", work(), true, schemas.RanUnknown, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			w := newScripted(h, "only", offer{"echo", 1}, offer{"test_run", 1})
			w.keepBeating()
			task := h.submit(tt.message)
			a := w.next()
			if tt.begin {
				a.sequence = w.begin(a).Sequence
			}
			if answer := w.fail(a, tt.ran, stopped); answer.Outcome != schemas.OutcomeStored {
				t.Fatalf("the answer is %s", answer.Outcome)
			}
			if tt.attempt == 0 {
				if got := h.wait(task.TaskID); got.Error.Code != schemas.Aborted || !got.DeadLetter {
					t.Errorf("it ended with %v, dead letter %v", got.Error, got.DeadLetter)
				}
				return
			}
			next := h.awaitAt(w, task.TaskID)
			if next.message.Attempt != tt.attempt {
				t.Errorf("the next attempt is number %d, want %d", next.message.Attempt, tt.attempt)
			}
		})
	}
}

func TestAnAgentsOwnWordsAreNoStop(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "only", offer{"echo", 1})
	w.keepBeating()
	task := h.submit(echo(`1`))
	said := schemas.NewError(schemas.Internal, schemas.ReasonWorkerStopped, "all workers are on strike").With("origin", "agent")
	w.fail(w.next(), schemas.RanUnknown, said)
	if got := h.wait(task.TaskID); got.State != schemas.StateFailed || got.Attempt != 1 {
		t.Errorf("it is %s after attempt %d", got.State, got.Attempt)
	}
}

func TestWhatALaterReleaseAddsIsKept(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d := h.any()
	w := newScripted(h, "a", offer{"echo", 1})
	w.keepBeating()
	again := w.registration
	again.Unknown, again.Transport.Unknown = []byte(`{"mood":1}`), []byte(`{"wire":2}`)
	again.Capabilities[0].Unknown = []byte(`{"taste":3}`)
	agents := d.conn.Agents()
	item, err := agents.Get(t.Context(), "a")
	check(t, err)
	item.Value.Unknown = []byte(`{"trust":6}`)
	_, err = agents.Update(t.Context(), "a", item.Value, item.Revision)
	check(t, err)
	_, err = d.Register(t.Context(), &again)
	check(t, err)
	_, err = d.Drain(t.Context(), "a") // which writes the agent's record anew
	check(t, err)
	agent, err := d.Resume(t.Context(), "a")
	check(t, err)
	r := agent.Registration
	if got := string(r.Unknown) + string(r.Transport.Unknown) + string(r.Capabilities[0].Unknown); got != `{"mood":1}{"wire":2}{"taste":3}` {
		t.Errorf("of the registration %s is left", got)
	}
	if item, err = agents.Get(t.Context(), "a"); err != nil || string(item.Value.Unknown) != `{"trust":6}` {
		t.Errorf("of the agent's record %s is left (%v)", item.Value.Unknown, err)
	}

	m := echo(`{"n":1}`)
	m.Unknown = []byte(`{"mood":{"calm":1.50}}`)
	task := h.submit(m)
	a := w.next()
	if string(a.message.Unknown) != string(m.Unknown) {
		t.Errorf("the agent's message has %s beside what is known", a.message.Unknown)
	}
	failed := schemas.NewError(schemas.Internal, "", "no")
	failed.Unknown = []byte(`{"hint":4}`)
	result := w.result(a, schemas.StateFailed)
	result.Ran, result.Error = schemas.RanYes, failed
	result.Hops = []schemas.Hop{{Hop: schemas.HopAgentDone, By: "a", Unknown: []byte(`{"heat":5}`)}}
	w.finish(result)
	if got := h.wait(task.TaskID); string(got.Error.Unknown) != `{"hint":4}` {
		t.Errorf("of the error %s is left", got.Error.Unknown)
	}
	trace, err := d.Trace(t.Context(), schemas.DefaultTenant, task.TaskID)
	check(t, err)
	if text := string(schemas.MustEncode(trace)); !strings.Contains(text, `"heat":5`) {
		t.Errorf("the trace is %s", text)
	}
}

// A later release writes a record of our version with members that are its own: amending it keeps them.
func TestAnAmendedRecordKeepsWhatALaterReleaseAdded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d := h.any()
	w := newScripted(h, "a", offer{"echo", 1})
	task := h.submit(echo(`{"n":1}`))
	a := w.next()
	_, err := d.conn.Ledger().Write(t.Context(), broker.Entry{
		TaskID: task.TaskID, Phase: schemas.PhaseDone, Capability: "echo", Agent: "a", Previous: a.sequence, TTL: time.Hour,
		Body: []byte(strings.ReplaceAll(`{"v":1,"task_id":"$ID","tenant":"default","state":"failed","phase":"done","capability":"echo",`+
			`"attempt":1,"mood":{"calm":1.50},"error":{"code":"INTERNAL","message":"no","retryable":false,"hint":4}}`, "$ID", task.TaskID)),
	})
	check(t, err)
	_, err = d.Retry(t.Context(), schemas.DefaultTenant, task.TaskID)
	check(t, err)
	entry, err := d.conn.Ledger().LastAtLeader(t.Context(), task.TaskID)
	check(t, err)
	for _, part := range []string{`"retried_as"`, `"mood":{"calm":1.50}`, `"hint":4`} {
		if !strings.Contains(string(entry.Body), part) {
			t.Errorf("the record has no %s: %s", part, entry.Body)
		}
	}
}
