package streaming

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
	"github.com/agentreach/agent-reach/dispatcher/front/natsfront"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

const patience = 30 * time.Second

// maxPayload is the largest payload or result of these houses.
const maxPayload = 8 << 20

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// act is a capability that must not run twice.
var act = schemas.Capability{ID: "act", InputSchema: []byte(`{"type":"object"}`), OutputSchema: []byte(`{"type":"object"}`)}

// house is a broker, two dispatchers with their fronts, and as many workers as a test wants.
type house struct {
	t      *testing.T
	broker *brokertest.Broker
	ttl    time.Duration // of silence, after which an agent counts as dead
	fronts []string
	http   *http.Client
	sdk    *client.Client
}

// newHouse is one in which nobody dies of silence: a machine that has much else to do must not make an agent dead.
func newHouse(t *testing.T) *house {
	t.Helper()
	return newHouseWith(t, time.Minute)
}

// newImpatientHouse is one in which a worker that is killed or cut off is soon missed.
func newImpatientHouse(t *testing.T) *house {
	t.Helper()
	return newHouseWith(t, 2*time.Second)
}

func newHouseWith(t *testing.T, ttl time.Duration) *house {
	t.Helper()
	h := &house{t: t, broker: brokertest.New(t), ttl: ttl, http: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(h.http.CloseIdleConnections)
	for range 2 {
		h.startDispatcher()
	}
	h.sdk = client.New(h.conn())
	return h
}

func (h *house) conn() *broker.Conn {
	return h.broker.Connect(h.t, func(cfg *broker.Config) { cfg.Chunks.Beat = 100 * time.Millisecond })
}

func (h *house) startDispatcher() {
	h.t.Helper()
	conn := h.conn()
	d, err := dispatcher.New(conn, dispatcher.Config{
		Logger: zerolog.Nop(), Capabilities: []schemas.Capability{act, ledger},
		HeartbeatInterval: 300 * time.Millisecond, HeartbeatTTL: h.ttl, DisconnectGrace: 300 * time.Millisecond,
		ReceiptInterval: 200 * time.Millisecond, ResendAfter: 300 * time.Millisecond, BackoffBase: 50 * time.Millisecond,
		PresenceBeat: 100 * time.Millisecond, PresenceTTL: 500 * time.Millisecond, Tick: 20 * time.Millisecond, Retention: time.Hour,
		MaxPayload: maxPayload,
	})
	check(h.t, err)
	h.run(func(ctx context.Context) error { return d.Run(ctx) })
	select {
	case <-d.Ready():
	case <-time.After(patience):
		h.t.Fatal("the dispatcher is not ready")
	}
	api, err := natsfront.Serve(conn, d, natsfront.Config{})
	check(h.t, err)
	h.t.Cleanup(api.Close)
	handler, err := httpfront.New(httpfront.Config{Service: d})
	check(h.t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(h.t, err)
	h.run(func(ctx context.Context) error { return httpfront.Server{Handler: handler}.Run(ctx, listener) })
	h.fronts = append(h.fronts, "http://"+listener.Addr().String())
}

// run runs something until it is stopped, at the end of the test at the latest.
func (h *house) run(fn func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := fn(ctx); err != nil && ctx.Err() == nil {
			h.t.Errorf("run: %v", err)
		}
	}()
	stop = func() { cancel(); <-done }
	h.t.Cleanup(stop)
	return stop
}

// wire is a worker's way to the broker, which can be cut for good.
type wire struct{ relay *brokertest.Relay }

func (w *wire) cut() { w.relay.Pause() }

// work serves an agent by a worker of its own.
func (h *house) work(agentID string, handler worker.HandlerFunc, capabilities ...string) *wire {
	h.t.Helper()
	relay := brokertest.Proxy(h.t, h.broker.URL())
	conn := h.broker.Connect(h.t, func(cfg *broker.Config) {
		cfg.URL, cfg.TryTimeout, cfg.Grace, cfg.Chunks.Beat = relay.URL(), 200*time.Millisecond, 50*time.Millisecond, 100*time.Millisecond
		cfg.Chunks.Limits.Span = time.Minute // agents are instant here: no reader could keep up
	})
	h.t.Cleanup(relay.Resume)
	registration := schemas.Registration{AgentID: agentID}
	for _, id := range capabilities {
		registration.Capabilities = append(registration.Capabilities, schemas.Offer{ID: id, MaxConcurrency: 4})
	}
	w, err := worker.New(worker.Config{
		Conn: conn, Agents: []worker.Agent{{Registration: registration, Handler: handler}}, Logger: zerolog.Nop(),
		HeartbeatInterval: 300 * time.Millisecond, HeartbeatGap: 50 * time.Millisecond, ReceiptAfter: receiptAfter,
		ReceiptInterval: 200 * time.Millisecond, RequestTimeout: 300 * time.Millisecond, PullTimeout: 500 * time.Millisecond,
		DrainTimeout: 100 * time.Millisecond, StopGrace: patience, // however late an agent stops, it is heard
	})
	check(h.t, err)
	h.run(w.Run)
	select {
	case <-w.Ready():
	case <-time.After(patience):
		h.t.Fatal("the worker is not ready")
	}
	for _, front := range h.fronts {
		brokertest.Eventually(h.t, "every dispatcher knows "+agentID, func() bool {
			response, err := h.http.Get(front + "/v1/agents/" + agentID)
			if err != nil {
				return false
			}
			return response.Body.Close() == nil && response.StatusCode == http.StatusOK
		})
	}
	return &wire{relay}
}

// receiptAfter is how long a worker holds a task before it says so.
const receiptAfter = 20 * time.Millisecond

// unhurried is a run limit, in milliseconds, that no task of these tests reaches however slow the machine is.
const unhurried = 60_000

// submit gives a task that says nothing else all the time that it may need.
func (h *house) submit(m schemas.ReachMessage) *schemas.Task {
	h.t.Helper()
	m.RunTimeoutMS = cmp.Or(m.RunTimeoutMS, unhurried)
	task, err := h.sdk.Submit(within(h.t), &m)
	check(h.t, err)
	return task
}

// task is a task as HTTP shows it.
func (h *house) task(id string) string {
	h.t.Helper()
	response, err := h.http.Get(h.fronts[0] + "/v1/tasks/" + id)
	check(h.t, err)
	defer response.Body.Close()
	var body strings.Builder
	_, err = bufio.NewReader(response.Body).WriteTo(&body)
	check(h.t, err)
	return body.String()
}

// events is a stream of server-sent events.
type events struct {
	t      *testing.T
	blocks *bufio.Scanner
	leave  func()
}

// follow opens a stream at one of the fronts; last is the id of the last event that its reader has.
func (h *house) follow(front int, taskID, last string) *events {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.fronts[front]+"/v1/tasks/"+taskID+"/events", nil)
	check(h.t, err)
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	response, err := h.http.Do(request)
	check(h.t, err)
	leave := func() { cancel(); _ = response.Body.Close() }
	h.t.Cleanup(leave)
	if response.StatusCode != http.StatusOK {
		h.t.Fatalf("follow: status %d", response.StatusCode)
	}
	blocks := bufio.NewScanner(response.Body)
	blocks.Buffer(nil, 2*maxPayload)
	blocks.Split(func(data []byte, _ bool) (int, []byte, error) {
		if at := strings.Index(string(data), "\n\n"); at >= 0 {
			return at + 2, data[:at], nil
		}
		return 0, nil, nil
	})
	return &events{t: h.t, blocks: blocks, leave: leave}
}

// event is one of a stream.
type event struct{ id, name, data string }

// next is the next event; false at the end of the stream.
func (e *events) next() (event, bool) {
	for e.blocks.Scan() {
		var one event
		for line := range strings.Lines(e.blocks.Text()) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch name {
			case "id":
				one.id = value
			case "event":
				one.name = value
			case "data":
				one.data = value
			}
		}
		if one.name != "" {
			return one, true
		}
	}
	return event{}, false
}

// rest reads to the end: the chunks and notices, and the last event.
func (e *events) rest() (pieces []string, last event) {
	e.t.Helper()
	for {
		one, found := e.next()
		if !found {
			return pieces, last
		}
		if last.name == "done" {
			e.t.Errorf("after the end: %+v", one)
		}
		last = one
		if one.name == "chunk" || one.name == "notice" {
			pieces = append(pieces, one.data)
		}
	}
}

func chunk(n, attempt int, data string) string {
	return fmt.Sprintf(`{"n":%d,"attempt":%d,"data":%s}`, n, attempt, data)
}

// emit passes on chunks, each as soon as the one before was taken.
func emit(ctx context.Context, to worker.Emit, chunks ...string) error {
	for _, one := range chunks {
		if err := to.Chunk(ctx, schemas.Payload(one)); err != nil {
			return err
		}
	}
	return nil
}

var errGone = errors.New("the agent has gone")
