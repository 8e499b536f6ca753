package adaptertest_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/grpc"
	"github.com/agentreach/agent-reach/worker/adapter/httpagent"
	"github.com/agentreach/agent-reach/worker/adapter/mcp"
	"github.com/agentreach/agent-reach/worker/adapter/openai"
	"github.com/agentreach/agent-reach/worker/adapter/sseagent"
	"github.com/agentreach/agent-reach/worker/adapter/websocket"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agent is any adapter.
type agent interface {
	worker.Handler
	Close()
}

// adapters are made for an address, and speak TLS or not.
var adapters = map[string]func(address string, secure bool) (agent, error){
	"http": func(address string, secure bool) (agent, error) {
		return httpagent.New(httpagent.Config{Endpoint: scheme("http", secure) + address})
	},
	"sse": func(address string, secure bool) (agent, error) {
		return sseagent.New(sseagent.Config{Endpoint: scheme("http", secure) + address})
	},
	"websocket": func(address string, secure bool) (agent, error) {
		return websocket.New(websocket.Config{Endpoint: scheme("ws", secure) + address})
	},
	"grpc": func(address string, secure bool) (agent, error) {
		return grpc.New(grpc.Config{Target: scheme("grpc", secure) + address})
	},
	"mcp": func(address string, secure bool) (agent, error) {
		return mcp.New(mcp.Config{Endpoint: scheme("http", secure) + address})
	},
	"openai": func(address string, secure bool) (agent, error) {
		return openai.New(openai.Config{Endpoint: scheme("http", secure) + address, Model: "small"})
	},
}

func scheme(plain string, secure bool) string {
	if secure {
		return plain + "s://"
	}
	return plain + "://"
}

const (
	refused     = "connection refused: is the agent running, and does it listen at this port?"
	noTLS       = "the port does not use TLS: use http, ws or grpc"
	tlsAlone    = "the port expects TLS: use https or wss"
	untrusted   = "its certificate is not trusted: does it name this host"
	wrongPath   = "is the path of the endpoint right?"
	wrongMethod = "is this the endpoint for tasks, and its transport?"
	noHTTP      = "the port does not speak HTTP/1.1: is this the agent's port, and its transport?"
	own         = "own"
	noGRPC      = "the port does not speak gRPC"
)

// Whoever has the wrong target reads what is wrong with it, and what to do.
func TestAWrongTarget(t *testing.T) {
	t.Parallel()
	const nobody = "127.0.0.1:1"
	say := func(status int, text string) string {
		return serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); _, _ = io.WriteString(w, text) }, false)
	}
	secure := serve(t, http.NotFound, true)
	missing, elsewhere, page, other := say(http.StatusNotFound, ""), say(http.StatusMethodNotAllowed, ""), say(http.StatusOK, "<html>hello</html>"), serveFrames(t)
	for _, tt := range []struct {
		name, address string
		secure        bool
		want          map[string]string // by adapter; "" is all others
	}{
		{"nobody listens", nobody, false, map[string]string{"": refused}},
		{"TLS against plain", page, true, map[string]string{"": noTLS}},
		{"plain against TLS", secure, false, map[string]string{"": tlsAlone, "grpc": noGRPC}},
		{"a certificate of nobody known", secure, true, map[string]string{"": untrusted, "grpc": noGRPC}},
		{"no such path", missing, false, map[string]string{"": wrongPath, "grpc": noGRPC}},
		{"no such method", elsewhere, false, map[string]string{"": wrongMethod, "grpc": noGRPC}},
		{"a page for people", page, false, map[string]string{"": wrongPath, "grpc": noGRPC, "openai": "the part before /chat/completions"}},
		{"a server of gRPC", other, false, map[string]string{"": noHTTP, "grpc": own}},
	} {
		for name, made := range adapters {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				t.Parallel()
				want, found := tt.want[name]
				switch {
				case want == own:
					t.Skip("that is its own")
				case !found:
					want = tt.want[""]
				}
				if said := failure(t, made, tt.address, tt.secure); !strings.Contains(said, want) {
					t.Errorf("it says %q,\nand not %q", said, want)
				}
			})
		}
	}
}

func failure(t *testing.T, made func(string, bool) (agent, error), address string, secure bool) string {
	t.Helper()
	a, err := made(address, secure)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = a.Handle(ctx, adaptertest.NewTask([]byte(`{"a":1}`)), new(adaptertest.Recorder))
	var failure *worker.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("it ended with %v", err)
	}
	return failure.Err.Message
}

// serve gives the address of an HTTP server.
func serve(t *testing.T, handler http.HandlerFunc, secure bool) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes are to fail here
	start := server.Start
	if secure {
		start = server.StartTLS
	}
	start()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// serveFrames gives the address of a server that begins and ends as those of gRPC do.
func serveFrames(t *testing.T) string {
	t.Helper()
	listener := adaptertest.Listen(t, "127.0.0.1:0")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00@\x00")
			_, _ = conn.Read(make([]byte, 64<<10)) // which is no preface of HTTP/2
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-ended })
	return listener.Addr().String()
}
