package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
)

func TestHealthOfAFront(t *testing.T) {
	t.Parallel()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/readyz", "/well":
			w.WriteHeader(http.StatusNoContent)
		case "/moved":
			http.Redirect(w, r, "/well", http.StatusFound)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(front.Close)
	for _, tt := range []struct {
		name, url, said string
		code            int
	}{
		{"a front that is ready", front.URL, "ok", 0},
		{"a path of one's own", front.URL + "/well", "ok", 0},
		{"a front that is not ready", front.URL + "/ill", "/ill answers 503", 3},
		{"another place is not asked", front.URL + "/moved", "/moved answers 302", 3},
		{"nobody there", "http://127.0.0.1:1", "no HTTP front answers", 3},
		{"an address without a scheme", "127.0.0.1:1", "if an HTTP front is meant, write http://127.0.0.1:1", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := commandLine(t, nil, "health", tt.url)
			if code != tt.code || !strings.Contains(stdout+stderr, tt.said) {
				t.Errorf("exit code %d, said %q and %q; want %d, %q", code, stdout, stderr, tt.code, tt.said)
			}
		})
	}
}

func TestHealthOfABrokerAndAWorker(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	sub, err := b.Conn(t).Serve(broker.SubjectControl("laptop-1"), func(_ context.Context, r *broker.Request) {
		r.Reply([]byte(`{"ok":true,"instance_id":"i"}`))
	}, broker.Plain())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sub.Close)
	for _, tt := range []struct {
		name string
		args []string
		said string
		code int
	}{
		{"a broker", []string{b.URL()}, "ok", 0},
		{"a worker", []string{b.URL(), "--agent", "laptop-1"}, "ok", 0},
		{"an agent without a worker", []string{b.URL(), "--agent", "laptop-2"}, "no worker serves the agent laptop-2", 3},
		{"no broker", []string{"nats://u:secret@127.0.0.1:1", "--timeout", "200ms"}, "no broker answers at nats://u:***@127.0.0.1:1", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := commandLine(t, nil, append([]string{"health"}, tt.args...)...)
			if code != tt.code || !strings.Contains(stdout+stderr, tt.said) {
				t.Errorf("exit code %d, said %q and %q; want %d, %q", code, stdout, stderr, tt.code, tt.said)
			}
		})
	}
}

func TestHealthRefusesWhatItCannotAsk(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no URL":                       {},
		"something else":               {"ftp://127.0.0.1"},
		"an agent over HTTP":           {"http://127.0.0.1:8500", "--agent", "laptop-1"},
		"an agent outside the grammar": {"nats://127.0.0.1:4222", "--agent", ">"},
		"no time":                      {"http://127.0.0.1:8500", "--timeout", "0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, _, stderr := commandLine(t, nil, append([]string{"health"}, args...)...); code != 2 {
				t.Errorf("exit code %d, said %q; want 2", code, stderr)
			}
		})
	}
}
