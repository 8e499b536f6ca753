package natsfront_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/broker/embedded"
	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/dispatcher/front/natsfront"
	"github.com/agentreach/agent-reach/schemas"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a served house, and a connection to ask it.
type bench struct {
	t     *testing.T
	house *fronttest.House
	conn  *broker.Conn
	stop  func()
}

func newBench(t *testing.T, config natsfront.Config) *bench {
	t.Helper()
	// Else the server races with itself when it syncs a stream that is just being made.
	server := brokertest.New(t, func(cfg *embedded.Config) { cfg.SyncInterval = time.Hour })
	house := fronttest.New()
	api, err := natsfront.Serve(server.Conn(t), house, config)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, house: house, conn: server.Conn(t), stop: api.Close}
}

func (b *bench) ask(endpoint, body string) ([]byte, error) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	noun, verb, _ := strings.Cut(endpoint, ".")
	return b.conn.Request(ctx, broker.SubjectAPI(noun, verb), []byte(body))
}

func (b *bench) hold() *schemas.Task {
	b.t.Helper()
	body, err := b.ask("task.submit", `{"capability":"hold"}`)
	if err != nil {
		b.t.Fatal(err)
	}
	return read(b.t, body)
}

func read(t *testing.T, body []byte) *schemas.Task {
	t.Helper()
	task := new(schemas.Task)
	if err := schemas.Decode(body, task); err != nil {
		t.Fatal(err)
	}
	return task
}

func TestMalformedRequestsNeverReachTheHouse(t *testing.T) {
	t.Parallel()
	b := newBench(t, natsfront.Config{Version: "1.2.3"})
	const secret = "MARKER-7f3a"
	bodies := []string{
		"", "{", `{"v":2}`, `["` + secret + `"]`, `{"task_id":">"}`, `{"task_id":"a.b","agent_id":"*","id":"$JS.API"}`,
		`{"task_id":"x","task_id":"` + secret + `"}`, "{\"task_id\":\"\xff" + secret + `"}`, strings.Repeat("[", 100),
		`{"agent_id":"é","task_id":"%3E","id":"a b","capability":"` + secret + `"}`,
	}
	for _, endpoint := range []string{
		"task.submit", "task.get", "task.wait", "task.cancel", "trace.get", "agent.register", "agent.get", "agent.drain",
		"agent.resume", "agent.remove", "capability.get", "capability.add",
	} {
		for _, body := range bodies {
			_, err := b.ask(endpoint, body)
			var e *schemas.Error
			refused := errors.As(err, &e) && (e.Code == schemas.InvalidArgument || e.Code == schemas.FailedPrecondition)
			if !refused || e.Details["field"] == nil {
				t.Errorf("%s %q: %v", endpoint, body, err)
			}
			if strings.Contains(string(schemas.MustEncode(e)), secret) {
				t.Errorf("%s %q: the body is quoted: %v", endpoint, body, err)
			}
		}
	}
	if calls := b.house.Calls(); len(calls) > 0 {
		t.Errorf("the house was called: %v", calls)
	}
}

func TestListsNeedNoBody(t *testing.T) {
	t.Parallel()
	b := newBench(t, natsfront.Config{})
	for _, endpoint := range []string{"task.list", "agent.list", "capability.list", "route.list"} {
		if body, err := b.ask(endpoint, ""); err != nil || !strings.Contains(string(body), `"items":[`) {
			t.Errorf("%s: %s, %v", endpoint, body, err)
		}
	}
}

func TestCallerChoosesTheTaskIDAndNothingElseOfTheHouses(t *testing.T) {
	t.Parallel()
	b := newBench(t, natsfront.Config{})
	id := schemas.NewTaskID()
	body := `{"capability":"hold","task_id":"` + id + `","tenant":"other","attempt":7,"assignment":{"agent_id":"evil"},` +
		`"hops":[{"hop":"x"}]}`
	if _, err := b.ask("task.submit", body); err != nil {
		t.Fatal(err)
	}
	want := `{"v":1,"task_id":"` + id + `","capability":"hold"}`
	if got := string(schemas.MustEncode(b.house.Message(id))); got != want {
		t.Errorf("the house got %s, want %s", got, want)
	}
}

func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, natsfront.Config{MaxWait: 50 * time.Millisecond})
	for _, wait := range []string{"3600000", "-1", "9223372036854775807"} {
		body, err := b.ask("task.wait", `{"task_id":"`+b.hold().TaskID+`","wait_ms":`+wait+`}`)
		if err != nil || read(t, body).State != schemas.StateWorking {
			t.Errorf("wait_ms %s: %s, %v", wait, body, err)
		}
	}
}

func TestStopAnswersThoseWhoWait(t *testing.T) {
	t.Parallel()
	b := newBench(t, natsfront.Config{})
	id := b.hold().TaskID
	type answer struct {
		body []byte
		err  error
	}
	waited := make(chan answer, 1)
	go func() {
		body, err := b.ask("task.wait", `{"task_id":"`+id+`","wait_ms":30000}`)
		waited <- answer{body, err}
	}()
	brokertest.Eventually(t, "the wait has begun", func() bool { return slices.Contains(b.house.Calls(), "Wait") })
	b.stop()
	if got := <-waited; got.err != nil || read(t, got.body).State != schemas.StateWorking {
		t.Errorf("%s, %v", got.body, got.err)
	}
}

func TestAnyVersionCanBeServed(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "dev", "v1.2.3", "1.2.3-rc.1+x", "9cf848b-dirty"} {
		b := newBench(t, natsfront.Config{Version: version})
		if _, err := b.ask("agent.list", "{}"); err != nil {
			t.Errorf("%q: %v", version, err)
		}
		b.stop()
	}
}
