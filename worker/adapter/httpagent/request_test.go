package httpagent_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/httpagent"
)

const taskID = "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10"

// summarize is a task with every field that goes out.
func summarize(payload string) *worker.Task {
	at := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	priority := 5
	return &worker.Task{
		Message: &schemas.ReachMessage{
			TaskID: taskID, MsgID: "notes-7", Tenant: "default", Capability: "summarize", Payload: schemas.Payload(payload),
			TimeoutMS: 60000, Priority: &priority, Attempt: 1, SubmittedAt: schemas.At(at), ExpiresAt: schemas.At(at.Add(24 * time.Hour)),
			TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", Traceparent: adaptertest.Traceparent,
			Assignment: &schemas.Assignment{AgentID: "laptop-1", Idempotent: true, RunTimeoutMS: 45000, Chain: []string{"laptop-1"}},
			Hops:       []schemas.Hop{{Hop: schemas.HopSubmitted, At: schemas.At(at), By: "dispatcher-7f3a"}},
		},
		Offer:    &schemas.Offer{ID: "summarize"},
		Deadline: at.Add(45 * time.Second),
	}
}

func TestTheBodyIsWhatTheInputSays(t *testing.T) {
	t.Parallel()
	const payload = `{"text": "Ships sail.", "max_sentences": 1, "id": 9007199254740993}`
	for _, tt := range []struct {
		name, path string
		input      httpagent.Input
		want       string
	}{
		{"the bare payload by default", "/run", "", payload},
		{"the bare payload if that is said", "/reach", httpagent.InputPayload, payload},
		{"the message if the path ends in reach", "/v1/reach", "", `{"v":1,"task_id":"` + taskID + `","msg_id":"notes-7",` +
			`"tenant":"default","capability":"summarize","timeout_ms":60000,` +
			`"expires_at":"2026-11-30T10:00:00.000Z","priority":5,"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",` +
			`"traceparent":"` + adaptertest.Traceparent + `","attempt":1,"submitted_at":"2026-11-29T10:00:00.000Z",` +
			`"assignment":{"agent_id":"laptop-1","idempotent":true,"run_timeout_ms":45000,"chain":["laptop-1"]},"payload":` + payload + `}`},
		{"the execute form if the path ends in execute", "/execute", "", `{"capability":"summarize",` +
			`"token":"` + taskID + `","request_id":"` + taskID + `","payload":` + payload + `}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bodies := make(chan string, 1)
			server := adaptertest.Serve(t, "127.0.0.1:0", func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies <- r.URL.Path + " " + string(body)
			})
			agent := newAgent(t, httpagent.Config{Endpoint: server.URL + tt.path, Input: tt.input})
			if _, err := agent.Handle(t.Context(), summarize(payload), new(adaptertest.Recorder)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.path+" "+tt.want, <-bodies); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheHeadersNameTheTask(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 1)
	server := adaptertest.Serve(t, "127.0.0.1:0", func(_ http.ResponseWriter, r *http.Request) {
		r.Header.Set("Host", r.Host)
		got <- r.Header
	})
	agent := newAgent(t, httpagent.Config{
		Endpoint: strings.Replace(server.URL, "http://", "http://me:pass@", 1),
		Headers:  map[string]string{"X-Team": "notes", "accept": "application/json, */*", "Host": "agent.example"},
	})
	if _, err := agent.Handle(t.Context(), summarize(`{}`), new(adaptertest.Recorder)); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Host":             {"agent.example"},
		"Accept":           {"application/json, */*"},
		"Content-Type":     {"application/json"},
		"Content-Length":   {"2"},
		"User-Agent":       {"agent-reach"},
		"Authorization":    {"Basic bWU6cGFzcw=="},
		"X-Team":           {"notes"},
		"Reach-Task-Id":    {taskID},
		"Reach-Capability": {"summarize"},
		"Reach-Attempt":    {"1"},
		"Reach-Deadline":   {"2026-11-29T10:00:45.000Z"},
		"Idempotency-Key":  {taskID},
		"Traceparent":      {adaptertest.Traceparent},
	}
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestAnAbsentPayloadIsTheEmptyObject(t *testing.T) {
	t.Parallel()
	server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	agent := newAgent(t, httpagent.Config{Endpoint: server.URL})
	task := summarize("")
	task.Message.Payload = nil
	if got, err := agent.Handle(t.Context(), task, new(adaptertest.Recorder)); err != nil || string(got) != "{}" {
		t.Errorf("got %q, %v", []byte(got), err)
	}
}

func TestBadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]httpagent.Config{
		"no endpoint":                {},
		"an endpoint without a host": {Endpoint: "/run"},
		"another scheme":             {Endpoint: "ftp://agent/run"},
		"not a URL":                  {Endpoint: "http://%zz"},
		"a bad health check":         {Endpoint: "http://agent/run", HealthCheck: "healthz"},
		"an unknown input":           {Endpoint: "http://agent/run", Input: "xml"},
		"a header of ours":           {Endpoint: "http://agent/run", Headers: map[string]string{"reach-task-id": "x"}},
		"a header without a name":    {Endpoint: "http://agent/run", Headers: map[string]string{"": "x"}},
		"a header with a bad name":   {Endpoint: "http://agent/run", Headers: map[string]string{"a b": "x"}},
		"a header with a line break": {Endpoint: "http://agent/run", Headers: map[string]string{"X-A": "x\r\nX-B: y"}},
		"a negative limit":           {Endpoint: "http://agent/run", MaxResult: -1},
	} {
		if _, err := httpagent.New(cfg); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	_, err := httpagent.New(httpagent.Config{Endpoint: "ftp://me:hunter2@agent/run"})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a password in the error: %v", err)
	}
}
