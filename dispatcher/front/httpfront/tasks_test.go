package httpfront_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/google/go-cmp/cmp"
)

// literals are values that a careless decoder changes.
const literals = `{"i":[9007199254740993,9223372036854775807,18446744073709551615],"f":[0.1,1.0,1e2,-0,1e400,1E+2,-0.0],` +
	`"d":1234567890.123456789012345678901234567890,"s":"\u00e9\/<b>é\ud83d\ude00\u2028","e":{},"n":null}`

func TestLiteralsArriveByteForByte(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, path := range []string{"/v1/tasks", "/v1/reach"} {
		task := b.task(b.call(http.MethodPost, path, `{"capability":"echo","payload":`+literals+`}`))
		if got := string(b.house.Message(task.TaskID).Payload); got != literals {
			t.Errorf("%s: the house got\n%s, want\n%s", path, got, literals)
		}
		if got := b.call(http.MethodGet, "/v1/tasks/"+task.TaskID, "").body; !strings.Contains(got, `"result":`+literals+`,`) {
			t.Errorf("%s: the caller got\n%s, want\n%s", path, got, literals)
		}
	}
}

func TestUnknownMembersAreKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	task := b.task(b.call(http.MethodPost, "/v1/tasks", `{"capability":"hold","shade":"\u00e9"}`))
	if got := string(b.house.Message(task.TaskID).Unknown); got != `{"shade":"\u00e9"}` {
		t.Errorf("kept %s", got)
	}
}

func TestNullResultIsAResult(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	got := b.call(http.MethodPost, "/v1/reach", `{"capability":"echo","payload":null}`)
	if got.status != http.StatusOK || !strings.Contains(got.body, `"result":null`) {
		t.Errorf("status %d, body %s", got.status, got.body)
	}
}

func TestSubmit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		path, body string
		header     []string
		status     int
		located    bool
	}{
		{"answers when the task is durable", "/v1/tasks", `{"capability":"hold"}`, nil, 202, true},
		{"answers in the same way when it has ended meanwhile", "/v1/tasks", `{"capability":"echo"}`, nil, 202, true},
		{"waits when asked to", "/v1/tasks?wait=5s", `{"capability":"echo"}`, nil, 200, false},
		{"waits when it would be preferred", "/v1/tasks", `{"capability":"echo"}`, []string{"Prefer: respond-async, wait=5"}, 200, false},
		{"says 200 for a task that failed within the wait", "/v1/tasks?wait=5s", `{"capability":"fail"}`, nil, 200, false},
		{"gives the task when the wait ends first", "/v1/tasks?wait=20ms", `{"capability":"hold"}`, nil, 202, true},
		{"does both in one call", "/v1/reach", `{"capability":"echo"}`, nil, 200, false},
		{"gives the task when the sync wait ends first", "/v1/reach?wait=20ms", `{"capability":"hold"}`, nil, 202, true},
		{"takes timeout_ms as the wait", "/v1/reach", `{"capability":"hold","timeout_ms":20}`, nil, 202, true},
		{"takes respond-async at its word", "/v1/reach", `{"capability":"hold"}`, []string{"Prefer: respond-async"}, 202, true},
		{"never waits longer than it may", "/v1/reach?wait=1h", `{"capability":"hold"}`, nil, 202, true},
		{"says the status of what failed", "/v1/reach", `{"capability":"fail"}`, nil, 504, false},
		{"passes on a refusal", "/v1/tasks", `{"capability":"nobody"}`, nil, 503, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, func(c *httpfront.Config) { c.WaitMax = 100 * time.Millisecond })
			b.house.On("fail", fronttest.Script{Error: schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonRunLimit, "too long")})
			b.house.On("nobody", fronttest.Script{Refuse: schemas.NewError(schemas.Unavailable, schemas.ReasonNoAgent, "nobody")})
			got := b.call(http.MethodPost, tt.path, tt.body, tt.header...)
			if got.status != tt.status {
				t.Fatalf("status %d, want %d: %s", got.status, tt.status, got.body)
			}
			if location := got.header.Get("Location"); (location != "") != tt.located {
				t.Errorf("Location %q", location)
			} else if tt.located && location != "/v1/tasks/"+b.task(got).TaskID {
				t.Errorf("Location %q of %s", location, got.body)
			}
		})
	}
}

func TestRetryAfterOfAnOpenTask(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if got := b.call(http.MethodPost, "/v1/tasks", `{"capability":"hold"}`).header.Get("Retry-After"); got != "1" {
		t.Errorf("of an open task: %q", got)
	}
	if got := b.call(http.MethodPost, "/v1/tasks", `{"capability":"echo"}`).header.Get("Retry-After"); got != "" {
		t.Errorf("of a task that has ended: %q", got)
	}
}

func TestSyncWaitComesFromTheAgentsLatency(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	registration := `{"agent_id":"laptop-1","instance_id":"i","version":"1.2.0","transport":{"type":"http"},` +
		`"capabilities":[{"id":"hold","expected_latency_ms":1}]}`
	if got := b.call(http.MethodPost, "/v1/agents", registration); got.status != http.StatusOK {
		t.Fatal(got.body)
	}
	start := time.Now()
	got := b.call(http.MethodPost, "/v1/reach", `{"capability":"hold"}`)
	if took := time.Since(start); got.status != http.StatusAccepted || took < time.Second || took > 25*time.Second {
		t.Errorf("status %d after %v, want 202 after a second", got.status, took)
	}
}

func TestARouteSaysHowLongASyncCallWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, body := range map[string]string{
		"as its route says":              `{"capability":"hold","tags":["loud"]}`,
		"as its caller says, if it does": `{"capability":"hold","tags":["loud"],"timeout_ms":1}`,
	} {
		if got := b.call(http.MethodPost, "/v1/reach", body); got.status != http.StatusAccepted || b.task(got).State.Terminal() {
			t.Errorf("%s: status %d, %s", name, got.status, got.body)
		}
	}
}

func TestCallerCannotWriteWhatIsTheHouses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	own := `"task_id":"01a226bf-4900-7b1e-9d54-0f6a3f1f8a10","tenant":"other","attempt":7,` +
		`"retry_of":"01a226bf-4900-7b1e-9d54-0f6a3f1f8a10",` +
		`"submitted_at":"2020-01-01T00:00:00.000Z","assignment":{"agent_id":"evil"},"hops":[{"hop":"x"}]`
	id := b.task(b.call(http.MethodPost, "/v1/tasks", `{"capability":"hold","payload":1,`+own+`}`)).TaskID
	got := string(schemas.MustEncode(b.house.Message(id)))
	if want := `{"v":1,"capability":"hold","payload":1}`; got != want {
		t.Errorf("the house got %s, want %s", got, want)
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := "Idempotency-Key: notes é-7"
	first := b.task(b.call(http.MethodPost, "/v1/tasks", `{"capability":"hold","payload":{"a":1}}`, key))
	if first.MsgID != "notes é-7" {
		t.Errorf("msg_id %q", first.MsgID)
	}
	tests := []struct {
		name   string
		body   string
		header string
		status int
		reason string
	}{
		{"the same key and body is the same task", `{"capability":"hold","payload":{"a":1}}`, key, 202, ""},
		{"the key may stand in the body", `{"capability":"hold","payload":{"a":1},"msg_id":"notes é-7"}`, "X: y", 202, ""},
		{"or in both", `{"capability":"hold","payload":{"a":1},"msg_id":"notes é-7"}`, key, 202, ""},
		{"two keys are none", `{"capability":"hold","payload":{"a":1},"msg_id":"other"}`, key, 400, "IDEMPOTENCY_KEYS_DIFFER"},
		{"another body is refused", `{"capability":"hold","payload":{"a":2}}`, key, 422, schemas.ReasonKeyReused},
		{"a key is printable", `{"capability":"hold"}`, "Idempotency-Key: a\tb", 400, schemas.ReasonBadName},
		{"a key is not endless", `{"capability":"hold"}`, "Idempotency-Key: " + strings.Repeat("k", 257), 400, schemas.ReasonBadName},
		{"a key is UTF-8", `{"capability":"hold"}`, "Idempotency-Key: \xff", 400, schemas.ReasonBadName},
		{"a key is not empty", `{"capability":"hold"}`, "Idempotency-Key: ", 400, `"field":"/Idempotency-Key"`},
		{"nor is one in the body", `{"capability":"hold","msg_id":""}`, "X: y", 400, `"field":"/msg_id"`},
		{"nor one beside a key that is none", `{"capability":"hold","msg_id":""}`, key, 400, `"field":"/msg_id"`},
	}
	for _, tt := range tests {
		got := b.call(http.MethodPost, "/v1/tasks", tt.body, tt.header)
		if got.status != tt.status || !strings.Contains(got.body, tt.reason) {
			t.Errorf("%s: status %d, body %s", tt.name, got.status, got.body)
		} else if tt.status == http.StatusAccepted && b.task(got).TaskID != first.TaskID {
			t.Errorf("%s: it is another task", tt.name)
		}
	}
	for other, status := range map[string]int{"k-1": http.StatusAccepted, "k-2": http.StatusBadRequest} {
		request, err := http.NewRequest(http.MethodPost, b.url+"/v1/tasks", strings.NewReader(`{"capability":"hold"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"k-1", other}}
		if got := b.do(request); got.status != status {
			t.Errorf("the keys k-1 and %s: status %d, body %s", other, got.status, got.body)
		}
	}
}

func TestFiftyCallersWithOneKeyGetOneTask(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bodies := make([]string, 50)
	var all sync.WaitGroup
	for i := range bodies {
		all.Go(func() {
			got := b.call(http.MethodPost, "/v1/tasks?wait=5s", `{"capability":"echo","payload":1}`, "Idempotency-Key: one")
			bodies[i] = fmt.Sprint(got.status, got.body)
		})
	}
	all.Wait()
	for _, body := range bodies {
		if diff := cmp.Diff(bodies[0], body); diff != "" {
			t.Fatalf("answers differ (-first +other)\n%s", diff)
		}
	}
	if b.house.Len() != 1 || !strings.HasPrefix(bodies[0], "200") {
		t.Errorf("%d tasks; answer %s", b.house.Len(), bodies[0])
	}
}

func TestTraceparent(t *testing.T) {
	t.Parallel()
	const (
		header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		inBody = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-00f067aa0ba902b7-01"
	)
	tests := []struct{ name, body, header, want string }{
		{"is taken from the header", `{"capability":"hold"}`, header, header},
		{"comes from the body first", `{"capability":"hold","traceparent":"` + inBody + `"}`, header, inBody},
		{"is not taken beside the trace_id of another", `{"capability":"hold","trace_id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}`, header, ""},
		{"is taken beside its own trace_id", `{"capability":"hold","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}`, header, header},
		{"is ignored where it is none", `{"capability":"hold"}`, "00-nonsense", ""},
	}
	b := newBench(t)
	for _, tt := range tests {
		id := b.task(b.call(http.MethodPost, "/v1/tasks", tt.body, "traceparent: "+tt.header)).TaskID
		if got := b.house.Message(id).Traceparent; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestGetWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.hold()
	answer := make(chan reply)
	go func() { answer <- b.call(http.MethodGet, "/v1/tasks/"+id+"?wait=30s", "") }()
	b.await("Wait")
	b.house.End(id, schemas.Payload(`"done"`), nil)
	if got := b.task(<-answer); got.State != schemas.StateCompleted || string(got.Result) != `"done"` {
		t.Errorf("state %s, result %s", got.State, string(got.Result))
	}
}

// await returns when the house has been called in that way.
func (b *bench) await(call string) {
	b.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for tick := time.NewTicker(time.Millisecond); !strings.Contains(strings.Join(b.house.Calls(), " "), call); <-tick.C {
		if time.Now().After(deadline) {
			b.t.Fatalf("no %s; calls: %v", call, b.house.Calls())
		}
	}
}

func TestCallerThatLeavesDoesNotEndTheTask(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/reach", "/v1/tasks?wait=30s"} {
		b := newBench(t)
		ctx, leave := context.WithCancel(context.Background())
		gone := make(chan error, 1)
		go func() {
			request, _ := http.NewRequestWithContext(ctx, http.MethodPost, b.url+path, strings.NewReader(`{"capability":"hold"}`))
			request.Header.Set("Content-Type", "application/json")
			response, err := b.http.Do(request)
			if err == nil {
				response.Body.Close()
			}
			gone <- err
		}()
		b.await("Wait")
		leave()
		if err := <-gone; err == nil {
			t.Fatalf("%s: the caller got an answer", path)
		}
		id := b.house.Newest().TaskID
		b.house.End(id, schemas.Payload(`1`), nil)
		if got := b.task(b.call(http.MethodGet, "/v1/tasks/"+id, "")); got.State != schemas.StateCompleted {
			t.Errorf("%s: state %s", path, got.State)
		}
	}
}

func TestWaitOutlivesTheTimeForTheBody(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpfront.Config) { c.BodyTimeout, c.SendTimeout = time.Second, time.Second })
	for range 2 { // the connection serves again
		start := time.Now()
		got := b.call(http.MethodPost, "/v1/reach?wait=1500ms", `{"capability":"hold"}`)
		if took := time.Since(start); got.status != http.StatusAccepted || took < 1500*time.Millisecond {
			t.Errorf("status %d after %v: %s", got.status, took, got.body)
		}
	}
}

func TestETag(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.hold()
	tag := b.call(http.MethodGet, "/v1/tasks/"+id, "").header.Get("ETag")
	if want := fmt.Sprintf("%q", fmt.Sprint(b.house.Newest().Revision)); tag != want {
		t.Fatalf("ETag %s, want %s", tag, want)
	}
	tests := []struct {
		name, match string
		status      int
	}{
		{"the tag itself", tag, 304},
		{"the tag, weakly", "W/" + tag, 304},
		{"a list that has it", `"1", ` + tag, 304},
		{"anything", "*", 304},
		{"another tag", `"0"`, 200},
		{"no tag at all", "x", 200},
	}
	for _, tt := range tests {
		got := b.call(http.MethodGet, "/v1/tasks/"+id, "", "If-None-Match: "+tt.match)
		if got.status != tt.status || got.header.Get("ETag") != tag || (got.body == "") != (tt.status == 304) {
			t.Errorf("%s: status %d, ETag %s, body %q", tt.name, got.status, got.header.Get("ETag"), got.body)
		}
	}
	b.house.End(id, schemas.Payload("1"), nil)
	if got := b.call(http.MethodGet, "/v1/tasks/"+id, "", "If-None-Match: "+tag); got.status != http.StatusOK {
		t.Errorf("after the end: status %d", got.status)
	}
}

func TestCancelByBothNames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, first := range []bool{true, false} {
		id := b.hold()
		cancel := func() reply { return b.call(http.MethodPost, "/v1/tasks/"+id+":cancel", "") }
		remove := func() reply { return b.call(http.MethodDelete, "/v1/tasks/"+id, "") }
		if !first {
			cancel, remove = remove, cancel
		}
		won, lost := b.task(cancel()), b.task(remove())
		if won.State != schemas.StateCanceled || !won.Cancel.Won || lost.Cancel.Won {
			t.Errorf("won %v, then %v", won.Cancel, lost.Cancel)
		}
		won.Cancel, lost.Cancel = nil, nil
		if diff := cmp.Diff(string(schemas.MustEncode(won)), string(schemas.MustEncode(lost))); diff != "" {
			t.Errorf("the second cancel changed the task (-first +second)\n%s", diff)
		}
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var want []string
	for range 5 {
		want = append([]string{b.hold()}, want...)
	}
	b.call(http.MethodPost, "/v1/tasks", `{"capability":"echo"}`)
	var got []string
	path := "/v1/tasks?state=working&capability=hold&agent_id=laptop-1&page_size=2"
	for token := ""; ; {
		var page schemas.TaskPage
		if err := schemas.Accept([]byte(b.call(http.MethodGet, path+"&page_token="+token, "").body), &page); err != nil {
			t.Fatal(err)
		}
		for _, task := range page.Items {
			got = append(got, task.TaskID)
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tasks (-want +got)\n%s", diff)
	}
}

func TestTraceByEitherID(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.hold()
	one := b.call(http.MethodGet, "/v1/traces/"+id, "")
	other := b.call(http.MethodGet, "/v1/traces/4bf92f3577b34da6a3ce929d0e0e4736", "")
	if one.status != http.StatusOK || one.body != other.body || !strings.Contains(one.body, `"hop":"submitted"`) {
		t.Errorf("by task_id %s, by trace_id %s", one.body, other.body)
	}
}
