package httpfront_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/google/go-cmp/cmp"
)

// reading is a stream of events as its reader gets it, block by block.
type reading struct {
	t      testing.TB
	blocks *bufio.Scanner
	leave  func()
	header http.Header
}

// follow opens a stream; header is "Name: value" lines.
func (b *bench) follow(method, path, body string, header ...string) *reading {
	b.t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	response, err := b.http.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { leave(); _ = response.Body.Close() })
	if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != "text/event-stream" {
		text, _ := io.ReadAll(response.Body)
		b.t.Fatalf("status %d, %s: %s", response.StatusCode, got, text)
	}
	blocks := bufio.NewScanner(response.Body)
	blocks.Split(splitBlocks)
	return &reading{t: b.t, blocks: blocks, leave: leave, header: response.Header}
}

// splitBlocks splits at empty lines.
func splitBlocks(data []byte, _ bool) (int, []byte, error) {
	if at := strings.Index(string(data), "\n\n"); at >= 0 {
		return at + 2, data[:at], nil
	}
	return 0, nil, nil
}

func (r *reading) next() (string, bool) {
	found := r.blocks.Scan()
	return r.blocks.Text(), found
}

func (r *reading) expect(want ...string) {
	r.t.Helper()
	for _, block := range want {
		if got, _ := r.next(); got != block {
			r.t.Fatalf("got %q, want %q", got, block)
		}
	}
}

// ended expects that the stream is closed.
func (r *reading) ended() {
	r.t.Helper()
	if more, found := r.next(); found {
		r.t.Errorf("after the end: %q", more)
	}
}

func (b *bench) say(id string, chunks ...string) {
	for _, chunk := range chunks {
		b.house.Say(id, front.Event{Chunk: &schemas.Chunk{Data: schemas.Payload(chunk)}})
	}
}

func chunk(n int, data string) string {
	return fmt.Sprintf("id: %d\nevent: chunk\ndata: {\"n\":%d,\"attempt\":1,\"data\":%s}", n, n, data)
}

// done is the last event of a task, which is what a look at it shows.
func (b *bench) done(id string) string {
	b.t.Helper()
	return "id: end\nevent: done\ndata: " + b.call(http.MethodGet, "/v1/tasks/"+id, "").body
}

func TestEvents(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.hold()
	r := b.follow(http.MethodGet, "/v1/tasks/"+id+"/events", "")
	r.expect("retry: 2000")
	r.expect("event: state\n" +
		`data: {"task_id":"` + id + `","state":"working","phase":"assigned","agent_id":"laptop-1","attempt":0}`)
	b.say(id, `"Ships "`, `9007199254740993`, `[1e2,-0,1.0,"<b>\u00e9"]`)
	r.expect(chunk(1, `"Ships "`), chunk(2, `9007199254740993`), chunk(3, `[1e2,-0,1.0,"<b>\u00e9"]`))
	fraction := .4
	b.house.Say(id, front.Event{Progress: &schemas.Progress{Fraction: &fraction, Message: "reading"}})
	r.expect("event: progress\ndata: {\"fraction\":0.4,\"message\":\"reading\"}")
	b.house.Say(id, front.Event{Notice: &schemas.Notice{Notice: schemas.NoticeRestarted, Attempt: 2, Next: 4}})
	r.expect("event: notice\ndata: {\"v\":1,\"notice\":\"restarted\",\"attempt\":2,\"next\":4}")
	b.house.End(id, schemas.Payload(`18446744073709551615`), nil)
	r.expect(b.done(id))
	r.ended()

	late := b.follow(http.MethodGet, "/v1/tasks/"+id+"/events", "")
	late.expect("retry: 2000", b.done(id))
	late.ended()
}

func TestAFailedTaskIsToldLikeAnyOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.hold()
	r := b.follow(http.MethodGet, "/v1/tasks/"+id+"/events", "")
	b.house.End(id, nil, schemas.NewError(schemas.Aborted, schemas.ReasonMayHaveExecuted, "may have run"))
	r.expect("retry: 2000")
	for block, found := r.next(); found; block, found = r.next() {
		if !strings.HasPrefix(block, "event: state") && block != b.done(id) {
			t.Errorf("got %q", block)
		}
	}
}

func TestAReaderComesBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.hold()
	path := "/v1/tasks/" + id + "/events"
	b.say(id, "1", "2", "3")
	for _, how := range []struct{ path, header string }{{path, "Last-Event-ID: 2"}, {path + "?after=2", "X: y"}, {path + "?after=0", "Last-Event-ID: 2"}} {
		r := b.follow(http.MethodGet, how.path, "", how.header)
		r.expect("retry: 2000")
		if state, _ := r.next(); !strings.HasPrefix(state, "event: state") {
			t.Errorf("got %q", state)
		}
		r.expect(chunk(3, "3"))
	}
	b.house.End(id, schemas.Payload("6"), nil)
	r := b.follow(http.MethodGet, path, "", "Last-Event-ID: 2")
	r.expect("retry: 2000", chunk(3, "3"), b.done(id))
	r.ended()
	if got := b.call(http.MethodGet, path, "", "Last-Event-ID: end"); got.status != http.StatusNoContent || got.body != "" {
		t.Errorf("status %d, %s", got.status, got.body)
	}
}

func TestEventsThatNobodyCanHave(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.hold()
	foreign := b.house.Plant("another")
	for _, tt := range []struct {
		path, header string
		status       int
	}{
		{"/v1/tasks/" + schemas.NewTaskID() + "/events", "", 404},
		{"/v1/tasks/" + foreign + "/events", "", 404},
		{"/v1/tasks/" + schemas.NewTaskID() + "/events", "Last-Event-ID: end", 404},
		{"/v1/tasks/" + id + "/events", "Last-Event-ID: -1", 400},
		{"/v1/tasks/" + id + "/events", "Last-Event-ID: x", 400},
		{"/v1/tasks/" + id + "/events?after=1.5", "", 400},
		{"/v1/tasks/" + id + "/events", "Last-Event-ID: 9007199254740993", 400},
	} {
		got := b.call(http.MethodGet, tt.path, "", slices.DeleteFunc([]string{tt.header}, func(h string) bool { return h == "" })...)
		if got.status != tt.status || got.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s (%s): status %d, %s", tt.path, tt.header, got.status, got.body)
		}
	}
	if got := b.call(http.MethodHead, "/v1/tasks/"+id+"/events", ""); got.status != http.StatusOK || got.body != "" {
		t.Errorf("HEAD: status %d, %q", got.status, got.body)
	}
}

func TestASilentStreamIsKeptAlive(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpfront.Config) { c.KeepAlive = 20 * time.Millisecond })
	id := b.hold()
	r := b.follow(http.MethodGet, "/v1/tasks/"+id+"/events", "")
	r.expect("retry: 2000")
	_, _ = r.next()
	r.expect(": keep-alive", ": keep-alive")
	b.say(id, "1")
	for block, found := r.next(); block != chunk(1, "1"); block, found = r.next() {
		if block != ": keep-alive" || !found {
			t.Fatalf("got %q", block)
		}
	}
}

func TestAReaderThatLeavesChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.hold()
	r := b.follow(http.MethodGet, "/v1/tasks/"+id+"/events", "")
	r.expect("retry: 2000")
	r.leave()
	eventually(t, "the house knows", func() bool { return slices.Contains(b.house.Calls(), "Close") })
	if task := b.task(b.call(http.MethodGet, "/v1/tasks/"+id, "")); task.State != schemas.StateWorking {
		t.Errorf("state %s", task.State)
	}
}

// eventually polls until ok says yes.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 30 s", what)
		}
	}
}

func TestReachAsAStream(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.follow(http.MethodPost, "/v1/reach", `{"capability":"hold","response_mode":"stream"}`)
	id := b.house.Newest().TaskID
	if got := r.header.Get("Location"); got != "/v1/tasks/"+id {
		t.Errorf("Location %q", got)
	}
	r.expect("retry: 2000")
	if state, _ := r.next(); !strings.HasPrefix(state, "event: state") {
		t.Errorf("got %q", state)
	}
	b.say(id, "1.0")
	r.expect(chunk(1, "1.0"))
	b.house.End(id, schemas.Payload("1.0"), nil)
	r.expect(b.done(id))
	r.ended()
	if mode := b.house.Message(id).ResponseMode; mode != schemas.ModeStream {
		t.Errorf("response_mode %s", mode)
	}
	if got := b.call(http.MethodPost, "/v1/reach", `{"capability":"nowhere","response_mode":"stream"}`); got.status != http.StatusNotFound {
		t.Errorf("status %d", got.status)
	}
	failed := b.follow(http.MethodPost, "/v1/reach", `{"capability":"echo","response_mode":"stream"}`)
	failed.expect("retry: 2000", b.done(b.house.Newest().TaskID))
	failed.ended()
}

func TestAServerThatStopsEndsItsStreams(t *testing.T) {
	t.Parallel()
	house := fronttest.New()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() {
		stopped <- httpfront.Server{Handler: newHandler(t, house), Grace: time.Minute}.Run(ctx, listener)
	}()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	response, err := client.Get("http://" + listener.Addr().String() + "/v1/tasks/" + house.Plant("default") + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	start := time.Now()
	stop()
	text, _ := io.ReadAll(response.Body)
	if took := time.Since(start); took > 30*time.Second || strings.Contains(string(text), "done") {
		t.Errorf("after %v: %s", took, text)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestEventsAreFlushedOneByOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.hold()
	r := b.follow(http.MethodGet, "/v1/tasks/"+id+"/events", "")
	r.expect("retry: 2000")
	_, _ = r.next()
	var got, want []string
	for n := range 100 {
		b.say(id, fmt.Sprint(n))
		block, _ := r.next()
		got, want = append(got, block), append(want, chunk(n+1, fmt.Sprint(n)))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
