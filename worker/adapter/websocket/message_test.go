package websocket_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
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

func sayAll(conn *ws.Conn, taskID string, messages ...string) {
	for _, message := range messages {
		_ = conn.Write(context.Background(), ws.MessageText, []byte(strings.ReplaceAll(message, "TASK", taskID)))
	}
}

func TestTheAgentGetsTheMessage(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	server := serve(t, "127.0.0.1:0", func(ctx context.Context, conn *ws.Conn) {
		_, raw, err := conn.Read(ctx)
		if err == nil {
			got <- string(raw)
		}
	})
	task := adaptertest.NewTask([]byte("{\n \"id\": 9007199254740993, \"n\":1e400 }"))
	_, err := newAgent(t, websocket.Config{Endpoint: server.endpoint()}).Handle(t.Context(), task, new(adaptertest.Recorder))
	if failure := failureOf(t, err); failure.Ran != schemas.RanUnknown {
		t.Errorf("ran %s", failure.Ran)
	}
	want := `{"task_id":"` + task.ID() + `","capability":"echo","attempt":1,"deadline":"` + schemas.At(task.Deadline).String() +
		`","traceparent":"` + adaptertest.Traceparent + `","payload":` + string(task.Message.Payload) + `}`
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheHandshakeSaysWhatWasConfigured(t *testing.T) {
	t.Parallel()
	got := make(chan *http.Request, 1)
	server := serve(t, "127.0.0.1:0", answering(`{"task_id":"TASK","result":1}`))
	handler := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r
		handler.ServeHTTP(w, r)
	})
	agent := newAgent(t, websocket.Config{
		Endpoint:     strings.Replace(server.endpoint(), "ws://", "ws://me:pass@", 1) + "/run?a=b",
		Subprotocols: []string{"other", "reach"},
		Headers:      map[string]string{"X-Team": "notes", "Host": "agent.example"},
	})
	if out := run(t, agent); out.Result != "1" {
		t.Fatalf("got %+v", out)
	}
	r := <-got
	said := []string{
		r.Host, r.URL.String(), r.Header.Get("Authorization"), r.Header.Get("X-Team"), r.Header.Get("Sec-Websocket-Protocol"),
	}
	if diff := cmp.Diff([]string{"agent.example", "/run?a=b", "Basic bWU6cGFzcw==", "notes", "other,reach"}, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOnlyMessagesThatNameTheTaskCount(t *testing.T) {
	t.Parallel()
	for _, noise := range []string{
		`{"result":1}`, `{"task_id":"other","result":1}`, `{"task_id":"TASK"}`, `{"task_id":"TASK","result":1`, `{"level":"info"}`,
		`{"task_id":"TASK","result":1,"error":2}`, ``, `text`, `["TASK"]`, `{"task_id":"TASK","lost":true}`, "\xff",
	} {
		t.Run(noise, func(t *testing.T) {
			t.Parallel()
			server := serve(t, "127.0.0.1:0", answering(noise, `{"task_id":"TASK","result":2}`, `{"task_id":"TASK","chunk":3}`))
			agent := newAgent(t, websocket.Config{Endpoint: server.endpoint()})
			for range 2 {
				if got := run(t, agent); got.Result != "2" || len(got.Chunks) > 0 {
					t.Errorf("got %+v", got)
				}
			}
		})
	}
}

func TestBinaryAndFragmentedMessagesAreMessages(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0", func(ctx context.Context, conn *ws.Conn) {
		m, err := read(ctx, conn)
		if err != nil {
			return
		}
		to, err := conn.Writer(ctx, ws.MessageBinary)
		if err != nil {
			return
		}
		for _, b := range []byte(fmt.Sprintf(`{"task_id":%q,"result":{"a":1.0}}`, m.TaskID)) {
			_, _ = to.Write([]byte{b})
		}
		_ = to.Close()
		_, _ = read(ctx, conn)
	})
	if got := run(t, newAgent(t, websocket.Config{Endpoint: server.endpoint()})); got.Result != `{"a":1.0}` {
		t.Errorf("got %+v", got)
	}
}

func TestALargePayloadArrivesWhole(t *testing.T) {
	t.Parallel()
	payload := `"` + strings.Repeat("é", 1<<20) + `"`
	server := serve(t, "127.0.0.1:0", func(ctx context.Context, conn *ws.Conn) {
		m, err := read(ctx, conn)
		if err != nil {
			return
		}
		sayAll(conn, m.TaskID, fmt.Sprintf(`{"task_id":"TASK","result":%t}`, string(m.Payload) == payload))
		_, _ = read(ctx, conn)
	})
	agent := newAgent(t, websocket.Config{Endpoint: server.endpoint()})
	result, err := agent.Handle(t.Context(), adaptertest.NewTask([]byte(payload)), new(adaptertest.Recorder))
	if string(result) != "true" || err != nil {
		t.Errorf("got %q, %v", []byte(result), err)
	}
}

func TestLongMessages(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	for _, size := range []int{65_535, 65_536, 65_537, limit, limit + 1, 2 * limit} {
		var asked int
		server := serve(t, "127.0.0.1:0", func(ctx context.Context, conn *ws.Conn) {
			for {
				m, err := read(ctx, conn)
				if err != nil {
					return
				}
				head, length := fmt.Sprintf(`{"task_id":%q,"result":"`, m.TaskID), size
				if asked++; asked > 1 {
					length = 100
				}
				sayAll(conn, m.TaskID, head+strings.Repeat("x", length-len(head)-2)+`"}`)
			}
		})
		agent := newAgent(t, websocket.Config{Endpoint: server.endpoint(), MaxMessage: limit})
		got := run(t, agent)
		if fits := got.Result != ""; fits != (size <= limit) {
			t.Errorf("%d bytes: %s %s", size, got.Code, got.Reason)
		}
		if size > limit && (got.Reason != schemas.ReasonResultTooLarge || got.Ran != schemas.RanYes) {
			t.Errorf("%d bytes: %+v", size, got)
		}
		if next := run(t, agent); next.Result == "" {
			t.Errorf("after %d bytes: %+v", size, next)
		}
		agent.Close()
		server.stop()
	}
}

// TestAnEndlessMessageEndsTheConnection: there is no other way out of it. The next task has another one.
func TestAnEndlessMessageEndsTheConnection(t *testing.T) {
	t.Parallel()
	endless := func(ctx context.Context, conn *ws.Conn) {
		m, err := read(ctx, conn)
		if err != nil {
			return
		}
		to, err := conn.Writer(ctx, ws.MessageText)
		if err != nil {
			return
		}
		_, err = io.WriteString(to, fmt.Sprintf(`{"task_id":%q,"result":"`, m.TaskID))
		for err == nil {
			_, err = io.WriteString(to, strings.Repeat("x", 1<<14))
		}
	}
	server := serve(t, "127.0.0.1:0", inTurn(endless, answering(`{"task_id":"TASK","result":2}`)))
	agent := newAgent(t, websocket.Config{Endpoint: server.endpoint(), MaxMessage: 1 << 16})
	if got := run(t, agent); got.Reason != schemas.ReasonResultTooLarge || got.Ran != schemas.RanYes {
		t.Errorf("got %+v", got)
	}
	if got := run(t, agent); got.Result != "2" {
		t.Errorf("the next: %+v", got)
	}
}

func TestBadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]websocket.Config{
		"no endpoint":        {},
		"another scheme":     {Endpoint: "http://agent/run"},
		"no host":            {Endpoint: "ws:///run"},
		"a header of ours":   {Endpoint: "ws://agent", Headers: map[string]string{"Upgrade": "x"}},
		"a negative timeout": {Endpoint: "ws://agent", PongTimeout: -time.Second},
		"a negative limit":   {Endpoint: "ws://agent", MaxMessage: -1},
	} {
		if _, err := websocket.New(cfg); err == nil || !strings.HasPrefix(err.Error(), "websocket agent: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := websocket.New(websocket.Config{Endpoint: "ftp://me:hunter2@agent"}); strings.Contains(fmt.Sprint(err), "hunter2") {
		t.Errorf("a password in the error: %v", err)
	}
}

func ExampleNew() {
	agent, err := websocket.New(websocket.Config{Endpoint: "ws://127.0.0.1:9000/tasks", PingInterval: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	var handler worker.Handler = agent
	fmt.Printf("%T\n", handler)
	// Output: *websocket.Agent
}
