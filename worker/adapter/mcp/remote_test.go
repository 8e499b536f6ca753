package mcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker/adapter/mcp"
)

// refusing is around a server: once it is on, it answers calls of tools with that status instead.
func refusing(status int, on func(method string) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if on(r.Method) {
				w.Header().Set("Retry-After", "3")
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func TestStatusesOfARefusedGreetingAndOfARefusedCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		status int
		want   [3]string // at the greeting
		call   [3]string
	}{
		{"a wrong key", 401, [3]string{"UNAUTHENTICATED", "", "no"}, [3]string{"UNAUTHENTICATED", "", "no"}},
		{"too many", 429, [3]string{"RESOURCE_EXHAUSTED", "BUSY", "no"}, [3]string{"RESOURCE_EXHAUSTED", "BUSY", "no"}},
		{"a bad gateway", 502, [3]string{"UNAVAILABLE", "", "no"}, [3]string{"UNAVAILABLE", "", "unknown"}},
		{
			"not there at all", 405,
			[3]string{"UNAVAILABLE", "NO_SUCH_ENDPOINT", "no"},
			[3]string{"UNAVAILABLE", "NO_SUCH_ENDPOINT", "no"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			always := refusing(tt.status, func(string) bool { return true })
			agent := newAgent(t, mcp.Config{Endpoint: serve(t, "127.0.0.1:0", obedient(), always).URL})
			if got := run(t, agent, "echo", `{}`); got.without() != tt.want {
				t.Errorf("at the greeting: %+v", got)
			}
			var greeted atomic.Bool
			later := refusing(tt.status, func(method string) bool { return greeted.Load() && method == http.MethodPost })
			agent = newAgent(t, mcp.Config{Endpoint: serve(t, "127.0.0.1:0", obedient(), later).URL})
			if err := agent.Health(t.Context()); err != nil {
				t.Fatal(err)
			}
			greeted.Store(true)
			if got := run(t, agent, "echo", `{}`); got.without() != tt.call {
				t.Errorf("at the call: %+v", got)
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the stranger was asked") }))
	t.Cleanup(stranger.Close)
	home := httptest.NewServer(http.RedirectHandler(stranger.URL, http.StatusTemporaryRedirect))
	t.Cleanup(home.Close)
	agent := newAgent(t, mcp.Config{Endpoint: home.URL, Headers: map[string]string{"X-Key": "hunter2"}})
	if got := run(t, agent, "echo", `{}`); got.Ran != schemas.RanNo || got.Code == "" {
		t.Errorf("got %+v", got)
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	agent := newAgent(t, mcp.Config{Endpoint: "http://me:hunter2@127.0.0.1:1/mcp?token=hunter2"}) // no port that another test is given
	got := run(t, agent, "echo", `{}`)
	if got.Reason != schemas.ReasonCannotConnect || got.Ran != schemas.RanNo || strings.Contains(got.Said, "hunter2") {
		t.Errorf("got %+v", got)
	}
	if err := agent.Health(t.Context()); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("health: %v", err)
	}
}

// counting is a server whose tool counts its calls.
func counting() (*sdk.Server, *atomic.Int32) {
	calls := new(atomic.Int32)
	s := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	s.AddTool(tool("echo"), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		calls.Add(1)
		return text(`"done"`), nil
	})
	return s, calls
}

func TestACallOfAForgottenSessionGoesToTheNext(t *testing.T) {
	t.Parallel()
	s, calls := counting()
	agent := newAgent(t, mcp.Config{Endpoint: serve(t, "127.0.0.1:0", s, nil).URL})
	for n := range 3 {
		if got := run(t, agent, "echo", `{}`); got.Result != `"done"` {
			t.Errorf("call %d: %+v", n, got)
		}
		for session := range s.Sessions() {
			_ = session.Close() // as a server that was started again
		}
	}
	if got := calls.Load(); got != 3 {
		t.Errorf("%d calls of the tool", got)
	}
}

func TestHeadersAndProtocolGoWithEachRequest(t *testing.T) {
	t.Parallel()
	requests := make(chan *http.Request, 64)
	s, _ := counting()
	server := serve(t, "127.0.0.1:0", s, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests <- r
			next.ServeHTTP(w, r)
		})
	})
	agent := newAgent(t, mcp.Config{
		Endpoint: strings.Replace(server.URL, "http://", "http://me:pass@", 1), Headers: map[string]string{"X-Team": "notes"},
	})
	if got := run(t, agent, "echo", `{}`); got.Result != `"done"` {
		t.Fatalf("got %+v", got)
	}
	agent.Close()
	close(requests)
	n := 0
	for r := range requests {
		if r.Header.Get("X-Team") != "notes" || r.Header.Get("Authorization") != "Basic bWU6cGFzcw==" {
			t.Errorf("%s with %v", r.Method, r.Header)
		}
		if n++; n > 1 && r.Header.Get("Mcp-Protocol-Version") != "2025-11-25" {
			t.Errorf("request %d has no protocol: %v", n, r.Header)
		}
	}
	if n < 3 {
		t.Errorf("%d requests", n)
	}
}

func TestOtherKindsOfServers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options *sdk.StreamableHTTPOptions
		version string
	}{
		"one without sessions":        {&sdk.StreamableHTTPOptions{Stateless: true}, ""},
		"one that answers in JSON":    {&sdk.StreamableHTTPOptions{JSONResponse: true}, ""},
		"one of the protocol of 2026": {nil, "2026-07-28"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := counting()
			server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, tt.options))
			t.Cleanup(server.Close)
			agent := newAgent(t, mcp.Config{Endpoint: server.URL, ProtocolVersion: tt.version})
			for range 2 {
				if got := run(t, agent, "echo", `{}`); got.Result != `"done"` {
					t.Errorf("got %+v", got)
				}
			}
			if err := agent.Health(t.Context()); err != nil {
				t.Errorf("health: %v", err)
			}
			agent.Close()
		})
	}
}
