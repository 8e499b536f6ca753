package httpfront_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/rs/zerolog"
)

// journal is a log that a test reads.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// leaky is a house whose faults say too much.
type leaky struct{ front.Service }

func (leaky) ListAgents(context.Context, schemas.AgentQuery) (*schemas.AgentPage, error) {
	panic("payload " + marker)
}

func (leaky) ListCapabilities(context.Context) (*schemas.CapabilityPage, error) {
	var none []string
	return nil, errors.New(none[len(marker)])
}

func TestNothingSecretIsLoggedOrEchoed(t *testing.T) {
	t.Parallel()
	var log journal
	b := newBench(t, func(c *httpfront.Config) {
		c.Logger = zerolog.New(&log).Level(zerolog.TraceLevel)
		c.Service = leaky{c.Service}
		c.Limits.PayloadBytes = testLimit
	})
	b.house.On("fail", fronttest.Script{Error: schemas.NewError(schemas.Internal, "", "the agent failed")})
	secret := []string{"Authorization: Bearer " + marker, "Cookie: session=" + marker, "X-Api-Key: " + marker}
	query := "?token=" + marker + "&wait=1ms"
	for _, call := range []struct{ method, path, body string }{
		{"POST", "/v1/tasks", `{"capability":"hold","payload":"` + marker + `"}`},
		{"POST", "/v1/reach", `{"capability":"fail","payload":"` + marker + `"}`},
		{"POST", "/v1/reach", `{"capability":"unknown_one","payload":"` + marker + `"}`},
		{"POST", "/v1/tasks", `{"capability":` + marker},
		{"POST", "/v1/tasks", `{"capability":"echo","payload":"` + strings.Repeat(marker, testLimit) + `"}`},
		{"POST", "/v1/agents", `{"agent_id":"` + marker + `"}`},
		{"GET", "/v1/tasks/" + marker, ""},
		{"GET", "/" + marker, ""},
		{"PUT", "/v1/tasks", marker},
		{"GET", "/v1/agents", ""},
		{"GET", "/v1/capabilities", ""},
	} {
		got := b.call(call.method, call.path+query, call.body, secret...)
		if strings.Contains(got.body, marker) && !strings.Contains(got.body, `"result"`) {
			t.Errorf("%s %s: the answer has the marker: %s", call.method, call.path, got.body)
		}
	}
	if strings.Contains(log.String(), marker) {
		t.Errorf("the log has the marker:\n%s", log.String())
	}
	checkLines(t, log.String())
}

// checkLines wants a line for each request, with its route, and one for each panic, with its place.
func checkLines(t *testing.T, log string) {
	t.Helper()
	routes, panics := map[string]int{}, 0
	for line := range strings.Lines(log) {
		var fields struct{ Message, Route, Panic, Stack, Method string }
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		switch fields.Message {
		case "request":
			routes[fields.Method+" "+fields.Route]++
		case "panic":
			panics++
			if !strings.Contains(fields.Stack, "log_test.go") || fields.Panic == "" {
				t.Errorf("panic %q, stack %s", fields.Panic, fields.Stack)
			}
		}
	}
	if routes["POST /v1/reach"] != 2 || routes["GET /v1/tasks/{id}"] != 1 || panics != 2 {
		t.Errorf("routes %v, %d panics", routes, panics)
	}
}

func TestFaultIsLoggedAndNotTold(t *testing.T) {
	t.Parallel()
	var log journal
	b := newBench(t, func(c *httpfront.Config) { c.Logger = zerolog.New(&log) })
	b.house.FailWith(errors.New("index out of step"))
	got := b.call(http.MethodGet, "/v1/agents", "")
	if strings.Contains(got.body, "out of step") || !strings.Contains(log.String(), "index out of step") {
		t.Errorf("body %s, log %s", got.body, log.String())
	}
}
