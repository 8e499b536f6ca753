package httpagent_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/httpagent"
)

// run gives the agent one small task.
func run(t *testing.T, cfg httpagent.Config, task *worker.Task) outcome {
	t.Helper()
	result, err := newAgent(t, cfg).Handle(t.Context(), task, new(adaptertest.Recorder))
	return outcomeOf(t, result, err)
}

// closedPort is where nobody listens; no other test is given it.
const closedPort = "127.0.0.1:1"

// raw serves plain TCP: handle gets each connection, after its request was read to the end.
func raw(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { _ = listener.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			handle(conn)
			_ = conn.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}

// listenOnly hears the other side to its end and says nothing.
func listenOnly(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// readRequest takes one whole request from a connection.
func readRequest(from *bufio.Reader) bool {
	req, err := http.ReadRequest(from)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

func TestWhatWasNeverSentDidNotRun(t *testing.T) {
	t.Parallel()
	plain := adaptertest.Serve(t, "127.0.0.1:0", func(http.ResponseWriter, *http.Request) { t.Error("the agent was asked") })
	untrusted := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the agent was asked") }))
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	for name, endpoint := range map[string]string{
		"nobody listens":               "http://" + closedPort,
		"no such name":                 "http://agent.invalid/run",
		"a certificate of nobody":      untrusted.URL,
		"TLS where there is none":      strings.Replace(plain.URL, "http:", "https:", 1),
		"a connection that says no":    strings.Replace(raw(t, func(net.Conn) {}), "http:", "https:", 1),
		"a handshake that never comes": strings.Replace(raw(t, listenOnly), "http:", "https:", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, httpagent.Config{Endpoint: endpoint, ConnectTimeout: 200 * time.Millisecond}, summarize(`{}`))
			want := outcome{Code: schemas.Unavailable, Reason: schemas.ReasonCannotConnect, Ran: schemas.RanNo, Again: true}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatWasSentMayHaveRun(t *testing.T) {
	t.Parallel()
	asked := func(answer string) func(net.Conn) {
		return func(conn net.Conn) {
			readRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, answer)
		}
	}
	for name, handle := range map[string]func(net.Conn){
		"no answer":                     asked(""),
		"half a status line":            asked("HTTP/1.1 2"),
		"something that is not HTTP":    asked("SSH-2.0-OpenSSH_9.6\r\n"),
		"half a body":                   asked("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"a"),
		"half a chunked body":           asked("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"),
		"a header without an end":       asked("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20)),
		"a connection closed unread":    func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) },
		"silence in the middle of it":   func(conn net.Conn) { asked("HTTP/1.1 200 OK\r\n\r\n{")(conn); listenOnly(conn) },
		"a redirect that leads nowhere": redirectOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, httpagent.Config{Endpoint: raw(t, handle), ReadTimeout: 100 * time.Millisecond}, summarize(`{}`))
			want := outcome{Code: schemas.Unavailable, Reason: schemas.ReasonConnectionLost, Ran: schemas.RanUnknown, Again: true}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// redirectOnce sends the caller to the same place, and is silent when it comes.
func redirectOnce(conn net.Conn) {
	from := bufio.NewReader(conn)
	readRequest(from)
	_, _ = io.WriteString(conn, "HTTP/1.1 307 Temporary Redirect\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n")
	readRequest(from)
}

func TestAFailureStatusCountsEvenIfItsBodyIsCutOff(t *testing.T) {
	t.Parallel()
	endpoint := raw(t, func(conn net.Conn) {
		readRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 100\r\n\r\n{\"err")
	})
	want := outcome{Code: schemas.InvalidArgument, Ran: schemas.RanNo, AgentState: 400}
	if diff := cmp.Diff(want, run(t, httpagent.Config{Endpoint: endpoint}, summarize(`{}`))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNothingIsSentTwice: on a kept connection that is dropped, Go's transport repeats a POST with an Idempotency-Key if it can.
func TestNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	endpoint := raw(t, func(conn net.Conn) {
		from := bufio.NewReader(conn)
		for readRequest(from) {
			if requests.Add(1) > 1 {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		}
	})
	agent := newAgent(t, httpagent.Config{Endpoint: endpoint})
	if _, err := agent.Handle(t.Context(), summarize(`{}`), new(adaptertest.Recorder)); err != nil {
		t.Fatal(err)
	}
	_, err := agent.Handle(t.Context(), summarize(`{}`), new(adaptertest.Recorder))
	got := outcomeOf(t, nil, err)
	if got.Reason != schemas.ReasonConnectionLost || got.Ran != schemas.RanUnknown || requests.Load() != 2 {
		t.Errorf("got %+v after %d requests", got, requests.Load())
	}
}

func TestOnlyRepeatableTasksShareConnections(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	agent := newAgent(t, httpagent.Config{Endpoint: server.URL})
	for _, tt := range []struct {
		idempotent bool
		want       int32
	}{{true, 1}, {false, 3}} {
		connections.Store(0)
		for range 3 {
			task := summarize(`{}`)
			task.Message.Assignment.Idempotent = tt.idempotent
			if _, err := agent.Handle(t.Context(), task, new(adaptertest.Recorder)); err != nil {
				t.Fatal(err)
			}
		}
		if got := connections.Load(); got != tt.want {
			t.Errorf("idempotent %t: %d connections, want %d", tt.idempotent, got, tt.want)
		}
	}
}

func TestTLSOfOnesOwnIsTrusted(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	got := run(t, httpagent.Config{Endpoint: server.URL, TLS: &tls.Config{RootCAs: pool}}, summarize(`[1]`))
	if got.Result != `[1]` {
		t.Errorf("got %+v", got)
	}
}

func TestRedirectsStayAtHome(t *testing.T) {
	t.Parallel()
	stranger := adaptertest.Serve(t, "127.0.0.1:0", func(http.ResponseWriter, *http.Request) { t.Error("the stranger was asked") })
	mux := http.NewServeMux()
	mux.Handle("/away", http.RedirectHandler(stranger.URL+"/run", http.StatusTemporaryRedirect))
	mux.Handle("/one", http.RedirectHandler("two", http.StatusPermanentRedirect))
	mux.Handle("/three", http.RedirectHandler("/run?n=3", http.StatusTemporaryRedirect))
	mux.Handle("/four", http.RedirectHandler("/one", http.StatusTemporaryRedirect))
	mux.HandleFunc("/run", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.Header.Get("Authorization") == "" || r.Header.Get("Idempotency-Key") != taskID {
			t.Errorf("%s with %v", r.Method, r.Header)
		}
		_, _ = io.Copy(w, r.Body)
	})
	home := adaptertest.Serve(t, "127.0.0.1:0", mux.ServeHTTP)
	mux.Handle("/two", http.RedirectHandler(home.URL+"/three", http.StatusTemporaryRedirect))
	refused := func(status int) outcome {
		return outcome{Code: schemas.Internal, Reason: schemas.ReasonRedirectRefused, Ran: schemas.RanNo, AgentState: status}
	}
	for path, want := range map[string]outcome{
		"/one": {Result: `{"a":1}`}, "/four": refused(307), "/away": refused(307),
	} {
		cfg := httpagent.Config{Endpoint: home.URL + path, Headers: map[string]string{"Authorization": "Bearer hunter2"}}
		if diff := cmp.Diff(want, run(t, cfg, summarize(`{"a":1}`))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestTheHealthCheckWantsASuccess(t *testing.T) {
	t.Parallel()
	var authorized atomic.Bool
	handler := func(w http.ResponseWriter, r *http.Request) {
		authorized.Store(r.Header.Get("Authorization") != "")
		switch r.URL.Path {
		case "/healthz":
			w.WriteHeader(http.StatusNoContent)
		case "/moved":
			http.Redirect(w, r, "/healthz", http.StatusTemporaryRedirect)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	home, elsewhere := adaptertest.Serve(t, "127.0.0.1:0", handler), adaptertest.Serve(t, "127.0.0.1:0", handler)
	for _, tt := range []struct {
		name, check      string
		well, credential bool
	}{
		{"2xx is well", home.URL + "/healthz", true, true},
		{"503 is not", home.URL + "/sick", false, true},
		{"a redirect is not", home.URL + "/moved", false, true},
		{"nobody there is not", "http://" + closedPort, false, false},
		{"another host hears no credential", elsewhere.URL + "/healthz", true, false},
		{"no check is well", "", true, false},
	} {
		authorized.Store(false)
		agent := newAgent(t, httpagent.Config{
			Endpoint: home.URL, HealthCheck: tt.check, Headers: map[string]string{"Authorization": "Bearer hunter2"},
		})
		if err := agent.Health(t.Context()); (err == nil) != tt.well || authorized.Load() != tt.credential {
			t.Errorf("%s: %v, credential %t", tt.name, err, authorized.Load())
		}
	}
}

// TestErrorsNameNoSecret: what is in the URL or the headers stays there.
func TestErrorsNameNoSecret(t *testing.T) {
	t.Parallel()
	endpoint := "http://me:hunter2@" + closedPort + "/run?token=hunter2"
	agent := newAgent(t, httpagent.Config{Endpoint: endpoint, HealthCheck: endpoint})
	_, err := agent.Handle(t.Context(), summarize(`{}`), new(adaptertest.Recorder))
	for _, err := range []error{err, agent.Health(t.Context())} {
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v", err)
		}
	}
}
