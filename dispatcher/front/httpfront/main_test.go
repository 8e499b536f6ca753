package httpfront_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
	"github.com/agentreach/agent-reach/schemas"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a running front over a house of its own.
type bench struct {
	t     testing.TB
	house *fronttest.House
	url   string
	http  *http.Client
}

func newBench(t testing.TB, change ...func(*httpfront.Config)) *bench {
	t.Helper()
	house := fronttest.New()
	config := httpfront.Config{Service: house, Work: house, Version: "1.2.3"}
	for _, fn := range change {
		fn(&config)
	}
	handler, err := httpfront.New(config)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, house: house, url: run(t, httpfront.Server{Handler: handler}), http: &http.Client{
		Transport:     &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	t.Cleanup(b.http.CloseIdleConnections)
	return b
}

// run serves on a free port until the test ends.
func run(t testing.TB, server httpfront.Server) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return "http://" + listener.Addr().String()
}

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   string
}

// call sends one request; header is "Name: value" lines. A body is declared as JSON unless a header says otherwise.
func (b *bench) call(method, path, body string, header ...string) reply {
	b.t.Helper()
	request, err := http.NewRequest(method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	return b.do(request)
}

func (b *bench) do(request *http.Request) reply {
	b.t.Helper()
	response, err := b.http.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(got)}
}

// task reads a Task out of a reply.
func (b *bench) task(r reply) *schemas.Task {
	b.t.Helper()
	task := new(schemas.Task)
	if err := schemas.Accept([]byte(r.body), task); err != nil {
		b.t.Fatalf("status %d, body %s: %v", r.status, r.body, err)
	}
	return task
}

// hold submits a task that stays open.
func (b *bench) hold() string {
	b.t.Helper()
	return b.task(b.call(http.MethodPost, "/v1/tasks", `{"capability":"hold"}`)).TaskID
}
