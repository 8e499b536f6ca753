//go:build unix

package integration

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/schemas"
)

// hostile are names that mean more than a name somewhere on the way.
var hostile = []string{
	">", "*", "a.b", "a..b", "a b", "..%2f..", "../..", "%3E", "a%00b", "a\x00b", "\u200b", strings.Repeat("a", 300),
	"$JS.API.STREAM.LIST", "_INBOX.x", "+", "#", "/", "A", "-", "a/b", "é", "a\nb", "<b>",
}

// ordinary are the subjects of the house.
var ordinary = regexp.MustCompile(`^reach\.(api\.[a-z]+\.[a-z]+|dispatcher\.[a-z0-9-]+|[a-z]+(\.[a-z0-9_-]+){1,4})$`)

func TestNamesAreNoPatterns(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.startWorker(child("child", 2, "echo"))
	nc, front := newNATSCaller(t, h.url), newHTTPCaller(t, h.fronts[0])
	tap := newNATSCaller(t, h.url).nc
	_, err := tap.Subscribe("reach.>", func(m *nats.Msg) {
		if !ordinary.MatchString(m.Subject) {
			t.Errorf("somebody has published on %q", m.Subject)
		}
	})
	check(t, err)
	check(t, tap.FlushTimeout(10*time.Second))
	for _, name := range hostile {
		for what, message := range map[string]schemas.ReachMessage{
			"a capability":      {Capability: name},
			"a preferred agent": {Capability: "echo", PreferAgent: name},
			"a pinned agent":    {Capability: "echo", PreferAgent: name, WaitForAgent: true},
		} {
			for _, way := range []caller{nc, front} {
				task, err := way.submit(t.Context(), schemas.MustEncode(message))
				wantNoName(t, fmt.Sprintf("%q as %s", name, what), task, err)
			}
		}
		for _, way := range []caller{nc, front} {
			task, err := way.get(t.Context(), escaped(way, name))
			wantNoName(t, fmt.Sprintf("get %q", name), task, err)
			task, err = way.cancel(t.Context(), escaped(way, name))
			wantNoName(t, fmt.Sprintf("cancel %q", name), task, err)
		}
		registration := schemas.MustEncode(schemas.Registration{
			AgentID: name, Version: "1.0.0", Transport: schemas.Transport{Type: "func"}, Capabilities: []schemas.Offer{{ID: "echo"}},
		})
		for _, verb := range []string{"agent.register", "agent.get", "agent.drain"} {
			task, err := nc.ask(t.Context(), verb, registration)
			wantNoName(t, fmt.Sprintf("%s %q", verb, name), task, err)
		}
		status, answer, err := front.exchange(t.Context(), http.MethodPost, "/v1/agents", registration)
		if err != nil || status != http.StatusBadRequest {
			t.Errorf("register %q over HTTP: got status %d, %s, %v", name, status, answer, err)
		}
	}
	check(t, tap.FlushTimeout(10*time.Second))
}

// escaped is a name as it stands in a path.
func escaped(way caller, name string) string {
	if _, overHTTP := way.(*httpCaller); overHTTP {
		return url.PathEscape(name)
	}
	return name
}

// wantNoName: the name is refused, or nothing has it.
func wantNoName(t *testing.T, what string, task *schemas.Task, err error) {
	t.Helper()
	e := schemas.AsError(err)
	if e == nil || e.Code != schemas.InvalidArgument && e.Code != schemas.NotFound {
		t.Errorf("%s: got %v, %v", what, task, err)
	}
}
