//go:build unix

package integration

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// TestAPlainClientGetsTheWholeRecord is a client with nothing but nats.go, which listens before it submits; of two dispatchers one
// is killed again and again.
func TestAPlainClientGetsTheWholeRecord(t *testing.T) {
	t.Parallel()
	h := newHouseApart(t, 2)
	h.startWorker(child("children", 4, "echo"))
	nc, err := nats.Connect(h.url)
	check(t, err)
	defer nc.Close()
	subscription, err := nc.SubscribeSync("reach.result.default.*")
	check(t, err)
	results := plainResults{subscription, make(map[string]*schemas.Task)}
	accepted := make([][]string, *kills)
	for n := range accepted {
		victim := h.dispatchers[n%2]
		for i := range 10 {
			if i == 5 {
				victim.kill()
			}
			accepted[n] = append(accepted[n], submitPlainly(t, nc, n, i))
		}
		victim.start()
		victim.until("dispatcher up")
	}
	for n, ids := range accepted {
		for i, taskID := range ids {
			wantWhole(t, results.of(t, taskID), n, i)
		}
	}
}

// plainly is what a plain client asks for.
func plainly(n, i int) (key, payload string) {
	return fmt.Sprintf("plain-%d-%d", n, i), fmt.Sprintf(`{"ms":%d,"n":%d}`, i%3*50, n)
}

func wantWhole(t *testing.T, r *schemas.Task, n, i int) {
	t.Helper()
	key, payload := plainly(n, i)
	if r.State != schemas.StateCompleted || string(r.Result) != payload || r.MsgID != key || r.Phase != schemas.PhaseDone ||
		r.Capability != "echo" || r.AgentID != "children" || r.Attempt != 1 || r.Revision == 0 || r.SubmittedAt.IsZero() ||
		r.StartedAt.IsZero() || r.FinishedAt.IsZero() || r.ExpiresAt.IsZero() || r.KeptUntil.IsZero() || r.TraceID == "" {
		t.Errorf("the record is not whole: %s", schemas.MustEncode(r))
	}
}

// submitPlainly repeats a request until it is answered.
func submitPlainly(t *testing.T, nc *nats.Conn, n, i int) (taskID string) {
	t.Helper()
	key, payload := plainly(n, i)
	message := fmt.Sprintf(`{"msg_id":%q,"capability":"echo","payload":%s}`, key, payload)
	for deadline := time.Now().Add(20 * time.Second); ; {
		reply, err := nc.Request("reach.api.task.submit", []byte(message), oneTry)
		if err == nil && reply.Header.Get("Nats-Service-Error-Code") == "" {
			task := new(schemas.Task)
			check(t, schemas.Decode(reply.Data, task))
			return task.TaskID
		}
		if time.Now().After(deadline) {
			t.Fatalf("no dispatcher has taken %s: %v", message, err)
		}
		pause(t.Context(), repeatWait)
	}
}

// plainResults are the records that a client has heard, by task.
type plainResults struct {
	*nats.Subscription
	heard map[string]*schemas.Task
}

// of waits for the record of a task.
func (r plainResults) of(t *testing.T, taskID string) *schemas.Task {
	t.Helper()
	for r.heard[taskID] == nil {
		m, err := r.NextMsg(20 * time.Second)
		if err != nil {
			t.Fatalf("the result of %s: %v", taskID, err)
		}
		task := new(schemas.Task)
		check(t, schemas.Decode(m.Data, task))
		r.heard[task.TaskID] = task
	}
	return r.heard[taskID]
}

// ending is a way in which a task ends.
type ending struct {
	message schemas.ReachMessage
	meddle  func(*testing.T, *house, *schemas.Task)
	expires time.Duration
	state   schemas.State
	code    schemas.Code
	reason  string
}

func TestEveryReaderGetsTheSameEnd(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.startWorker(child("children", 8, abilities...))
	doomed := h.startWorker(child("doomed", 1, "doc_write"))
	w := newWitness(t, h.url)
	for name, tt := range map[string]ending{
		"completed": {message: ask("echo", `{"ms":500,"n":1}`), state: schemas.StateCompleted},
		"failed": {
			message: ask("echo", `{"ms":500,"fail":"INVALID_ARGUMENT"}`),
			state:   schemas.StateFailed, code: schemas.InvalidArgument,
		},
		"refused by its output schema": {
			message: ask("text_stats", `{"ms":500,"text":"a","answer":{"words":"many"}}`),
			state:   schemas.StateFailed, code: schemas.Internal, reason: schemas.ReasonOutputSchema,
		},
		"canceled": {
			message: ask("echo", `{"ms":60000}`), meddle: cancelIt,
			state: schemas.StateCanceled, code: schemas.Cancelled, reason: schemas.ReasonCanceled,
		},
		"over its run limit": {
			message: schemas.ReachMessage{Capability: "test_run", Payload: schemas.Payload(`{"ms":60000,"command":"x"}`), RunTimeoutMS: 500},
			state:   schemas.StateFailed, code: schemas.DeadlineExceeded, reason: schemas.ReasonRunLimit,
		},
		"expired": {
			message: ask("echo", `{"ms":60000}`), expires: 2 * time.Second,
			state: schemas.StateFailed, code: schemas.DeadlineExceeded, reason: schemas.ReasonExpired,
		},
		"lost with its worker": {
			message: ask("doc_write", `{"ms":60000,"instruction":"x"}`), meddle: func(t *testing.T, h *house, task *schemas.Task) {
				t.Helper()
				brokertest.Eventually(t, "the execution", func() bool { return effectsOf(readEffects(t, h.effects))[task.TaskID] > 0 })
				doomed.kill()
				doomed.start()
			},
			state: schemas.StateFailed, code: schemas.Aborted, reason: schemas.ReasonMayHaveExecuted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.expires > 0 {
				tt.message.ExpiresAt = schemas.At(time.Now().Add(tt.expires))
			}
			task, err := newNATSCaller(t, h.url).submit(t.Context(), schemas.MustEncode(tt.message))
			check(t, err)
			waiting := startReaders(t, h, task.TaskID)
			if tt.meddle != nil {
				tt.meddle(t, h, task)
			}
			published := w.result(task.TaskID)
			if published.State != tt.state || tt.code != "" && (published.Error == nil || published.Error.Code != tt.code) ||
				tt.reason != "" && published.Error.Reason != tt.reason {
				t.Errorf("got %s with %v, want %s, %s, %s", published.State, published.Error, tt.state, tt.code, tt.reason)
			}
			for _, c := range h.callers() {
				late, err := c.get(t.Context(), task.TaskID)
				check(t, err)
				wantSame(t, "a late reader", late, published)
			}
			for name, read := range waiting {
				wantSame(t, name, <-read, published)
			}
			if n := len(w.of(task.TaskID)); n != 1 {
				t.Errorf("the result was published %d times", n)
			}
		})
	}
}

func ask(capability, payload string) schemas.ReachMessage {
	return schemas.ReachMessage{Capability: capability, Payload: schemas.Payload(payload), RunTimeoutMS: unhurried}
}

func cancelIt(t *testing.T, h *house, task *schemas.Task) {
	t.Helper()
	canceled, err := newHTTPCaller(t, h.fronts[0]).cancel(t.Context(), task.TaskID)
	if err != nil || canceled.Cancel == nil || !canceled.Cancel.Won || !canceled.Cancel.Confirmed {
		t.Errorf("the cancel gave %+v (%v)", canceled, err)
	}
}

// wantSame allows for what may be added to a record after its end: whether the agent of a canceled task confirmed.
func wantSame(t *testing.T, who string, got, published *schemas.Task) {
	t.Helper()
	written := func(t *schemas.Task) string { return string(schemas.MustEncode(t)) }
	if got != nil && got.Cancel != nil {
		written = lasting
	}
	if got == nil || written(got) != written(published) {
		t.Errorf("%s sees\n%v\nand what was published is\n%s", who, got, schemas.MustEncode(published))
	}
}

// startReaders waits for a task in every way there is, from now on.
func startReaders(t *testing.T, h *house, taskID string) map[string]<-chan *schemas.Task {
	t.Helper()
	front, nc := newHTTPCaller(t, h.fronts[0]), newNATSCaller(t, h.url)
	readers := make(map[string]<-chan *schemas.Task)
	for name, read := range map[string]func() (*schemas.Task, error){
		"a wait over HTTP": func() (*schemas.Task, error) {
			return front.ask(t.Context(), "GET", "/v1/tasks/"+taskID+"?wait=30s", nil)
		},
		"a stream of events": func() (*schemas.Task, error) { return endOfEvents(t.Context(), front, taskID) },
		"a wait over NATS": func() (*schemas.Task, error) {
			return nc.ask(t.Context(), "task.wait", schemas.MustEncode(schemas.TaskRef{TaskID: taskID, WaitMS: 30_000}))
		},
	} {
		answer := make(chan *schemas.Task, 1)
		readers[name] = answer
		go func() {
			task, err := read()
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			answer <- task
		}()
	}
	return readers
}

// endOfEvents follows a task to the one event that ends it, after which the stream closes.
func endOfEvents(ctx context.Context, front *httpCaller, taskID string) (*schemas.Task, error) {
	status, stream, err := front.exchange(ctx, "GET", "/v1/tasks/"+taskID+"/events", nil)
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("status %d, %s: %w", status, stream, err)
	}
	_, end, found := strings.Cut(string(stream), "event: done\ndata: ")
	line, rest, _ := strings.Cut(end, "\n")
	if !found || strings.TrimSpace(rest) != "" {
		return nil, fmt.Errorf("it does not end with its one end: %s", stream)
	}
	task := new(schemas.Task)
	return task, schemas.Decode([]byte(line), task)
}
