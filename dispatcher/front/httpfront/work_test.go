package httpfront_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
	"github.com/agentreach/agent-reach/schemas"
)

const aTask = "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10"

func TestWhatAnAgentSaysIsChecked(t *testing.T) {
	t.Parallel()
	const token = "Reach-Token: 4711"
	tests := []struct {
		name, path, body, header string
		field                    string
	}{
		{"no process", "/v1/agents/laptop-1/claims", `{}`, "", "/instance_id"},
		{"another agent", "/v1/agents/laptop-1/claims", `{"agent_id":"laptop-2","instance_id":"1"}`, "", "/agent_id"},
		{"less than nothing free", "/v1/agents/laptop-1/claims", `{"instance_id":"1","free":{"echo":-1}}`, "", "/free"},
		{"no such wait", "/v1/agents/laptop-1/claims?wait=soon", `{"instance_id":"1"}`, "", "/wait"},
		{"no such state", "/v1/agents/laptop-1/heartbeat", `{"instance_id":"1","state":"asleep"}`, "", "/state"},
		{"no token", "/v1/tasks/" + aTask + "/result", `{"agent_id":"laptop-1","instance_id":"1","result":1}`, "", "/Reach-Token"},
		{"a token of its own", "/v1/tasks/" + aTask + "/result", `{"agent_id":"laptop-1","sequence":1,"result":1}`, token, "/sequence"},
		{"another task", "/v1/tasks/" + aTask + "/result", `{"agent_id":"laptop-1","task_id":"` + schemas.NewTaskID() + `","result":1}`, token, "/task_id"},
		{"no result", "/v1/tasks/" + aTask + "/result", `{"agent_id":"laptop-1","instance_id":"1"}`, token, "/result"},
		{"no agent", "/v1/tasks/" + aTask + "/result", `{"result":1}`, token, "/agent_id"},
		{"a chunk without a number", "/v1/tasks/" + aTask + "/chunks", `{"agent_id":"laptop-1","instance_id":"1","data":1}`, token, "/n"},
		{"a chunk of nothing", "/v1/tasks/" + aTask + "/chunks", `{"agent_id":"laptop-1","instance_id":"1","n":1}`, token, "/data"},
		{"more than all is done", "/v1/tasks/" + aTask + "/receipts", `{"agent_id":"laptop-1","instance_id":"1","tasks":[{"progress":{"fraction":2}}]}`, token, "/tasks/0/progress/fraction"},
	}
	b := newBench(t)
	for _, tt := range tests {
		var header []string
		if tt.header != "" {
			header = append(header, tt.header)
		}
		got := b.call(http.MethodPost, tt.path, tt.body, header...)
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, `"field":"`+tt.field+`"`) {
			t.Errorf("%s: status %d, %s", tt.name, got.status, got.body)
		}
	}
	if calls := b.house.Calls(); len(calls) > 0 {
		t.Errorf("the house was called: %v", calls)
	}
}

func TestAnAgentsOwnWordsForAResult(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, said, want string }{
		{"a result", `"result":null`, `"state":"completed"`},
		{"an error", `"error":{"code":"PERMISSION_DENIED","message":"no"}`, `"code":"PERMISSION_DENIED","message":"no"`},
		{"a code of its own", `"error":{"code":"E1","message":"no"}`, `"agent_code":"E1"`},
	}
	b := newBench(t)
	for _, tt := range tests {
		id := b.hold()
		got := b.call(http.MethodPost, "/v1/tasks/"+id+"/result", `{"agent_id":"laptop-1","instance_id":"1",`+tt.said+`}`, "Reach-Token: 4711")
		if got.status != http.StatusOK {
			t.Errorf("%s: status %d, %s", tt.name, got.status, got.body)
		}
		if task := b.call(http.MethodGet, "/v1/tasks/"+id, ""); !strings.Contains(task.body, tt.want) {
			t.Errorf("%s: %s", tt.name, task.body)
		}
	}
}

func TestAPayloadInRanges(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.task(b.call(http.MethodPost, "/v1/tasks", `{"capability":"hold","payload":"0123456789"}`)).TaskID
	path := "/v1/tasks/" + id + "/payload?agent_id=laptop-1&instance_id=1"
	whole := b.call(http.MethodGet, path, "", "Reach-Token: 4711")
	if whole.status != http.StatusOK || whole.body != `"0123456789"` {
		t.Errorf("whole: %d %s", whole.status, whole.body)
	}
	part := b.call(http.MethodGet, path, "", "Reach-Token: 4711", "Range: bytes=1-3")
	if part.status != http.StatusPartialContent || part.body != "012" || part.header.Get("Content-Range") != "bytes 1-3/12" {
		t.Errorf("a range: %d %s %v", part.status, part.body, part.header)
	}
}

// What net/http finds wrong with ranges is told as a problem like any other.
func TestRangesThatAreNotThere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.task(b.call(http.MethodPost, "/v1/tasks?wait=10s", `{"capability":"echo","payload":"0123456789"}`)).TaskID
	for _, tt := range []struct {
		name, header string
		status       int
		reason       string
	}{
		{"beyond the end", "Range: bytes=100-200", 416, "RANGE_NOT_SATISFIABLE"},
		{"backwards", "Range: bytes=5-2", 416, "RANGE_NOT_SATISFIABLE"},
		{"of something else", "Range: lines=1-2", 416, "RANGE_NOT_SATISFIABLE"},
		{"no range", "Range: bytes", 416, "RANGE_NOT_SATISFIABLE"},
		{"of another result", `If-Match: "other"`, 412, "PRECONDITION_FAILED"},
		{"within", "Range: bytes=1-3", 206, ""},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			got := b.call(method, "/v1/tasks/"+id+"/result", "", tt.header)
			kind := got.header.Get("Content-Type")
			if got.status != tt.status || tt.status >= 400 && kind != "application/problem+json" {
				t.Errorf("%s: %s: status %d, type %q, body %s", tt.name, method, got.status, kind, got.body)
			}
			if method == http.MethodGet && !strings.Contains(got.body, tt.reason) {
				t.Errorf("%s: body %s", tt.name, got.body)
			}
		}
	}
}

func TestAResultThatIsTooLargeEndsItsTask(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpfront.Config) { c.Limits.PayloadBytes = 2 << 20 })
	for _, known := range []bool{true, false} { // whether its size is known before
		id := b.hold()
		body := `{"agent_id":"laptop-1","instance_id":"1","result":"` + strings.Repeat("r", 3<<20) + `"}`
		var reader interface{ Read([]byte) (int, error) } = strings.NewReader(body)
		if !known {
			reader = struct{ *strings.Reader }{strings.NewReader(body)}
		}
		request, err := http.NewRequest(http.MethodPost, b.url+"/v1/tasks/"+id+"/result", reader)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Reach-Token", "4711")
		if got := b.do(request); got.status != http.StatusRequestEntityTooLarge {
			t.Errorf("status %d, %s", got.status, got.body)
		}
		if task := b.call(http.MethodGet, "/v1/tasks/"+id, ""); !strings.Contains(task.body, schemas.ReasonResultTooLarge) {
			t.Errorf("the task stands as %s", task.body)
		}
	}
}

func TestShortForms(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"register", "/register", `{"endpoint_id":"e","address":"http://127.0.0.1:9/execute","capabilities":["echo"]}`, 200, `{"status":"ok","state":"online"}`},
		{"register, of a capability that is none", "/register", `{"endpoint_id":"e","address":"http://127.0.0.1:9","capabilities":["ecko"]}`, 400, `{"status":"error","message":"that is not a capability","code":"INVALID_ARGUMENT"}`},
		{"register without an address", "/register", `{"endpoint_id":"e","capabilities":["echo"]}`, 400, `"message":"address takes`},
		{"register at no address", "/register", `{"endpoint_id":"e","address":"nowhere","capabilities":["echo"]}`, 400, `"message":"address takes`},
		{"register by a transport that needs a worker", "/register", `{"endpoint_id":"e","transport":"grpc","address":"h:1","capabilities":["echo"]}`, 400, `"message":"transport takes http, sse or websocket`},
		{"register with a pattern for a name", "/register", `{"endpoint_id":">","address":"http://127.0.0.1:9","capabilities":["echo"]}`, 400, `"message":"endpoint_id takes`},
		{"heartbeat", "/heartbeat", `{"endpoint_id":"laptop-1","load_avg":0.5}`, 200, `{"status":"ok"}`},
		{"heartbeat of nobody", "/heartbeat", `{}`, 400, `"status":"error"`},
		{"invoke", "/invoke", `{"capability":"echo","payload":{"n":1.0},"token":"x"}`, 200, `{"status":"ok","data":{"n":1.0},"endpoint":"laptop-1","task_id":`},
		{"invoke what takes longer", "/invoke?wait=1ms", `{"capability":"hold"}`, 202, `{"status":"working","endpoint":"laptop-1","task_id":`},
		{"invoke what fails", "/invoke", `{"capability":"fails"}`, 502, `"message":"broken","code":"INTERNAL"}`},
	}
	b := newBench(t)
	b.house.On("fails", fronttest.Script{Error: schemas.NewError(schemas.Internal, "", "broken").With("origin", "agent")})
	for _, tt := range tests {
		got := b.call(http.MethodPost, tt.path, tt.body)
		if got.status != tt.status || !strings.Contains(got.body, tt.want) {
			t.Errorf("%s: status %d, %s", tt.name, got.status, got.body)
		}
	}
}
