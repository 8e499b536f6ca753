package sseagent_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/sseagent"
)

// outcome is what a test looks at. Joined says that the chunks are the result.
type outcome struct {
	Result   string
	Joined   bool
	Chunks   []string
	Progress []string
	Code     schemas.Code
	Reason   string
	Ran      schemas.Ran
	Message  string
}

// run gives the agent one small task.
func run(t *testing.T, cfg sseagent.Config) outcome {
	t.Helper()
	heard := new(adaptertest.Recorder)
	result, err := newAgent(t, cfg).Handle(t.Context(), adaptertest.NewTask([]byte(`{}`)), heard)
	got := outcome{Result: string(result), Joined: result == nil && err == nil, Chunks: heard.Chunks()}
	for _, progress := range heard.Heard() {
		got.Progress = append(got.Progress, string(schemas.MustEncode(progress)))
	}
	if err == nil {
		return got
	}
	failure := failureOf(t, err)
	got.Code, got.Reason, got.Ran, got.Message = failure.Err.Code, failure.Err.Reason, failure.Ran, failure.Err.Message
	return got
}

func failureOf(t *testing.T, err error) *worker.Failure {
	t.Helper()
	var failure *worker.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a *worker.Failure", err)
	}
	return failure
}

// streamed runs a task against an agent that always streams the same.
func streamed(t *testing.T, cfg sseagent.Config, contentType, body string) outcome {
	t.Helper()
	server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_ = http.NewResponseController(w).Flush() // no length is known
		_, _ = io.WriteString(w, body)
	})
	cfg.Endpoint = server.URL + cfg.Endpoint
	return run(t, cfg)
}

func TestEventsAndTheirData(t *testing.T) {
	t.Parallel()
	silent := outcome{
		Code: schemas.Internal, Reason: schemas.ReasonProtocol, Ran: schemas.RanYes,
		Message: "the agent's stream ended without a result",
	}
	failed := func(code schemas.Code, message string) outcome {
		return outcome{Code: code, Ran: schemas.RanYes, Message: message}
	}
	for _, tt := range []struct {
		name, body string
		want       outcome
	}{
		{"data alone are chunks", "data: {\"a\":1.0}\n\ndata: [2]\n\n", outcome{Joined: true, Chunks: []string{`{"a":1.0}`, "[2]"}}},
		{"one datum alone is the result, too", "data: {\"a\":1.0}\n\n", outcome{Result: `{"a":1.0}`, Chunks: []string{`{"a":1.0}`}}},
		{"and so it is before the end mark", "data: [1]\n\ndata: [DONE]\n\n", outcome{Result: `[1]`, Chunks: []string{`[1]`}}},
		{"a chunk alone is a chunk", "event: chunk\ndata: 1\n\n", outcome{Joined: true, Chunks: []string{"1"}}},
		{
			"the end mark ends it", "data: \"a\"\n\ndata: \"b\"\n\ndata: [DONE]\n\ndata: \"c\"\n\n",
			outcome{Joined: true, Chunks: []string{`"a"`, `"b"`}},
		},
		{"the end mark alone", "data: [DONE]\n\n", outcome{Joined: true}},
		{
			"texts are strings", "data: Ships \n\ndata:  sail \"on\"\n\ndata: 5\n\n",
			outcome{Joined: true, Chunks: []string{`"Ships "`, `" sail \"on\""`, `"5"`}},
		},
		{"a text of several lines", "data: a\ndata: b\n\n", outcome{Result: `"a\nb"`, Chunks: []string{`"a\nb"`}}},
		{
			"a protocol line without a name", "data: {\"chunk\":\"a\"}\n\ndata: {\"result\":{\"b\":2}}\n\n",
			outcome{Result: `{"b":2}`, Chunks: []string{`"a"`}},
		},
		{
			"a protocol line within an event", "event: chunk\ndata: {\"chunk\":\"a\"}\n\nevent: done\ndata: {\"result\":1}\n\n",
			outcome{Result: "1", Chunks: []string{`"a"`}},
		},
		{"a result", "event: result\ndata: {\"result\":1}\n\n", outcome{Result: `{"result":1}`}},
		{
			"a null result after chunks", "event: chunk\ndata: 1\n\nevent: result\ndata: null\n\n",
			outcome{Joined: true, Chunks: []string{"1"}},
		},
		{"a result that is no JSON", "event: result\ndata: Ships\n\n", outcome{
			Code: schemas.Internal, Reason: schemas.ReasonNotJSON, Ran: schemas.RanYes,
			Message: "the agent's answer is not valid JSON: not valid JSON at byte 0",
		}},
		{"done with a result of its own", "event: done\ndata: {\"summary\":\"s\"}\n\n", outcome{Result: `{"summary":"s"}`}},
		{
			"done with a word after chunks", "event: chunk\ndata: 1\n\nevent: done\ndata: {\"usage\":7}\n\n",
			outcome{Joined: true, Chunks: []string{"1"}},
		},
		{"done without a word", "event: done\ndata:\n\n", outcome{Joined: true}},
		{"done with an error", "event: done\ndata: {\"error\":\"it broke\"}\n\n", failed(schemas.Internal, "it broke")},
		{
			"progress in all forms", "event: progress\ndata: {\"fraction\":0.5}\n\n" +
				"event: progress\ndata: {\"progress\":{\"message\":\"m\"}}\n\n" +
				"event: progress\ndata: reading\n\nevent: done\ndata: 1\n\n",
			outcome{Result: "1", Progress: []string{`{"fraction":0.5}`, `{"message":"m"}`, `{"message":"reading"}`}},
		},
		{
			"a mapped error", "event: error\ndata: {\"code\":\"E40001\",\"message\":\"empty\"}\n\n",
			failed(schemas.InvalidArgument, "empty"),
		},
		{
			"an error under error", "event: error\ndata: {\"error\":{\"code\":\"NOT_FOUND\",\"message\":\"gone\"}}\n\n",
			failed(schemas.NotFound, "gone"),
		},
		{"an error text", "event: error\ndata: it broke\n\n", failed(schemas.Internal, "it broke")},
		{"an error JSON text", "event: error\ndata: \"it broke\"\n\n", failed(schemas.Internal, "it broke")},
		{
			"an error without a word", "event: error\ndata:\n\n",
			failed(schemas.Internal, "the agent reported an error without details"),
		},
		{
			"an error after chunks", "data: 1\n\nevent: error\ndata: no\n\n",
			outcome{Chunks: []string{"1"}, Code: schemas.Internal, Ran: schemas.RanYes, Message: "no"},
		},
		{
			"strange events are passed over", "event: ping\ndata: {}\n\n: keep-alive\n\nevent: result\ndata: 1\n\n",
			outcome{Result: "1"},
		},
		{"an event at the end without a blank line", "event: result\ndata: 1", outcome{Result: "1"}},
		{"nothing", "", silent},
		{"comments alone", ": hello\n\n", silent},
		{"progress alone", "event: progress\ndata: x\n\n", outcome{
			Code: silent.Code, Reason: silent.Reason, Ran: silent.Ran, Message: silent.Message, Progress: []string{`{"message":"x"}`},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, streamed(t, sseagent.Config{}, "text/event-stream", tt.body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheOtherFormats(t *testing.T) {
	t.Parallel()
	notJSON := outcome{Code: schemas.Internal, Reason: schemas.ReasonNotJSON, Ran: schemas.RanYes}
	for _, tt := range []struct {
		name, contentType, body string
		want                    outcome
	}{
		{
			"lines are chunks", "application/x-ndjson", "{\"n\":1.0}\n\n{\"n\":2}\r\n",
			outcome{Joined: true, Chunks: []string{`{"n":1.0}`, `{"n":2}`}},
		},
		{"one line is the result", "application/jsonl", "{\"n\":1}", outcome{Result: `{"n":1}`, Chunks: []string{`{"n":1}`}}},
		{"a sequence", "application/json-seq", "\x1e1\n\x1e2\n", outcome{Joined: true, Chunks: []string{"1", "2"}}},
		{
			"protocol lines", "application/x-ndjson", `{"chunk":"a"}` + "\n" + `{"result":3}` + "\n" + `{"chunk":"b"}`,
			outcome{Result: "3", Chunks: []string{`"a"`}},
		},
		{
			"a line that is no JSON", "application/x-ndjson", "1\nhello\n2\n",
			outcome{Chunks: []string{"1"}, Code: notJSON.Code, Reason: notJSON.Reason, Ran: notJSON.Ran},
		},
		{"one JSON body", "application/json", " {\"a\": 1}\n", outcome{Result: `{"a": 1}`}},
		{
			"one JSON body with an error", "application/json", `{"error":{"code":"E40001"}}`,
			outcome{Code: schemas.InvalidArgument, Ran: schemas.RanYes},
		},
		{"HTML", "text/html", "<h1>Hello</h1>", notJSON},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := streamed(t, sseagent.Config{}, tt.contentType, tt.body)
			got.Message = ""
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTextIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	const text = "Größe ≥ 5 🚢 and \xff"
	server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for i := range len(text) {
			_, _ = io.WriteString(w, text[i:i+1])
			_ = http.NewResponseController(w).Flush()
		}
	})
	got := run(t, sseagent.Config{Endpoint: server.URL})
	var joined strings.Builder
	for _, chunk := range got.Chunks {
		joined.WriteString(strings.Trim(chunk, `"`))
	}
	if want := strings.ToValidUTF8(text, "\uFFFD"); joined.String() != want || !got.Joined {
		t.Errorf("got %q, %+v", joined.String(), got)
	}
}

func TestTheConfigurationNamesFormatAndEvents(t *testing.T) {
	t.Parallel()
	names := map[string]string{"token": "chunk", "final": "result", "chunk": "ignore"}
	cfg := sseagent.Config{Format: sseagent.FormatSSE, Events: names}
	got := streamed(t, cfg, "application/octet-stream",
		"event: token\ndata: \"a\"\n\nevent: chunk\ndata: \"b\"\n\nevent: final\ndata: {\"n\":1}\n\n")
	if diff := cmp.Diff(outcome{Result: `{"n":1}`, Chunks: []string{`"a"`}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAResultIsInsideWithAMessage(t *testing.T) {
	t.Parallel()
	got := streamed(t, sseagent.Config{Endpoint: "/reach"}, "text/event-stream", "event: result\ndata: {\"result\":1}\n\n")
	if got.Result != "1" {
		t.Errorf("got %+v", got)
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	for _, size := range []int{65_535, 65_536, 65_537, limit, limit + 1} {
		want := schemas.Code("")
		if size > limit {
			want = schemas.ResourceExhausted
		}
		value := `"` + strings.Repeat("x", size-2) + `"`
		for contentType, body := range map[string]string{
			"text/event-stream": "event: result\ndata: " + value + "\n\n", "application/x-ndjson": value + "\n",
		} {
			got := streamed(t, sseagent.Config{MaxEvent: limit}, contentType, body)
			if got.Code != want || want == "" && got.Result != value {
				t.Errorf("%s, %d bytes: %s %s", contentType, size, got.Code, got.Message)
			}
		}
	}
}

func TestAnEndlessLineEnds(t *testing.T) {
	t.Parallel()
	written := make(chan int, 1)
	server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		total := 0
		for {
			n, err := w.Write([]byte(strings.Repeat("x", 1<<16)))
			total += n
			if err != nil {
				written <- total
				return
			}
		}
	})
	got := run(t, sseagent.Config{Endpoint: server.URL, MaxEvent: 1000})
	if got.Reason != schemas.ReasonResultTooLarge || got.Ran != schemas.RanYes {
		t.Errorf("got %+v", got)
	}
	if total := <-written; total > 32<<20 {
		t.Errorf("the agent could write %d bytes", total)
	}
}

func TestBadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]sseagent.Config{
		"no endpoint":         {},
		"another scheme":      {Endpoint: "ws://agent/run"},
		"an unknown input":    {Endpoint: "http://agent/run", Input: "xml"},
		"an unknown format":   {Endpoint: "http://agent/run", Format: "xml"},
		"an event of nothing": {Endpoint: "http://agent/run", Events: map[string]string{"a": "b"}},
		"a header of ours":    {Endpoint: "http://agent/run", Headers: map[string]string{"reach-task-id": "x"}},
		"a negative limit":    {Endpoint: "http://agent/run", MaxEvent: -1},
		"a negative timeout":  {Endpoint: "http://agent/run", IdleTimeout: -time.Second},
	} {
		if _, err := sseagent.New(cfg); err == nil || !strings.HasPrefix(err.Error(), "sse agent: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func ExampleNew() {
	agent, err := sseagent.New(sseagent.Config{
		Endpoint: "http://127.0.0.1:9000/stream",
		Events:   map[string]string{"token": "chunk"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	var handler worker.Handler = agent
	fmt.Printf("%T\n", handler)
	// Output: *sseagent.Agent
}
