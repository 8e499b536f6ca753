package websocket_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	ws "github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/websocket"
)

// closingWith takes a task and closes with a code, or without one.
func closingWith(code ws.StatusCode) func(context.Context, *ws.Conn) {
	return func(ctx context.Context, conn *ws.Conn) {
		if _, err := read(ctx, conn); err == nil && code > 0 {
			_ = conn.Close(code, "reason")
		}
	}
}

func TestEveryCloseCodeHasItsMeaning(t *testing.T) {
	t.Parallel()
	lost := func(agents string) outcome {
		return outcome{Code: schemas.Unavailable, Reason: schemas.ReasonConnectionLost, Ran: schemas.RanUnknown, Agents: agents}
	}
	with := func(code schemas.Code, reason, agents string) outcome {
		return outcome{Code: code, Reason: reason, Ran: schemas.RanUnknown, Agents: agents}
	}
	tooBig := with(schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge, "close_1009")
	tooBig.Ran = schemas.RanNo
	for _, tt := range []struct {
		name string
		code ws.StatusCode
		want outcome
	}{
		{"none", 0, lost("")},
		{"normal", 1000, lost("close_1000")},
		{"going away", 1001, lost("close_1001")},
		{"a protocol error", 1002, with(schemas.Internal, schemas.ReasonProtocol, "close_1002")},
		{"data of another kind", 1003, with(schemas.Internal, schemas.ReasonProtocol, "close_1003")},
		{"broken data", 1007, with(schemas.Internal, schemas.ReasonProtocol, "close_1007")},
		{"a policy", 1008, with(schemas.PermissionDenied, "", "close_1008")},
		{"a message that is too big", 1009, tooBig},
		{"an internal error", 1011, with(schemas.Internal, "", "close_1011")},
		{"a restart", 1012, lost("close_1012")},
		{"later", 1013, with(schemas.ResourceExhausted, schemas.ReasonBusy, "close_1013")},
		{"a bad gateway", 1014, lost("close_1014")},
		{"unauthorized", 3000, with(schemas.Unauthenticated, "", "close_3000")},
		{"forbidden", 3003, with(schemas.PermissionDenied, "", "close_3003")},
		{"a timeout", 3008, with(schemas.DeadlineExceeded, "", "close_3008")},
		{"one of the agent's own", 4001, lost("close_4001")},
		{"one of the agent's own that is mapped", 4002, with(schemas.NotFound, "", "close_4002")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, "127.0.0.1:0", closingWith(tt.code))
			agent := newAgent(t, websocket.Config{Endpoint: server.endpoint()})
			task, heard := adaptertest.NewTask([]byte(`{}`)), new(adaptertest.Recorder)
			task.Offer.ErrorMapping["close_4002"] = schemas.NotFound
			result, err := agent.Handle(t.Context(), task, heard)
			if diff := cmp.Diff(tt.want, outcomeOf(t, result, heard, err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhereNobodySpeaksWebSocketNothingRan(t *testing.T) {
	t.Parallel()
	answer := func(status int, header, value string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(header, value)
			w.WriteHeader(status)
		}))
		t.Cleanup(server.Close)
		return strings.Replace(server.URL, "http", "ws", 1)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for _, tt := range []struct {
		name, endpoint string
		code           schemas.Code
		reason         string
	}{
		{"nobody listens", "ws://127.0.0.1:1", schemas.Unavailable, schemas.ReasonCannotConnect},
		{"no handshake", "ws://" + silent.Addr().String(), schemas.Unavailable, schemas.ReasonCannotConnect},
		{"no TLS", "wss://" + silent.Addr().String(), schemas.Unavailable, schemas.ReasonCannotConnect},
		{"a page", answer(200, "X", "y"), schemas.Unavailable, schemas.ReasonCannotConnect},
		{"a redirect", answer(307, "Location", "/x"), schemas.Unavailable, schemas.ReasonCannotConnect},
		{"a wrong key", answer(401, "X", "y"), schemas.Unauthenticated, ""},
		{"no such path", answer(404, "X", "y"), schemas.Unavailable, schemas.ReasonNoSuchEndpoint},
		{"a gateway without an agent", answer(502, "X", "y"), schemas.Unavailable, ""},
		{"a busy agent", answer(503, "Retry-After", "7"), schemas.Unavailable, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := websocket.Config{Endpoint: tt.endpoint}
			if tt.reason == schemas.ReasonCannotConnect { // what answers is given the time
				cfg.ConnectTimeout = 200 * time.Millisecond
			}
			agent := newAgent(t, cfg)
			got := run(t, agent)
			if got.Code != tt.code || got.Reason != tt.reason || got.Ran != schemas.RanNo {
				t.Errorf("got %+v", got)
			}
			if err := agent.Health(t.Context()); err == nil {
				t.Error("it is well")
			}
		})
	}
}

func TestTheNextDialIsPutOff(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0", closingWith(1013))
	agent := newAgent(t, websocket.Config{Endpoint: server.endpoint(), ReconnectMax: time.Hour})
	if got := run(t, agent); got.Ran != schemas.RanUnknown {
		t.Errorf("first: %+v", got)
	}
	_, err := agent.Handle(t.Context(), adaptertest.NewTask([]byte(`{}`)), new(adaptertest.Recorder))
	failure := failureOf(t, err)
	if wait := failure.Err.RetryAfterMS; failure.Ran != schemas.RanNo || wait < 3_590_000 || wait > 3_600_000 {
		t.Errorf("second: %v, ran %s, after %d ms", failure.Err, failure.Ran, wait)
	}
}

func TestTasksThatShareALostConnectionMayHaveRun(t *testing.T) {
	t.Parallel()
	const count = 5
	two := func(ctx context.Context, conn *ws.Conn) {
		for range count {
			if _, err := read(ctx, conn); err != nil {
				return
			}
		}
	}
	server := serve(t, "127.0.0.1:0", inTurn(two, answering(`{"task_id":"TASK","result":"fresh"}`)))
	agent := newAgent(t, websocket.Config{Endpoint: server.endpoint()})
	var ended []<-chan outcome
	for range count {
		ended = append(ended, begin(t.Context(), t, agent, new(adaptertest.Recorder)))
	}
	for _, e := range ended {
		if got := <-e; got.Ran != schemas.RanUnknown || got.Reason != schemas.ReasonConnectionLost {
			t.Errorf("got %+v", got)
		}
	}
	if got := run(t, agent); got.Result != `"fresh"` {
		t.Errorf("the next: %+v", got)
	}
}

// deaf answers one task and then reads no more: the connection looks alive.
func deaf(ctx context.Context, conn *ws.Conn) {
	if m, err := read(ctx, conn); err == nil {
		sayAll(conn, m.TaskID, `{"task_id":"TASK","result":"first"}`)
	}
	<-ctx.Done()
}

// TestATaskThatMayNotRunTwiceGoesNotIntoADeadConnection: nobody knows yet that it is dead.
func TestATaskThatMayNotRunTwiceGoesNotIntoADeadConnection(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0", inTurn(deaf, answering(`{"task_id":"TASK","result":"second"}`)))
	agent := newAgent(t, websocket.Config{Endpoint: server.endpoint(), PongTimeout: time.Second})
	task := adaptertest.NewTask([]byte(`{}`))
	task.Message.Assignment.Idempotent = true // so that nothing is asked before
	if result, err := agent.Handle(t.Context(), task, new(adaptertest.Recorder)); string(result) != `"first"` {
		t.Fatalf("got %q, %v", []byte(result), err)
	}
	if got := run(t, agent); got.Result != `"second"` {
		t.Errorf("got %+v", got)
	}
}

func TestAHalfOpenConnectionIsFoundByItsPings(t *testing.T) {
	t.Parallel()
	silent := func(ctx context.Context, conn *ws.Conn) {
		_, _ = read(ctx, conn)
		<-ctx.Done()
	}
	server := serve(t, "127.0.0.1:0", silent)
	agent := newAgent(t, websocket.Config{
		Endpoint: server.endpoint(), PingInterval: 50 * time.Millisecond, PongTimeout: 100 * time.Millisecond,
	})
	got := run(t, agent)
	for range 10 {
		if got.Ran != schemas.RanNo {
			break
		}
		got = run(t, agent) // the machine stood still for that long before the agent had the task
	}
	if got.Ran != schemas.RanUnknown || got.Reason != schemas.ReasonConnectionLost {
		t.Errorf("got %+v", got)
	}
}

// TestAReaderThatIsSlowIsNotHeldAgainstTheAgent: while nobody takes chunks nothing is read, and no pong either.
func TestAReaderThatIsSlowIsNotHeldAgainstTheAgent(t *testing.T) {
	t.Parallel()
	const count = 100
	server := serve(t, "127.0.0.1:0", func(ctx context.Context, conn *ws.Conn) {
		m, err := read(ctx, conn)
		if err != nil {
			return
		}
		for range count {
			sayAll(conn, m.TaskID, `{"task_id":"TASK","chunk":1}`)
		}
		sayAll(conn, m.TaskID, `{"task_id":"TASK","result":"whole"}`)
		_, _ = read(ctx, conn)
	})
	agent := newAgent(t, websocket.Config{
		Endpoint: server.endpoint(), PingInterval: 200 * time.Millisecond, PongTimeout: 400 * time.Millisecond,
	})
	heard := &adaptertest.Recorder{Gate: make(chan struct{})}
	ended := begin(t.Context(), t, agent, heard)
	heard.Gate <- struct{}{}
	<-time.After(1500 * time.Millisecond) // many times what a pong may take
	if err := agent.Health(t.Context()); err != nil {
		t.Errorf("it is not well: %v", err)
	}
	for range count - 1 {
		heard.Gate <- struct{}{}
	}
	if got := <-ended; got.Result != `"whole"` || len(got.Chunks) != count {
		t.Errorf("%d chunks, %+v", len(got.Chunks), got.Code)
	}
}

// TestALongMessageOnItsWayIsASignOfLife: no pong can come in the middle of a frame.
func TestALongMessageOnItsWayIsASignOfLife(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0", func(ctx context.Context, conn *ws.Conn) {
		m, err := read(ctx, conn)
		if err != nil {
			return
		}
		to, err := conn.Writer(ctx, ws.MessageText)
		if err != nil {
			return
		}
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for _, piece := range []string{`{"task_id":`, `"` + m.TaskID + `"`, `,`, `"result"`, `:[1`, `,`, `2`, `]`, `}`} {
			<-tick.C
			_, _ = to.Write([]byte(strings.Repeat(" ", 5000) + piece)) // more than the server keeps back
		}
		_ = to.Close()
		_, _ = read(ctx, conn)
	})
	agent := newAgent(t, websocket.Config{
		Endpoint: server.endpoint(), PingInterval: 200 * time.Millisecond, PongTimeout: 1500 * time.Millisecond,
	})
	if got := run(t, agent); !strings.HasPrefix(got.Result, "[1") {
		t.Errorf("got %+v", got)
	}
}

func TestHealthConnects(t *testing.T) {
	t.Parallel()
	connections := make(chan struct{}, 8)
	server := serve(t, "127.0.0.1:0", func(ctx context.Context, conn *ws.Conn) {
		connections <- struct{}{}
		_, _ = read(ctx, conn)
	})
	agent := newAgent(t, websocket.Config{Endpoint: server.endpoint()})
	for range 3 {
		if err := agent.Health(t.Context()); err != nil {
			t.Error(err)
		}
	}
	<-connections // of which the agent may hear later than we do
	if more := len(connections); more > 0 {
		t.Errorf("%d connections more than one", more)
	}
}

func TestCloseEndsWhatRuns(t *testing.T) {
	t.Parallel()
	asked, codes := make(chan struct{}), make(chan ws.StatusCode, 1)
	server := serve(t, "127.0.0.1:0", func(ctx context.Context, conn *ws.Conn) {
		_, _ = read(ctx, conn)
		close(asked)
		for {
			if _, err := read(ctx, conn); err != nil {
				codes <- ws.CloseStatus(err)
				return
			}
		}
	})
	agent := newAgent(t, websocket.Config{Endpoint: server.endpoint()})
	ended := begin(t.Context(), t, agent, new(adaptertest.Recorder))
	<-asked
	agent.Close()
	if got := <-ended; got.Code != schemas.Cancelled || got.Ran != schemas.RanUnknown {
		t.Errorf("got %+v", got)
	}
	if code := <-codes; code != ws.StatusNormalClosure {
		t.Errorf("it closed with %d", code)
	}
	if got := run(t, agent); got.Code != schemas.Unavailable || got.Ran != schemas.RanNo {
		t.Errorf("afterwards: %+v", got)
	}
}

func TestACancelIsSentAndAcknowledged(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0", func(ctx context.Context, conn *ws.Conn) {
		m, err := read(ctx, conn)
		if err != nil {
			return
		}
		sayAll(conn, m.TaskID, `{"task_id":"TASK","chunk":1}`)
		stop, err := read(ctx, conn)
		if err != nil || stop.Cancel != m.TaskID {
			return
		}
		sayAll(conn, m.TaskID, `{"task_id":"TASK","chunk":2}`, `{"task_id":"TASK","error":{"code":"CANCELLED"}}`)
		_, _ = read(ctx, conn)
	})
	agent := newAgent(t, websocket.Config{Endpoint: server.endpoint(), CancelWait: 10 * time.Second})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	heard := &adaptertest.Recorder{Gate: make(chan struct{})}
	failed := make(chan error, 1)
	go func() {
		_, err := agent.Handle(ctx, adaptertest.NewTask([]byte(`{}`)), heard)
		failed <- err
	}()
	heard.Gate <- struct{}{}
	cancel(worker.ErrCanceled)
	failure := failureOf(t, <-failed)
	if failure.Err.Code != schemas.Cancelled || !failure.Confirmed {
		t.Errorf("got %v, confirmed %t", failure.Err, failure.Confirmed)
	}
}
