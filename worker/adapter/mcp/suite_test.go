package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/mcp"
)

// serverVariable makes the test binary an MCP server: obedient, or one of the programs of program_test.go.
const serverVariable = "ADAPTERTEST_SERVER"

func TestMain(m *testing.M) {
	if which := os.Getenv(serverVariable); which != "" {
		runServer(which)
		return
	}
	goleak.VerifyTestMain(m)
}

func TestBothTransportsPassTheSuite(t *testing.T) {
	for name, subject := range map[string]adaptertest.Subject{
		"stdio": {Streams: true, Start: startProgram, Buffers: 4 << 20, Held: -1}, // not through the library that the servers are made with
		"http":  {Streams: true, Start: startRemote, Held: -1},
	} {
		t.Run(name, func(t *testing.T) {
			adaptertest.Run(t, subject)
		})
	}
}

func startProgram(t *testing.T, max int, _ adaptertest.Via) adaptertest.Agent {
	return adaptertest.Agent{Handler: newAgent(t, program("obedient", mcp.Config{MaxResult: max}))}
}

func startRemote(t *testing.T, max int, via adaptertest.Via) adaptertest.Agent {
	server := serve(t, "127.0.0.1:0", obedient(), nil)
	address := server.Listener.Addr().String()
	agent := newAgent(t, mcp.Config{Endpoint: "http://" + via(address), MaxResult: max})
	return adaptertest.Agent{Handler: agent, Restart: func() {
		again := adaptertest.Again(t, server.Listener)
		server.CloseClientConnections()
		server.Close()
		server = serveOn(t, again, obedient(), nil)
	}}
}

// program is cfg for this very program as a server.
func program(which string, cfg mcp.Config) mcp.Config {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cfg.Command, cfg.Env = []string{self}, append(cfg.Env, serverVariable+"="+which)
	return cfg
}

// newAgent is the adapter, with short timers where cfg has none.
func newAgent(t *testing.T, cfg mcp.Config) *mcp.Agent {
	t.Helper()
	for timer, short := range map[*time.Duration]time.Duration{
		&cfg.ConnectTimeout: 20 * time.Second, &cfg.KillAfter: 300 * time.Millisecond, &cfg.ReconnectAfter: 5 * time.Millisecond,
	} {
		if *timer == 0 {
			*timer = short
		}
	}
	agent, err := mcp.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(agent.Close)
	return agent
}

// serve runs an MCP server behind HTTP at address until the test ends; around may look at the requests.
func serve(t *testing.T, address string, s *sdk.Server, around func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	return serveOn(t, adaptertest.Listen(t, address), s, around)
}

// serveOn is serve where a listener listens.
func serveOn(t *testing.T, listener net.Listener, s *sdk.Server, around func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	var handler http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	if around != nil {
		handler = around(handler)
	}
	server := httptest.NewUnstartedServer(named(handler))
	_ = server.Listener.Close()
	server.Listener = listener
	server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conn)
	}
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		for session := range s.Sessions() {
			_ = session.Close()
		}
	})
	return server
}

// connHeader tells a tool over which of conns its call came, so that it can break it.
const connHeader = "X-Test-Connection"

type connKey struct{}

var conns sync.Map

func named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := r.Context().Value(connKey{})
		name := fmt.Sprintf("%p", conn)
		conns.Store(name, conn)
		defer conns.Delete(name)
		r.Header.Set(connHeader, name)
		next.ServeHTTP(w, r)
	})
}

// obedient is a server whose one tool does what it is told.
func obedient() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "obedient", Version: "1"}, nil)
	s.AddTool(tool("echo"), func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		taskID, _ := req.Params.Meta["agentreach/task_id"].(string)
		say := &voice{ctx: ctx, req: req}
		if err := adaptertest.Obey(ctx, taskID, req.Params.Arguments, say); err != nil {
			return nil, err
		}
		return say.result, nil
	})
	return s
}

func tool(name string) *sdk.Tool {
	return &sdk.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func text(said string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: said}}}
}

// voice answers one call.
type voice struct {
	ctx    context.Context
	req    *sdk.CallToolRequest
	result *sdk.CallToolResult
	done   float64
}

func (v *voice) Result(value []byte) { v.result = text(string(value)) }

func (v *voice) Error(code, message string, details []byte) {
	v.result = text(string(adaptertest.ErrorBody(code, message, details)))
	v.result.IsError = true
}

func (v *voice) notify(p *sdk.ProgressNotificationParams) {
	p.ProgressToken = v.req.Params.GetProgressToken()
	if err := v.req.Session.NotifyProgress(v.ctx, p); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (v *voice) Chunk(value []byte) {
	v.done++
	v.notify(&sdk.ProgressNotificationParams{
		Progress: v.done, Meta: sdk.Meta{"agentreach/chunk": json.RawMessage(value)},
	})
}

func (v *voice) Progress(fraction float64, message string) {
	v.notify(&sdk.ProgressNotificationParams{Progress: fraction * 200, Total: 200, Message: message})
}

func (v *voice) Garbage(said string) { v.result = text(said) }

func (v *voice) Break() {
	if os.Getenv(serverVariable) != "" {
		fmt.Print(`{"jsonrpc":"2.0","id":`)
		os.Exit(7)
	}
	if conn, found := conns.Load(v.req.Extra.Header.Get(connHeader)); found {
		_ = conn.(net.Conn).Close()
	}
}
