package httpfront_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
)

func newHandler(t *testing.T, house *fronttest.House) http.Handler {
	t.Helper()
	handler, err := httpfront.New(httpfront.Config{Service: house})
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

func TestSlowHeaderIsCutOff(t *testing.T) {
	t.Parallel()
	url := run(t, httpfront.Server{Handler: newHandler(t, fronttest.New()), HeaderTimeout: 100 * time.Millisecond})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) { // any other may be how it was closed
		t.Errorf("the connection was not closed: %v", err)
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	t.Parallel()
	url := run(t, httpfront.Server{Handler: newHandler(t, fronttest.New()), IdleTimeout: 100 * time.Millisecond})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
	reader := bufio.NewReader(conn)
	if _, err := http.ReadResponse(reader, nil); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.ReadAll(reader); err != nil {
		t.Errorf("the connection was not closed: %v", err)
	}
}

func TestStopAnswersThoseWhoWait(t *testing.T) {
	t.Parallel()
	b := &bench{t: t, house: fronttest.New(), http: &http.Client{Transport: &http.Transport{}}}
	defer b.http.CloseIdleConnections()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.url = "http://" + listener.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	stopped := make(chan error, 1)
	go func() { stopped <- httpfront.Server{Handler: newHandler(t, b.house)}.Run(ctx, listener) }()
	answer := make(chan reply)
	go func() { answer <- b.call(http.MethodPost, "/v1/reach?wait=30s", `{"capability":"hold"}`) }()
	b.await("Wait")
	stop()
	if got := <-answer; got.status != http.StatusAccepted || b.task(got).TaskID == "" {
		t.Errorf("status %d, body %s", got.status, got.body)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Run: %v", err)
	}
	if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is still open: %v", err)
	}
}

func TestRequestsThatDoNotEndAreBrokenOff(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	left := make(chan struct{})
	server := httpfront.Server{Grace: 50 * time.Millisecond, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stop()
		<-r.Context().Done()
		close(left)
	})}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Run(ctx, listener) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	if response, err := client.Get("http://" + listener.Addr().String()); err == nil {
		response.Body.Close()
		t.Error("it was answered")
	}
	if err := <-stopped; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Run: %v", err)
	}
	<-left
}

func TestOnlyThisMachineUnlessMeant(t *testing.T) {
	t.Parallel()
	for _, insecure := range []bool{false, true} {
		listener, err := net.Listen("tcp", "0.0.0.0:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		stop()
		server := httpfront.Server{Handler: newHandler(t, fronttest.New()), Insecure: insecure}
		if err := server.Run(ctx, listener); errors.Is(err, httpfront.ErrExposed) == insecure {
			t.Errorf("insecure %v: %v", insecure, err)
		}
	}
}

func TestRunSaysWhenTheListenerFails(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	if err := (httpfront.Server{Handler: newHandler(t, fronttest.New())}).Run(context.Background(), listener); err == nil {
		t.Error("no error")
	}
}
