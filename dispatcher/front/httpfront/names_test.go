package httpfront_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

// strange are names that somebody could take for a pattern, a path or nothing.
var strange = []string{
	">", "*", "a.b", "a..b", "a b", "..%2f..", "%3E", "a%00b", "a\x00b", "\u200b", strings.Repeat("a", 300), "$JS.API.STREAM.LIST",
	"_INBOX.x", "+", "#", "/", "a/b", "..", "é", "\xff", "'", "<img src=x onerror=alert(1)>", "reach.task.>", " ",
}

func TestStrangeNamesNeverReachTheHouse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range strange {
		for _, path := range []string{
			"GET /v1/tasks/%", "GET /v1/tasks/%?wait=1s", "GET /v1/tasks/%/events", "DELETE /v1/tasks/%", "POST /v1/tasks/%:cancel", "GET /v1/traces/%",
			"GET /v1/agents/%", "DELETE /v1/agents/%", "POST /v1/agents/%:drain", "POST /v1/agents/%:resume", "GET /v1/capabilities/%",
		} {
			method, path, _ := strings.Cut(path, " ")
			b.refuses(method, strings.Replace(path, "%", url.PathEscape(name), 1), "")
		}
		for _, query := range []string{"state", "capability", "agent_id"} {
			b.refuses(http.MethodGet, "/v1/tasks?"+query+"="+url.QueryEscape(name), "")
		}
		if !strings.Contains(name, "\xff") { // which no JSON can hold
			b.refusesBodiesWith(name)
		}
	}
	if calls := b.house.Calls(); len(calls) > 0 {
		t.Errorf("the house was called: %v", calls)
	}
}

func (b *bench) refusesBodiesWith(name string) {
	b.t.Helper()
	quoted, err := json.Marshal(name)
	if err != nil {
		b.t.Fatal(err)
	}
	q := string(quoted)
	for _, path := range []string{"/v1/tasks", "/v1/reach"} {
		b.refuses(http.MethodPost, path, `{"capability":`+q+`}`)
		b.refuses(http.MethodPost, path, `{"capability":"echo","prefer_agent":`+q+`}`)
	}
	const rest = `"instance_id":"i","version":"1.0.0","transport":{"type":"http"}`
	b.refuses(http.MethodPost, "/v1/agents", `{"agent_id":`+q+`,"capabilities":["echo"],`+rest+`}`)
	b.refuses(http.MethodPost, "/v1/agents", `{"agent_id":"a","capabilities":[`+q+`],`+rest+`}`)
	b.refuses(http.MethodPost, "/v1/agents", `{"agent_id":"a","capabilities":["echo"],"groups":[`+q+`],`+rest+`}`)
	b.refuses(http.MethodPost, "/v1/capabilities", `{"capability":{"id":`+q+`,"input_schema":true,"output_schema":true}}`)
}

// refuses wants a 400 that names the field.
func (b *bench) refuses(method, path, body string) {
	b.t.Helper()
	got := b.call(method, path, body)
	var problem struct {
		Code    schemas.Code
		Details struct{ Field string }
	}
	if err := json.Unmarshal([]byte(got.body), &problem); err != nil {
		b.t.Errorf("%s %s %s: status %d, body %q: %v", method, path, body, got.status, got.body, err)
	}
	if got.status != http.StatusBadRequest || problem.Code != schemas.InvalidArgument || problem.Details.Field == "" {
		b.t.Errorf("%s %s %s: status %d, body %s", method, path, body, got.status, got.body)
	}
}

func TestNamesThatAreEmptyAreNoPath(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, path := range []string{"/v1/tasks/", "/v1/agents/", "/v1/capabilities/", "/v1/traces/", "//v1/tasks", "/v1//tasks"} {
		if got := b.call(http.MethodGet, path, ""); got.status != http.StatusNotFound {
			t.Errorf("%s: status %d", path, got.status)
		}
	}
	if got := b.call(http.MethodPost, "/v1/tasks/:cancel", ""); got.status != http.StatusBadRequest {
		t.Errorf("cancel of nothing: status %d", got.status)
	}
}

func TestBadQueries(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := schemas.NewTaskID()
	for _, path := range []string{
		"/v1/tasks?page_size=0x10", "/v1/tasks?page_size=101", "/v1/tasks?page_size=-1", "/v1/tasks?page_size=99999999999999999999",
		"/v1/tasks?page_token=%00", "/v1/tasks?page_token=%ff", "/v1/tasks?page_token=" + strings.Repeat("t", 513),
		"/v1/tasks/" + id + "?wait=soon", "/v1/tasks/" + id + "?wait=-1s", "/v1/tasks/" + id + "?wait=NaN",
	} {
		b.refuses(http.MethodGet, path, "")
	}
	for path, want := range map[string]string{
		"/v1/tasks?page_size=x":       `"page_size: 1 to 100 is expected"`,
		"/v1/agents?page_size=1.5":    `"page_size: 1 to 100 is expected"`,
		"/v1/schedules?page_size=101": `"page_size takes 1 to 100"`,
		"/v1/tasks?dead_letter=some":  `"dead_letter: true or false is expected"`,
		"/v1/agents?adopt=x":          `"adopt: true or false is expected"`,
	} {
		if got := b.call(http.MethodGet, path, ""); got.status != http.StatusBadRequest || !strings.Contains(got.body, want) {
			t.Errorf("%s: status %d, body %s", path, got.status, got.body)
		}
	}
	if calls := b.house.Calls(); len(calls) > 0 {
		t.Errorf("the house was called: %v", calls)
	}
}
