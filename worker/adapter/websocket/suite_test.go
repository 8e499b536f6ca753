package websocket_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	ws "github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/websocket"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestItPassesTheSuite(t *testing.T) {
	for name, resume := range map[string]bool{"plain": false, "resuming": true} {
		t.Run(name, func(t *testing.T) {
			cfg := websocket.Config{Resume: resume, ResumeWithin: time.Second, PongTimeout: 2 * time.Second, CancelWait: 20 * time.Second}
			curt := cfg
			curt.CancelWait = 100 * time.Millisecond
			adaptertest.Run(t, adaptertest.Subject{Streams: true, Confirms: true, Start: starting(cfg), StartCurt: starting(curt)})
		})
	}
}

// starting starts the agent of the suite, with the adapter as cfg says.
func starting(cfg websocket.Config) func(*testing.T, int, adaptertest.Via) adaptertest.Agent {
	return func(t *testing.T, max int, via adaptertest.Via) adaptertest.Agent {
		server := serve(t, "127.0.0.1:0", obedient)
		cfg := cfg
		cfg.Endpoint, cfg.MaxMessage = "ws://"+via(server.Listener.Addr().String()), max
		return adaptertest.Agent{Handler: newAgent(t, cfg), Restart: func() {
			again := adaptertest.Again(t, server.Listener)
			server.stop()
			server = serveOn(t, again, obedient)
		}}
	}
}

// server is a WebSocket server that can be stopped with all its connections.
type server struct {
	*httptest.Server
	over context.Context
	end  context.CancelFunc
	all  sync.WaitGroup
}

// serve runs agent on every connection, at address, until the test ends.
func serve(t *testing.T, address string, agent func(context.Context, *ws.Conn)) *server {
	t.Helper()
	return serveOn(t, adaptertest.Listen(t, address), agent)
}

// serveOn is serve where a listener listens.
func serveOn(t *testing.T, listener net.Listener, agent func(context.Context, *ws.Conn)) *server {
	t.Helper()
	s := new(server)
	s.over, s.end = context.WithCancel(context.Background())
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := ws.Accept(w, r, &ws.AcceptOptions{Subprotocols: []string{"reach"}})
		if err != nil {
			return
		}
		s.all.Add(1)
		defer s.all.Done()
		defer context.AfterFunc(s.over, func() { _ = conn.CloseNow() })()
		conn.SetReadLimit(-1)
		agent(s.over, conn)
		_ = conn.CloseNow()
	}))
	_ = s.Listener.Close()
	s.Listener = listener
	s.Start()
	t.Cleanup(s.stop)
	return s
}

func (s *server) endpoint() string { return "ws://" + s.Listener.Addr().String() }

func (s *server) stop() {
	s.end()
	s.Close()
	s.all.Wait()
}

// newAgent is the adapter, with short timers where cfg has none.
func newAgent(t *testing.T, cfg websocket.Config) *websocket.Agent {
	t.Helper()
	for timer, short := range map[*time.Duration]time.Duration{
		&cfg.ConnectTimeout: 20 * time.Second, &cfg.CancelWait: time.Second, &cfg.ReconnectAfter: 5 * time.Millisecond,
	} {
		if *timer == 0 {
			*timer = short
		}
	}
	agent, err := websocket.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(agent.Close)
	return agent
}

// incoming is a message as agents read it.
type incoming struct {
	TaskID      string          `json:"task_id"`
	Capability  string          `json:"capability"`
	Attempt     int             `json:"attempt"`
	Traceparent string          `json:"traceparent"`
	Payload     schemas.Payload `json:"payload"`
	Cancel      string          `json:"cancel"`
	Resume      string          `json:"resume"`
	Next        int64           `json:"next"`
}

// obedient does one order after the other, all at once. It knows nothing of what a connection before carried.
func obedient(over context.Context, conn *ws.Conn) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	ctx, stop := context.WithCancel(over)
	defer stop()
	running := make(map[string]context.CancelFunc)
	for {
		m, err := read(ctx, conn)
		if err != nil {
			return
		}
		say := &voice{conn: conn, taskID: m.TaskID}
		switch {
		case m.Cancel != "":
			if stopTask := running[m.Cancel]; stopTask != nil {
				stopTask()
			}
		case m.Resume != "":
			(&voice{conn: conn, taskID: m.Resume}).say("lost", []byte("true"))
		default:
			task, stopTask := context.WithCancel(ctx)
			running[m.TaskID] = stopTask
			tasks.Go(func() { _ = adaptertest.Obey(task, m.TaskID, m.Payload, say) })
		}
	}
}

func read(ctx context.Context, conn *ws.Conn) (incoming, error) {
	var m incoming
	_, raw, err := conn.Read(ctx)
	if err != nil {
		return m, err
	}
	return m, schemas.Decode(raw, &m)
}

// voice says protocol lines of one task.
type voice struct {
	conn   *ws.Conn
	taskID string
	n      int
}

func (v *voice) say(what string, value []byte) {
	v.send(fmt.Sprintf(`{"task_id":%q,%q:%s}`, v.taskID, what, value))
}

func (v *voice) send(message string) {
	_ = v.conn.Write(context.Background(), ws.MessageText, []byte(message))
}

func (v *voice) Result(value []byte) { v.say("result", value) }

func (v *voice) Error(code, message string, details []byte) {
	v.say("error", adaptertest.ErrorBody(code, message, details))
}

func (v *voice) Chunk(value []byte) {
	v.n++
	v.send(fmt.Sprintf(`{"task_id":%q,"n":%d,"chunk":%s}`, v.taskID, v.n, value))
}

func (v *voice) Progress(fraction float64, message string) {
	v.say("progress", fmt.Appendf(nil, `{"fraction":%g,"message":%q}`, fraction, message))
}

func (v *voice) Garbage(text string) { v.send(text) }

func (v *voice) Break() { _ = v.conn.CloseNow() }
