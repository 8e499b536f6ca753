package desk_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/schemas"
)

// text is a JSON string of exactly so many bytes.
func text(size int) string { return `"` + strings.Repeat("p", size-2) + `"` }

func TestSizesAroundEveryLimit(t *testing.T) {
	t.Parallel()
	const limit = 3 << 19
	h := newHouse(t, func(c *dispatcher.Config) { c.MaxPayload = limit })
	d := h.desk()
	agents := map[bool]*claimer{}
	for fetches, id := range map[bool]string{true: "fetches", false: "takes"} {
		a := &claimer{h: h, id: id, instance: schemas.NewTaskID()}
		check(t, a.registerAs(fetches, []schemas.Offer{{ID: "echo", MaxConcurrency: 1}}))
		agents[fetches] = a
	}
	sizes := []struct {
		name string
		size int
	}{
		{"just a part of its message", 32 << 10},
		{"no more a part of it", 32<<10 + 1},
		{"just a message", 1<<20 - 64<<10},
		{"no more a message", 1<<20 - 64<<10 + 1},
		{"just in the answer to a claim", 1 << 20},
		{"no more in it", 1<<20 + 1},
		{"the limit less one", limit - 1},
		{"the limit", limit},
	}
	for fetches, a := range agents {
		for _, tt := range sizes {
			if fetches && tt.size < 1<<20 { // it is no different from one that takes
				continue
			}
			t.Run(fmt.Sprintf("%s %s", a.id, tt.name), func(t *testing.T) {
				payload := text(tt.size)
				task := h.submit("echo", payload, func(m *schemas.ReachMessage) { m.PreferAgent, m.WaitForAgent = a.id, true })
				g := a.one(a.claim(d, held()))
				got := string(g.message.Payload)
				if apart := g.message.PayloadRef != nil; apart != (fetches && tt.size > 1<<20) {
					t.Fatalf("given with a reference: %v", apart)
				} else if apart {
					got = a.fetched(d, g)
				}
				if got != payload {
					t.Errorf("given %d bytes, want %d", len(got), len(payload))
				}
				outcomes := []schemas.Outcome{schemas.OutcomeStored, schemas.OutcomeAlreadyYours}
				if tt.size != limit {
					outcomes = outcomes[:1]
				}
				for _, want := range outcomes {
					answer, err := d.Finish(t.Context(), a.result(g, payload))
					check(t, err)
					if answer.Outcome != want || answer.Error != nil {
						t.Errorf("outcome %+v, want %s", answer, want)
					}
				}
				if ended := h.ends(task.TaskID); ended.State != schemas.StateCompleted || h.resultOf(task.TaskID) != payload {
					t.Errorf("ended %s, %v", ended.State, ended.Error)
				}
			})
		}
		t.Run(a.id+" a result above the limit", func(t *testing.T) {
			task := h.submit("echo", `1`, func(m *schemas.ReachMessage) { m.PreferAgent, m.WaitForAgent = a.id, true })
			answer, err := d.Finish(t.Context(), a.result(a.one(a.claim(d, held())), text(limit+1)))
			check(t, err)
			ended := h.ends(task.TaskID)
			if answer.Error == nil || answer.Error.Reason != schemas.ReasonResultTooLarge || ended.Error.Reason != schemas.ReasonResultTooLarge {
				t.Errorf("answer %+v, ended %+v", answer, ended.Error)
			}
		})
	}
	_, err := h.Submit(t.Context(), schemas.DefaultTenant, &schemas.ReachMessage{Capability: "echo", Payload: schemas.Payload(text(limit + 1))})
	wantCode(t, err, schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge)
}

// fetched is a payload as it is read where it is: its end first, then the whole.
func (a *claimer) fetched(d *running, g given) string {
	t := a.h.t
	t.Helper()
	r, err := d.Payload(t.Context(), a.id, a.instance, g.message.TaskID, g.sequence)
	check(t, err)
	defer func() { check(t, r.Close()) }()
	_, err = r.Seek(-3, io.SeekEnd)
	check(t, err)
	if end, err := io.ReadAll(r); err != nil || string(end) != `pp"` {
		t.Errorf("the end is %q, %v", end, err)
	}
	_, err = r.Seek(0, io.SeekStart)
	check(t, err)
	whole, err := io.ReadAll(r)
	check(t, err)
	return string(whole)
}

// resultOf is the result of a task, whatever its size.
func (h *house) resultOf(taskID string) string {
	h.t.Helper()
	_, r, err := h.Result(h.t.Context(), schemas.DefaultTenant, taskID)
	check(h.t, err)
	defer func() { check(h.t, r.Close()) }()
	whole, err := io.ReadAll(r)
	check(h.t, err)
	return string(whole)
}

func TestALargePayloadWithSideEffectsIsFetchedOnceItIsBegun(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(), &claimer{h: h, id: "phone", instance: schemas.NewTaskID()}
	check(t, a.registerAs(true, []schemas.Offer{testRun}))
	payload := `{"command":` + text(1<<20+9) + `}`
	h.submit("test_run", payload)
	g := a.one(a.claim(d))
	r, err := h.desk().Payload(t.Context(), a.id, a.instance, g.message.TaskID, g.sequence)
	check(t, err)
	defer func() { check(t, r.Close()) }()
	if whole, err := io.ReadAll(r); err != nil || string(whole) != payload {
		t.Errorf("fetched %d bytes, %v", len(whole), err)
	}
	_, err = d.Payload(t.Context(), a.id, a.instance, g.message.TaskID, g.sequence+1)
	wantCode(t, err, schemas.Aborted, "SUPERSEDED")
}

func TestAResultThatIsNotTakenInEndsItsTask(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(), h.claimer("phone", echo)
	task := h.submit("echo", `1`)
	g := a.one(a.claim(d))
	why := schemas.NewError(schemas.ResourceExhausted, schemas.ReasonResultTooLarge, "too large")
	wantCode(t, d.TooLarge(t.Context(), task.TaskID, g.sequence+1, why), schemas.Aborted, "SUPERSEDED")
	check(t, d.TooLarge(t.Context(), task.TaskID, g.sequence, why))
	if ended := h.ends(task.TaskID); ended.Error == nil || ended.Error.Reason != schemas.ReasonResultTooLarge || ended.Attempt != 1 {
		t.Errorf("ended %+v", ended)
	}
}
