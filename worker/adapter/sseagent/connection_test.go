package sseagent_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/sseagent"
)

// answering serves plain TCP: each connection has its request read and gets answer; then it is closed, or kept if silent.
func answering(t *testing.T, answer string, silent bool) string {
	t.Helper()
	server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, answer)
		if silent {
			_, _ = io.Copy(io.Discard, conn)
		}
	})
	return server.URL
}

const (
	chunkedHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	plainHead   = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	piece       = "9\r\ndata: 1\n\n\r\n"
)

func TestAStreamThatDiesMayHaveDoneAnything(t *testing.T) {
	t.Parallel()
	lost := outcome{Code: schemas.Unavailable, Reason: schemas.ReasonConnectionLost, Ran: schemas.RanUnknown}
	after := func(chunks ...string) outcome {
		o := lost
		o.Chunks = chunks
		return o
	}
	for _, tt := range []struct {
		name, answer string
		silent       bool
		want         outcome
	}{
		{"no answer", "", false, lost},
		{"no first byte", "", true, lost},
		{"a header and no first byte", chunkedHead, true, lost},
		{"a header and no more", chunkedHead, false, lost},
		{"silence after a piece", chunkedHead + piece, true, after("1")},
		{"death after a piece", chunkedHead + piece, false, after("1")},
		{"death within a piece", chunkedHead + piece + "20\r\ndata: 2\n\n", false, after("1", "2")},
		{"an end that cannot be told from a death", plainHead + "data: 1\n\n", false, after("1")},
		{
			"half a length",
			"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99\r\n\r\ndata: 1\n\n", false, after("1"),
		},
		{
			"an end mark before a death", plainHead + "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n", false,
			outcome{Joined: true, Chunks: []string{"1", "2"}},
		},
		{"an end", chunkedHead + piece + piece + "0\r\n\r\n", false, outcome{Joined: true, Chunks: []string{"1", "1"}}},
		{
			"a result before a silence", chunkedHead + "20\r\nevent: result\ndata: 1234567890\n\n\r\n", true,
			outcome{Result: "1234567890"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := sseagent.Config{Endpoint: answering(t, tt.answer, tt.silent)} // and times that only who is silent overruns
			if tt.silent {
				cfg.FirstByteTimeout, cfg.IdleTimeout = time.Second, time.Second
			}
			got := run(t, cfg)
			got.Message = ""
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingWasSent(t *testing.T) {
	t.Parallel()
	got := run(t, sseagent.Config{Endpoint: "http://127.0.0.1:1"}) // no port that another test is given
	if got.Ran != schemas.RanNo || got.Reason != schemas.ReasonCannotConnect {
		t.Errorf("got %+v", got)
	}
}

// TestStatusesMeanWhatTheyMeanToHTTP shows two; the table is that of the http adapter.
func TestStatusesMeanWhatTheyMeanToHTTP(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]outcome{
		429: {Code: schemas.ResourceExhausted, Reason: schemas.ReasonBusy, Ran: schemas.RanNo},
		502: {Code: schemas.Unavailable, Ran: schemas.RanUnknown},
		204: {Result: "null"},
	} {
		server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(status)
		})
		got := run(t, sseagent.Config{Endpoint: server.URL})
		got.Message = ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d (-want +got):\n%s", status, diff)
		}
	}
}

func TestCommentsBreakTheSilence(t *testing.T) {
	t.Parallel()
	server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for range 22 {
			_, _ = io.WriteString(w, ": still here\n\n")
			_ = http.NewResponseController(w).Flush()
			<-tick.C
		}
		_, _ = io.WriteString(w, "event: result\ndata: 1\n\n")
	})
	if got := run(t, sseagent.Config{Endpoint: server.URL, IdleTimeout: 2 * time.Second}); got.Result != "1" {
		t.Errorf("got %+v", got)
	}
}

// TestAReaderThatIsSlowIsNoSilenceOfTheAgent: while nobody takes chunks, nothing is read and nothing is held against the agent.
func TestAReaderThatIsSlowIsNoSilenceOfTheAgent(t *testing.T) {
	t.Parallel()
	const count = 100
	server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for n := range count {
			_, _ = fmt.Fprintf(w, "data: %d\n\n", n)
		}
		_, _ = io.WriteString(w, "event: result\ndata: {}\n\n")
	})
	agent := newAgent(t, sseagent.Config{Endpoint: server.URL, IdleTimeout: 50 * time.Millisecond})
	heard := &adaptertest.Recorder{Gate: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		_, err := agent.Handle(t.Context(), adaptertest.NewTask([]byte(`{}`)), heard)
		ended <- err
	}()
	heard.Gate <- struct{}{}
	<-time.After(200 * time.Millisecond) // many times the silence that is allowed
	for range count - 1 {
		heard.Gate <- struct{}{}
	}
	if err := <-ended; err != nil || len(heard.Chunks()) != count {
		t.Errorf("%d chunks, %v", len(heard.Chunks()), err)
	}
}

func TestACancelClosesWhereverTheTaskIs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		chunk string
		gate  chan struct{}
	}{
		{"before the first byte", "", nil},
		{"in the middle", "data: 1\n\n", nil},
		{"while nobody takes the chunk", "data: 1\n\n", make(chan struct{})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked, left := make(chan struct{}), make(chan struct{})
			server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(w, tt.chunk)
				_ = http.NewResponseController(w).Flush()
				close(asked)
				<-r.Context().Done()
				close(left)
			})
			agent := newAgent(t, sseagent.Config{Endpoint: server.URL})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			ended := make(chan error, 1)
			go func() {
				_, err := agent.Handle(ctx, adaptertest.NewTask([]byte(`{}`)), &adaptertest.Recorder{Gate: tt.gate})
				ended <- err
			}()
			<-asked
			cancel(worker.ErrCanceled)
			failure := failureOf(t, <-ended)
			if failure.Err.Code != schemas.Cancelled || failure.Ran != schemas.RanUnknown || failure.Confirmed {
				t.Errorf("got %v, ran %s, confirmed %t", failure.Err, failure.Ran, failure.Confirmed)
			}
			<-left
		})
	}
}
