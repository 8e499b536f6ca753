package httpfront_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/google/go-cmp/cmp"
)

func TestMethods(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.hold()
	tests := []struct {
		method, path string
		status       int
		allow        string
	}{
		{"HEAD", "/v1/tasks/" + id, 200, ""},
		{"HEAD", "/v1/tasks", 200, ""},
		{"HEAD", "/v1/agents", 200, ""},
		{"HEAD", "/healthz", 200, ""},
		{"HEAD", "/openapi.json", 200, ""},
		{"HEAD", "/v1/tasks/" + schemas.NewTaskID(), 404, ""},
		{"HEAD", "/v1/reach", 405, "POST"},
		{"GET", "/v1/reach", 405, "POST"},
		{"PUT", "/v1/tasks/" + id, 405, "GET, HEAD, DELETE"},
		{"PATCH", "/v1/tasks/" + id, 405, "GET, HEAD, DELETE"},
		{"OPTIONS", "/v1/tasks", 405, "GET, HEAD, POST"},
		{"TRACE", "/v1/tasks", 405, "GET, HEAD, POST"},
		{"GET", "/v1/tasks/" + id + ":cancel", 405, "POST"},
		{"HEAD", "/v1/tasks/" + id + ":purge", 405, "POST"},
		{"DELETE", "/v1/tasks/" + id + ":purge", 405, "POST"},
		{"PUT", "/v1/agents/laptop-1:drain", 405, "POST"},
		{"GET", "/v1/schedules/nightly:pause", 405, "POST"},
		{"GET", "/v1/tasks/" + id + "%3Acancel", 400, ""},
		{"GET", "/v1/tasks/" + id + ":explode", 400, ""},
		{"POST", "/v1/tasks/" + id + ":explode", 404, ""},
		{"POST", "/v1/agents/laptop-1:explode", 404, ""},
		{"POST", "/v1/routes:explode", 404, ""},
		{"GET", "/v1/routes:explain", 405, "POST"},
		{"POST", "/v1/capabilities/echo:explode", 405, "GET, HEAD"},
		{"FETCH", "/v1/tasks", 405, "GET, HEAD, POST"},
		{"FETCH", "/nowhere", 404, ""},
		{"POST", "/v1/tasks/" + id + "%3Acancel", 405, "GET, HEAD, DELETE"},
		{"PUT", "/v1/agents/laptop-1", 405, "GET, HEAD, DELETE"},
		{"POST", "/healthz", 405, "GET, HEAD"},
		{"GET", "/metricz", 404, ""},
	}
	for _, tt := range tests {
		got := b.call(tt.method, tt.path, "")
		if got.status != tt.status || got.header.Get("Allow") != tt.allow {
			t.Errorf("%s %s: status %d, Allow %q; want %d, %q", tt.method, tt.path, got.status, got.header.Get("Allow"), tt.status, tt.allow)
		}
		if (got.body == "") != (tt.method == http.MethodHead) {
			t.Errorf("%s %s: body %q", tt.method, tt.path, got.body)
		}
	}
}

func TestAVerbThatIsNoneIsToldWhichThereAre(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for path, available := range map[string]string{
		"/v1/tasks/" + b.hold() + ":explode": `"available":[":cancel",":purge",":redeliver",":retry"]`,
		"/v1/agents/laptop-1:":               `"available":[":drain",":resume"]`,
		"/v1/schedules/nightly:run":          `"available":[":pause",":resume"]`,
		"/v1/routes:explode":                 `"available":[":explain"]`,
	} {
		got := b.call(http.MethodPost, path, "")
		if got.status != http.StatusNotFound || !strings.Contains(got.body, `"reason":"NO_SUCH_VERB"`) || !strings.Contains(got.body, available) {
			t.Errorf("%s: status %d, body %s", path, got.status, got.body)
		}
	}
}

// A client that begins with HTTP/2 unasked is told so in what it can still read, and its connection ends.
func TestHTTP2ByPriorKnowledgeIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusHTTPVersionNotSupported || !answer.Close || !strings.Contains(string(body), `"code":"UNIMPLEMENTED"`) {
		t.Errorf("status %d, closed %v, body %s, %v", answer.StatusCode, answer.Close, body, err)
	}
}

func TestPagesOfOtherSitesCannotAct(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		header []string
		status int
	}{
		{"a program", nil, 200},
		{"a page of ours", []string{"Sec-Fetch-Site: same-origin"}, 200},
		{"a page of another site", []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"a page of a neighbour", []string{"Sec-Fetch-Site: same-site"}, 403},
		{"a page of another site in an old browser", []string{"Origin: http://evil.example"}, 403},
		{"a page without an origin", []string{"Origin: null"}, 403},
	}
	b := newBench(t)
	for _, tt := range tests {
		id := b.hold()
		if got := b.call(http.MethodPost, "/v1/tasks/"+id+":cancel", "", tt.header...); got.status != tt.status {
			t.Errorf("%s: cancel: status %d, want %d", tt.name, got.status, tt.status)
		}
		if got := b.call(http.MethodDelete, "/v1/tasks/"+id, "", tt.header...); got.status != tt.status {
			t.Errorf("%s: delete: status %d, want %d", tt.name, got.status, tt.status)
		}
		got := b.call(http.MethodGet, "/v1/tasks/"+id, "", tt.header...)
		if got.status != http.StatusOK || got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: get: status %d, header %v", tt.name, got.status, got.header)
		}
	}
}

func TestCrowdIsRefusedButNotTheHealthCheck(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpfront.Config) { c.Limits.Requests = 1 })
	id := b.hold()
	first := make(chan reply)
	go func() { first <- b.call(http.MethodGet, "/v1/tasks/"+id+"?wait=30s", "") }()
	b.await("Wait")
	got := b.call(http.MethodGet, "/v1/agents", "")
	if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "1" {
		t.Errorf("status %d, body %s", got.status, got.body)
	}
	if got := b.call(http.MethodGet, "/healthz", ""); got.status != http.StatusOK {
		t.Errorf("healthz: status %d", got.status)
	}
	b.house.End(id, schemas.Payload("1"), nil)
	if got := <-first; got.status != http.StatusOK {
		t.Errorf("the first: status %d", got.status)
	}
	if got := b.call(http.MethodGet, "/v1/agents", ""); got.status != http.StatusOK {
		t.Errorf("afterwards: status %d", got.status)
	}
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		ready  error
		status int
		detail string
	}{
		{"all is there", nil, 200, `{"status":"ok","version":"1.2.3"}`},
		{"a reason for callers is told", schemas.NewError(schemas.Unavailable, "", "no broker"), 503, `"detail":"no broker"`},
		{"any other is not", errors.New("nats://user:secret@host"), 503, `"detail":"not ready yet"`},
	}
	for _, tt := range tests {
		b := newBench(t, func(c *httpfront.Config) { c.Ready = func(context.Context) error { return tt.ready } })
		if got := b.call(http.MethodGet, "/readyz", ""); got.status != tt.status || !strings.Contains(got.body, tt.detail) {
			t.Errorf("%s: status %d, body %s", tt.name, got.status, got.body)
		}
		if got := b.call(http.MethodGet, "/healthz", ""); got.status != http.StatusOK {
			t.Errorf("%s: healthz: status %d", tt.name, got.status)
		}
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const registration = `{"agent_id":"phone-2","instance_id":"i","version":"1.0.0","transport":{"type":"http"},` +
		`"capabilities":["echo",{"name":"hold"}]}`
	want := `{"v":1,"agent_id":"phone-2","state":"online","revision":2,"heartbeat_interval_ms":15000,"receipt_interval_ms":15000}`
	if diff := cmp.Diff(want, b.call(http.MethodPost, "/v1/agents", registration).body); diff != "" {
		t.Errorf("registered (-want +got)\n%s", diff)
	}
	for path, state := range map[string]string{":drain": `"state":"draining"`, ":resume": `"state":"online"`} {
		if got := b.call(http.MethodPost, "/v1/agents/phone-2"+path, ""); got.status != 200 || !strings.Contains(got.body, state) {
			t.Errorf("%s: status %d, body %s", path, got.status, got.body)
		}
	}
	if got := b.call(http.MethodGet, "/v1/agents/phone-2", "").body; !strings.Contains(got, `{"id":"hold"}`) {
		t.Errorf("agent: %s", got)
	}
	if got := b.call(http.MethodGet, "/v1/agents", "").body; strings.Count(got, `"registration"`) != 2 {
		t.Errorf("agents: %s", got)
	}
	for _, status := range []int{http.StatusOK, http.StatusNotFound} {
		if got := b.call(http.MethodDelete, "/v1/agents/phone-2", ""); got.status != status {
			t.Errorf("removed: status %d, body %s; want %d", got.status, got.body, status)
		}
	}
	if got := b.call(http.MethodGet, "/v1/agents/nobody", ""); got.status != http.StatusNotFound {
		t.Errorf("nobody: status %d", got.status)
	}
	stranger := strings.Replace(registration, `"echo"`, `"search_web"`, 1)
	if got := b.call(http.MethodPost, "/v1/agents", stranger); got.status != 400 || !strings.Contains(got.body, `"nearest":"echo"`) {
		t.Errorf("stranger: status %d, body %s", got.status, got.body)
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	entry := `{"capability":{"id":"count","input_schema":{"maximum":1.0},"output_schema":true,"idempotent":true},"replace":%}`
	add := func(replace string) reply {
		return b.call(http.MethodPost, "/v1/capabilities", strings.Replace(entry, "%", replace, 1))
	}
	if got := add("false"); got.status != http.StatusCreated || got.header.Get("Location") != "/v1/capabilities/count" {
		t.Errorf("add: status %d, Location %q", got.status, got.header.Get("Location"))
	}
	if got := add("false"); got.status != http.StatusConflict {
		t.Errorf("add again: status %d", got.status)
	}
	if got := add("true"); got.status != http.StatusOK {
		t.Errorf("replace: status %d", got.status)
	}
	want := `{"v":1,"id":"count","input_schema":{"maximum":1.0},"output_schema":true,"idempotent":true}`
	if got := b.call(http.MethodGet, "/v1/capabilities/count", "").body; got != want {
		t.Errorf("get: %s, want %s", got, want)
	}
	if got := b.call(http.MethodGet, "/v1/capabilities", "").body; !strings.Contains(got, want) {
		t.Errorf("list: %s", got)
	}
}

func TestNewRefusesBadConfiguration(t *testing.T) {
	t.Parallel()
	house := fronttest.New()
	for name, config := range map[string]httpfront.Config{
		"no service":       {},
		"a negative limit": {Service: house, Limits: httpfront.Limits{PayloadBytes: -1}},
		"a negative time":  {Service: house, WaitMax: -1},
	} {
		if _, err := httpfront.New(config); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
