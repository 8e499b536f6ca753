package httpfront_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/google/go-cmp/cmp"
)

func TestStatusOfEachCode(t *testing.T) {
	t.Parallel()
	fromAgent := func(code schemas.Code) *schemas.Error { return schemas.NewError(code, "", "x").With("origin", "agent") }
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"a bad argument", schemas.NewError(schemas.InvalidArgument, "", "x"), 400},
		{"out of range", schemas.NewError(schemas.OutOfRange, "", "x"), 400},
		{"a failed precondition", schemas.NewError(schemas.FailedPrecondition, "", "x"), 400},
		{"a caller nobody knows", schemas.NewError(schemas.Unauthenticated, "", "x"), 401},
		{"a caller who may not", schemas.NewError(schemas.PermissionDenied, "", "x"), 403},
		{"something unknown", schemas.NewError(schemas.NotFound, "", "x"), 404},
		{"something forgotten", schemas.NewError(schemas.NotFound, schemas.ReasonExpired, "x"), 410},
		{"something that is there already", schemas.NewError(schemas.AlreadyExists, "", "x"), 409},
		{"a key with another body", schemas.NewError(schemas.AlreadyExists, schemas.ReasonKeyReused, "x"), 422},
		{"an unknown outcome", schemas.NewError(schemas.Aborted, "", "x"), 409},
		{"busy", schemas.NewError(schemas.ResourceExhausted, schemas.ReasonBusy, "x"), 429},
		{"a payload that is too large", schemas.NewError(schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge, "x"), 413},
		{"a result that is too large", schemas.NewError(schemas.ResourceExhausted, schemas.ReasonResultTooLarge, "x"), 413},
		{"a canceled task", schemas.NewError(schemas.Cancelled, "", "x"), 499},
		{"a fault", schemas.NewError(schemas.Internal, "", "x"), 500},
		{"an unknown fault", schemas.NewError(schemas.Unknown, "", "x"), 500},
		{"lost data", schemas.NewError(schemas.DataLoss, "", "x"), 500},
		{"something that cannot be done", schemas.NewError(schemas.Unimplemented, "", "x"), 501},
		{"nobody there", schemas.NewError(schemas.Unavailable, "", "x"), 503},
		{"out of time", schemas.NewError(schemas.DeadlineExceeded, "", "x"), 504},
		{"out of time by its own expiry", schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonExpired, "x"), 504},
		{"an agent that does not know us", fromAgent(schemas.Unauthenticated), 502},
		{"an agent that lets us do nothing", fromAgent(schemas.PermissionDenied), 502},
		{"a fault of the agent", fromAgent(schemas.Internal), 502},
		{"an unknown fault of the agent", fromAgent(schemas.Unknown), 502},
		{"data lost by the agent", fromAgent(schemas.DataLoss), 502},
		{"a bad argument, said by the agent", fromAgent(schemas.InvalidArgument), 400},
		{"a code that nobody knows", schemas.NewError("E40001", "", "x"), 500},
		{"an error without a code", errors.New("secret text"), 500},
	}
	b := newBench(t)
	for _, tt := range tests {
		b.house.FailWith(tt.err)
		got := b.call(http.MethodGet, "/v1/agents", "")
		if got.status != tt.want {
			t.Errorf("%s: status %d, want %d", tt.name, got.status, tt.want)
		}
		if strings.Contains(got.body, "secret") {
			t.Errorf("%s: %s", tt.name, got.body)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	after := func(e *schemas.Error, ms int64) *schemas.Error { e.RetryAfterMS = ms; return e }
	tests := []struct {
		name string
		err  *schemas.Error
		want string
	}{
		{"429 says a second where nothing is known", schemas.NewError(schemas.ResourceExhausted, "BUSY", "x"), "1"},
		{"429 rounds up", after(schemas.NewError(schemas.ResourceExhausted, "BUSY", "x"), 1200), "2"},
		{"503 says what is known", after(schemas.NewError(schemas.Unavailable, "", "x"), 3000), "3"},
		{"503 says nothing where nothing is known", schemas.NewError(schemas.Unavailable, "", "x"), ""},
		{"413 is not worth another try", schemas.NewError(schemas.ResourceExhausted, "PAYLOAD_TOO_LARGE", "x"), ""},
		{"500 says nothing", after(schemas.NewError(schemas.Internal, "", "x"), 3000), ""},
	}
	b := newBench(t)
	for _, tt := range tests {
		b.house.FailWith(tt.err)
		if got := b.call(http.MethodGet, "/v1/agents", "").header.Get("Retry-After"); got != tt.want {
			t.Errorf("%s: Retry-After %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestProblemBodies(t *testing.T) {
	t.Parallel()
	busy := schemas.NewError(schemas.ResourceExhausted, schemas.ReasonBusy, "every agent for summarize is busy (2 of 2 slots)").
		With("estimated_start_ms", 1200)
	busy.RetryAfterMS = 1200
	tests := []struct {
		name         string
		fail         error
		method, path string
		body         string
		header       []string
		want         string
	}{
		{
			"the house refuses", busy, "GET", "/v1/agents", "", nil,
			`{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"every agent for summarize is busy (2 of 2 slots)",` +
				`"code":"RESOURCE_EXHAUSTED","reason":"BUSY","retryable":true,"retry_after_ms":1200,"details":{"estimated_start_ms":1200}}`,
		},
		{
			"a path that is none", nil, "GET", "/v2/tasks?token=x", "", nil,
			`{"type":"about:blank","title":"Not Found","status":404,"detail":"there is no such path; /docs lists all paths",` +
				`"code":"NOT_FOUND","reason":"NO_SUCH_PATH","retryable":false}`,
		},
		{
			"a method that the path has not", nil, "PUT", "/v1/tasks", `{}`, nil,
			`{"type":"about:blank","title":"Method Not Allowed","status":405,"detail":"this path takes GET, HEAD, POST",` +
				`"code":"UNIMPLEMENTED","reason":"METHOD_NOT_ALLOWED","retryable":false}`,
		},
		{
			"a form", nil, "POST", "/v1/tasks", `capability=echo`,
			[]string{"Content-Type: application/x-www-form-urlencoded"},
			`{"type":"about:blank","title":"Unsupported Media Type","status":415,"detail":"the body must be JSON: add the header ` +
				`Content-Type: application/json (curl: -H 'Content-Type: application/json')","code":"INVALID_ARGUMENT",` +
				`"reason":"UNSUPPORTED_MEDIA_TYPE","retryable":false,"details":{"expected":"application/json","field":"/Content-Type"}}`,
		},
		{
			"no body", nil, "POST", "/v1/tasks", "", nil,
			`{"type":"about:blank","title":"Bad Request","status":400,"detail":"this operation needs a JSON body",` +
				`"code":"INVALID_ARGUMENT","reason":"BODY_MISSING","retryable":false}`,
		},
		{
			"a page of another site", nil, "POST", "/v1/tasks", `{}`,
			[]string{"Sec-Fetch-Site: cross-site"},
			`{"type":"about:blank","title":"Forbidden","status":403,"detail":"a web page of another site may not use this API",` +
				`"code":"PERMISSION_DENIED","reason":"CROSS_ORIGIN","retryable":false}`,
		},
		{
			"an id that is none", nil, "GET", "/v1/tasks/x", "", nil,
			`{"type":"about:blank","title":"Bad Request","status":400,"detail":"task_id takes a lower-case UUID version 7",` +
				`"code":"INVALID_ARGUMENT","reason":"BAD_NAME","retryable":false,` +
				`"details":{"expected":"a lower-case UUID version 7","field":"/task_id"}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.house.FailWith(tt.fail)
			got := b.call(tt.method, tt.path, tt.body, tt.header...)
			if diff := cmp.Diff(tt.want, got.body); diff != "" {
				t.Errorf("body (-want +got)\n%s", diff)
			}
			if got := got.header.Get("Content-Type"); got != "application/problem+json" {
				t.Errorf("Content-Type %q", got)
			}
			if got := got.header.Get("X-Content-Type-Options"); got != "nosniff" {
				t.Errorf("X-Content-Type-Options %q", got)
			}
		})
	}
}

func TestReachOfAFailedTaskNamesTheTask(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	failure := schemas.NewError(schemas.Internal, schemas.ReasonNotJSON, "not JSON").With("origin", "agent")
	b.house.On("summarize", fronttest.Script{Error: failure})
	got := b.call(http.MethodPost, "/v1/reach", `{"capability":"summarize","traceparent":""}`)
	if got.status != http.StatusBadGateway {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	id := b.house.Newest().TaskID
	want := `{"type":"about:blank","title":"Bad Gateway","status":502,"detail":"not JSON","code":"INTERNAL","reason":"NOT_JSON",` +
		`"retryable":false,"details":{"origin":"agent"},"task_id":"` + id + `","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}`
	if diff := cmp.Diff(want, got.body); diff != "" {
		t.Errorf("body (-want +got)\n%s", diff)
	}
	if looked := b.call(http.MethodGet, "/v1/tasks/"+id, ""); looked.status != http.StatusOK {
		t.Errorf("GET of the failed task: status %d", looked.status)
	}
}

func TestUnknownAndForeignTasksLookTheSame(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	foreign := b.house.Plant("another-tenant")
	unknown := schemas.NewTaskID()
	for _, do := range []struct{ method, path string }{
		{"GET", "/v1/tasks/%"},
		{"GET", "/v1/tasks/%?wait=1s"},
		{"DELETE", "/v1/tasks/%"},
		{"POST", "/v1/tasks/%:cancel"},
		{"GET", "/v1/traces/%"},
	} {
		one := b.call(do.method, strings.ReplaceAll(do.path, "%", foreign), "")
		other := b.call(do.method, strings.ReplaceAll(do.path, "%", unknown), "")
		if one.status != http.StatusNotFound || one.body != other.body || one.status != other.status {
			t.Errorf("%s %s: %d %s, and %d %s", do.method, do.path, one.status, one.body, other.status, other.body)
		}
	}
}

// panicking is a house that falls over.
type panicking struct {
	front.Service
	value any
}

func (p panicking) ListAgents(context.Context, schemas.AgentQuery) (*schemas.AgentPage, error) {
	panic(p.value)
}

func TestPanicBecomesAProblem(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpfront.Config) { c.Service = panicking{c.Service, "secret payload"} })
	got := b.call(http.MethodGet, "/v1/agents", "")
	want := `{"type":"about:blank","title":"Internal Server Error","status":500,"detail":"an internal error; the log of the process ` +
		`that answered says more","code":"INTERNAL","retryable":false}`
	if got.status != http.StatusInternalServerError || got.body != want {
		t.Errorf("status %d, body %s", got.status, got.body)
	}
	if next := b.call(http.MethodGet, "/healthz", ""); next.status != http.StatusOK {
		t.Errorf("after the panic: status %d", next.status)
	}
}
