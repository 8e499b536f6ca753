//go:build unix

package integration

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// A worker's own credentials, as docs/operations.md has them, are enough for its work, streams included. Of what is not its own they
// can neither write nor hear anything, whatever headers come with it; what it says again of what has ended changes nothing.
func TestAWorkersCredentialsTouchItsOwnSubjectsAlone(t *testing.T) {
	t.Parallel()
	address := brokertest.Configured(t, authorization(t))
	h := emptyHouse(t)
	house, own := "nats://dispatcher:change-me-2@"+address, "nats://summarizer:change-me-3@"+address
	h.addDispatcher(house).start()
	h.dispatchers[0].until("dispatcher up")
	h.url = own
	h.startWorker(child("summarizer", 2, "echo", "test_run"))
	web := newHTTPCaller(t, h.fronts[0])
	ended := make(map[string]*schemas.Task)
	for _, m := range []schemas.ReachMessage{
		{Capability: "echo", ResponseMode: schemas.ModeStream, Payload: schemas.Payload(`{"chunks":40}`)},
		ask("test_run", `{"command":"go test"}`),
	} {
		task, err := web.submit(t.Context(), schemas.MustEncode(m))
		check(t, err)
		brokertest.Eventually(t, "its end", func() bool {
			task, err = web.get(t.Context(), task.TaskID)
			return err == nil && task.State.Terminal()
		})
		if ended[task.TaskID] = task; task.State != schemas.StateCompleted {
			t.Errorf("%s is %s with %v", task.Capability, task.State, task.Error)
		}
	}
	conn, err := broker.Connect(t.Context(), broker.Config{URL: house, Logger: zerolog.Nop()})
	check(t, err)
	t.Cleanup(conn.Close)
	before, err := conn.Ledger().State(t.Context())
	check(t, err)

	thief := newThief(t, own)
	thief.trespass(ended)
	thief.sayAgain(ended)
	after, err := conn.Ledger().State(t.Context())
	check(t, err)
	if before.Last != after.Last || before.Messages != after.Messages {
		t.Errorf("the ledger has changed: it was %+v and is %+v", before, after)
	}
	for id, task := range ended {
		if now, err := web.get(t.Context(), id); err != nil || lasting(now) != lasting(task) {
			t.Errorf("task %s was\n%s\nand is %v (%v)", id, lasting(task), now, err)
		}
	}
}

// authorization is the part of the configuration in docs/operations.md that says who may do what.
func authorization(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../docs/operations.md")
	check(t, err)
	_, rest, found := strings.Cut(string(text), "\nauthorization {\n")
	block, _, ends := strings.Cut(rest, "\n}\n")
	if !found || !ends {
		t.Fatal("docs/operations.md has no authorization block")
	}
	return "authorization {\n" + block + "\n}"
}

// thief has a worker's credentials, and speaks as it likes.
type thief struct {
	t       testing.TB
	nc      *nats.Conn
	refused atomic.Int64
}

func newThief(t testing.TB, url string) *thief {
	t.Helper()
	f := &thief{t: t}
	nc, err := nats.Connect(url, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) { f.refused.Add(1) }))
	check(t, err)
	t.Cleanup(nc.Close)
	f.nc = nc
	return f
}

// trespass tries what is not a worker's to do. Each is refused by the broker.
func (f *thief) trespass(ended map[string]*schemas.Task) {
	f.t.Helper()
	var writes []string
	for id := range ended {
		writes = append(writes, "reach.task."+id+".done.echo.summarizer", "reach.feed.done.echo.summarizer."+id, "reach.result.default."+id)
	}
	writes = append(writes,
		"reach.begin.other", "reach.finish.other", "reach.pull.other", "reach.heartbeat.other", "reach.control.other",
		"reach.chunk.other."+schemas.NewTaskID(), "reach.api.task.cancel", "reach.api.task.submit", "$KV.REACH_AGENTS.summarizer",
		"$JS.API.STREAM.PURGE.REACH", "$JS.API.STREAM.DELETE.REACH", "$JS.API.STREAM.MSG.GET.REACH", "$JS.API.DIRECT.GET.REACH")
	headers := []nats.Header{
		nil, {"Nats-Rollup": {"all"}}, {"Nats-TTL": {"1s"}}, {"Nats-Schedule": {"@at 2020-01-01T00:00:00Z"}},
	}
	tried := 0
	for _, subject := range writes {
		for _, header := range headers {
			check(f.t, f.nc.PublishMsg(&nats.Msg{Subject: subject, Header: header, Data: []byte("{}")}))
			tried++
		}
	}
	for _, subject := range []string{"reach.>", "reach.task.>", "reach.feed.>", "reach.feed.assigned.*.other.*", "reach.result.>", "reach.control.other", "$KV.>"} {
		_, err := f.nc.SubscribeSync(subject)
		check(f.t, err)
		tried++
	}
	check(f.t, f.nc.Flush())
	brokertest.Eventually(f.t, "the broker refuses all of it", func() bool { return f.refused.Load() >= int64(tried) })
}

// sayAgain begins, finishes and releases under the worker's own name what has ended, with the sequences of then and with others.
func (f *thief) sayAgain(ended map[string]*schemas.Task) {
	f.t.Helper()
	for id, task := range ended {
		for _, sequence := range []uint64{1, task.Revision - 1, task.Revision} {
			words := map[string]any{
				"begin":   schemas.Begin{TaskID: id, Attempt: 1, Sequence: sequence, InstanceID: "thief", WriteID: "again"},
				"release": schemas.Release{TaskID: id, Attempt: 1, Sequence: sequence, InstanceID: "thief", WriteID: "again"},
				"finish": schemas.Result{
					TaskID: id, AgentID: "summarizer", Attempt: 1, Sequence: sequence, InstanceID: "thief", WriteID: "again",
					State: schemas.StateCompleted, Result: schemas.Payload(`{"passed":false,"output":"stolen"}`),
				},
			}
			for verb, body := range words {
				reply, err := f.nc.Request("reach."+verb+".summarizer", schemas.MustEncode(body), 5*time.Second)
				check(f.t, err)
				var answer schemas.Answer
				if reply.Header.Get("Nats-Service-Error-Code") == "" && schemas.Decode(reply.Data, &answer) == nil && answer.Outcome == schemas.OutcomeStored {
					f.t.Errorf("%s of %s, which has ended, is %s", verb, id, reply.Data)
				}
			}
		}
	}
}
