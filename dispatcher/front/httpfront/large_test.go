package httpfront_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
	"github.com/agentreach/agent-reach/schemas"
)

// Payloads and results above a MiB are read where they lie, and are what they were; those of very many small values are read whole.
func TestLargeValuesAreWhatTheyWere(t *testing.T) {
	t.Parallel()
	text := `"` + strings.Repeat(`ä\u00e4 9007199254740993 \"`, 45_000) + `"`
	tests := []struct{ name, value string }{
		{"a string", text},
		{"an object", `{"payload":1.50,"result": {"payload" : ` + text + `,"n":[1e2,9007199254740993,-0]}, "end":null}`},
		{"very many small values", `[` + strings.Repeat(`1.0,`, 1_200_000) + `2]`},
		{"the name of a member that is very long", `{"` + strings.Repeat("n", 2<<20) + `":1}`},
	}
	b := newBench(t)
	b.house.LargeAbove(256 << 10)
	for _, tt := range tests {
		task := b.task(b.call(http.MethodPost, "/v1/tasks", `{"msg_id":"`+tt.name+`","payload": `+tt.value+` ,"capability":"hold"}`))
		if task.MsgID != tt.name || string(b.house.Message(task.TaskID).Payload) != tt.value {
			t.Errorf("%s: the payload arrives as another, %d bytes", tt.name, len(b.house.Message(task.TaskID).Payload))
		}
		posted := b.call(http.MethodPost, "/v1/tasks/"+task.TaskID+"/result",
			`{"agent_id":"laptop-1","result":`+tt.value+`,"instance_id":"1"}`, "Reach-Token: 4711")
		if posted.status != http.StatusOK {
			t.Errorf("%s: status %d, %.200s", tt.name, posted.status, posted.body)
		}
		for _, path := range []string{"", "/result", "/events"} {
			if got := b.call(http.MethodGet, "/v1/tasks/"+task.TaskID+path, ""); !strings.Contains(got.body, tt.value) {
				t.Errorf("%s: %s gives another result, of %d bytes", tt.name, path, len(got.body))
			}
		}
		if got := b.call(http.MethodPost, "/invoke", `{"capability":"echo","payload":`+tt.value+`}`); !strings.Contains(got.body, `,"data":`+tt.value+`}`) {
			t.Errorf("%s: invoke gives other data: %.200s", tt.name, got.body)
		}
	}
}

// What is wrong with a large body is said as of a small one.
func TestLargeBodiesAreHeldAgainstTheSameRules(t *testing.T) {
	t.Parallel()
	text := `"` + strings.Repeat("x", 2<<20) + `"`
	tests := []struct {
		name, body    string
		status        int
		reason, field string
	}{
		{"not JSON", `{"capability":"echo","payload":` + text, 400, schemas.ReasonNotJSON, `"field"`},
		{"a broken string", `{"capability":"echo","payload":"` + strings.Repeat("x", 2<<20) + `\q"}`, 400, schemas.ReasonNotJSON, `"field"`},
		{"a member twice", `{"capability":"echo","payload":{"a":` + text + `,"a":1}}`, 400, schemas.ReasonDuplicateName, `"/payload/a"`},
		{"a payload twice", `{"capability":"echo","payload":` + text + `,"payload":1}`, 400, schemas.ReasonDuplicateName, `"/payload"`},
		{"a number no one can hold", `{"capability":"echo","payload":[` + text + `,1e1001]}`, 400, schemas.ReasonBadNumber, `"/payload/1"`},
		{"no capability", `{"payload":` + text + `}`, 400, schemas.ReasonBadValue, `"/capability"`},
		{"large beside its payload", `{"capability":"echo","payload":1,"metadata":{"a":` + text + `}}`, 400, schemas.ReasonBadValue, `"/metadata"`},
		{"no object", text, 400, schemas.ReasonWrongType, `"field"`},
	}
	b := newBench(t)
	for _, tt := range tests {
		got := b.call(http.MethodPost, "/v1/tasks", tt.body)
		if got.status != tt.status || !strings.Contains(got.body, tt.reason) || !strings.Contains(got.body, tt.field) {
			t.Errorf("%s: status %d, %.300s", tt.name, got.status, got.body)
		}
	}
	if calls := b.house.Calls(); len(calls) > 0 {
		t.Errorf("the house was called: %v", calls)
	}
}

// Large bodies that other operations take are read whole, one at a time where there is no more memory.
func TestOtherLargeBodiesAreReadWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpfront.Config) { c.Limits.Memory = 1 })
	got := b.call(http.MethodPost, "/v1/agents", `{"agent_id":"a","unknown":"`+strings.Repeat("x", 2<<20)+`"}`)
	if got.status != http.StatusBadRequest || !strings.Contains(got.body, `"/instance_id"`) {
		t.Errorf("status %d, %.300s", got.status, got.body)
	}
}
