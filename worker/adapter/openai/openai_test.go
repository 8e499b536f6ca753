package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/openai"
)

// outcome is what a test looks at.
type outcome struct {
	Result string
	Chunks []string
	Code   schemas.Code
	Reason string
	Ran    schemas.Ran
	Again  bool
	After  int64
	Agents string // the endpoint's own code
}

func run(t *testing.T, agent *openai.Agent, payload string) outcome {
	t.Helper()
	heard := new(adaptertest.Recorder)
	result, err := agent.Handle(t.Context(), adaptertest.NewTask([]byte(payload)), heard)
	got := outcome{Result: string(result), Chunks: heard.Chunks()}
	if err == nil {
		return got
	}
	e, ran := failureOf(t, err)
	got.Code, got.Reason, got.Ran, got.Again, got.After = e.Code, e.Reason, ran, e.Retryable, e.RetryAfterMS
	e.Detail("agent_code", &got.Agents)
	return got
}

func failureOf(t *testing.T, err error) (*schemas.Error, schemas.Ran) {
	t.Helper()
	var failure *worker.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a *worker.Failure", err)
	}
	return failure.Err, failure.Ran
}

// saying is an endpoint that always answers the same.
func saying(t *testing.T, status int, header, body string) string {
	t.Helper()
	return adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
		for line := range strings.Lines(header) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		_ = http.NewResponseController(w).Flush()
	}).URL
}

const events = "Content-Type: text/event-stream"

func pieces(texts ...string) string {
	var all strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&all, "data: {\"choices\":[{\"delta\":{\"content\":%s}}]}\n\n", schemas.MustEncode(text))
	}
	return all.String()
}

func finished(why string) string {
	return `data: {"choices":[{"delta":{},"finish_reason":"` + why + `"}]}` + "\n\n"
}

const end = "data: [DONE]\n\n"

func TestWhatTheModelWrites(t *testing.T) {
	t.Parallel()
	lost := outcome{Code: schemas.Unavailable, Reason: schemas.ReasonConnectionLost, Ran: schemas.RanUnknown, Again: true}
	protocol := outcome{Code: schemas.Internal, Reason: schemas.ReasonProtocol, Ran: schemas.RanYes}
	ships := []string{`"Ships "`, `"sail."`}
	with := func(o outcome, chunks ...string) outcome {
		o.Chunks = chunks
		return o
	}
	for _, tt := range []struct {
		name, header, body string
		cfg                openai.Config
		want               outcome
	}{
		{
			"pieces and an end", events, pieces("Ships ", "sail.") + finished("stop") + end,
			openai.Config{},
			outcome{Result: `"Ships sail."`, Chunks: ships},
		},
		{
			"an end mark alone after the pieces", events, pieces("Ships ", "sail.") + end,
			openai.Config{},
			outcome{Result: `"Ships sail."`, Chunks: ships},
		},
		{
			"a finish without an end mark", events, pieces("Ships ", "sail.") + finished("stop"),
			openai.Config{},
			outcome{Result: `"Ships sail."`, Chunks: ships},
		},
		{"no end", events, pieces("Ships ", "sail."), openai.Config{}, with(lost, ships...)},
		{
			"comments, a role, empty pieces, other choices, usage", events, ": hello\n\n" +
				`data: {"choices":[{"delta":{"role":"assistant","content":""}}]}` + "\n\n" +
				`data: {"choices":[{"index":1,"delta":{"content":"other"}}]}` + "\n\n" + pieces("a") + finished("stop") +
				`data: {"choices":[],"usage":{"total_tokens":7}}` + "\n\n" + end,
			openai.Config{},
			outcome{Result: `"a"`, Chunks: []string{`"a"`}},
		},
		{
			"a mapped result", events, pieces("She said \"no\"\n", "{{.}}") + finished("stop") +
				`data: {"usage":{"total_tokens":7}}` + "\n\n" + end,
			openai.Config{Result: jsontext.Value(
				`{"summary": "{{.Text}}", "n": 1.0, "by": ["{{.Model}} {{.Usage.total_tokens}} {{.Payload.text}}"]}`,
			)},
			outcome{
				Result: `{"summary": "She said \"no\"\n{{.}}", "n": 1.0, "by": [" 7 Ships"]}`,
				Chunks: []string{`"She said \"no\"\n"`, `"{{.}}"`},
			},
		},
		{
			"JSON is the result, in no pieces", events, pieces(`{"n":`, ` 1.0}`) + finished("stop") + end,
			openai.Config{JSON: true},
			outcome{Result: `{"n": 1.0}`},
		},
		{
			"JSON in a block of code", events, pieces("```json\n{\"n\":1}\n```") + end,
			openai.Config{JSON: true},
			outcome{Result: `{"n":1}`},
		},
		{
			"no JSON where it should be", events, pieces("Sure!") + end,
			openai.Config{JSON: true},
			outcome{Code: schemas.Internal, Reason: schemas.ReasonNotJSON, Ran: schemas.RanYes},
		},
		{
			"a whole answer", "Content-Type: application/json",
			`{"choices":[{"message":{"content":"Ships"},"finish_reason":"stop"}]}`,
			openai.Config{NoStream: true},
			outcome{Result: `"Ships"`},
		},
		{
			"a whole answer where a stream was asked for", "Content-Type: application/json",
			`{"choices":[{"message":{"content":"Ships"},"finish_reason":"stop"}]}`,
			openai.Config{},
			outcome{Result: `"Ships"`, Chunks: []string{`"Ships"`}},
		},
		{"a limit of tokens", events, pieces("a") + finished("length") + end, openai.Config{}, outcome{
			Code: schemas.Internal, Reason: openai.ReasonTruncated, Ran: schemas.RanYes, Chunks: []string{`"a"`},
		}},
		{
			"a limit of tokens that is meant", events, pieces("a") + finished("length") + end,
			openai.Config{Truncated: true},
			outcome{Result: `"a"`, Chunks: []string{`"a"`}},
		},
		{
			"a filter", events, finished("content_filter") + end,
			openai.Config{},
			outcome{Code: schemas.FailedPrecondition, Reason: openai.ReasonRefused, Ran: schemas.RanYes},
		},
		{
			"a refusal", events, `data: {"choices":[{"delta":{"refusal":"I cannot"}}]}` + "\n\n" + finished("stop") + end,
			openai.Config{},
			outcome{Code: schemas.FailedPrecondition, Reason: openai.ReasonRefused, Ran: schemas.RanYes},
		},
		{"a call of a tool", events, finished("tool_calls") + end, openai.Config{}, protocol},
		{"nothing at all to say", events, finished("stop") + end, openai.Config{}, outcome{Result: `""`}},
		{"an end mark alone", events, end, openai.Config{}, protocol},
		{"events that are none of ours", events, "data: hello\n\n", openai.Config{}, protocol},
		{"a page", "Content-Type: text/html", "<h1>Hello</h1>", openai.Config{}, protocol},
		{
			"an error in the stream", events, pieces("a") + `data: {"error":{"message":"overloaded","code":"E40001"}}` + "\n\n",
			openai.Config{},
			outcome{Code: schemas.InvalidArgument, Ran: schemas.RanYes, Chunks: []string{`"a"`}, Agents: "E40001"},
		},
		{
			"more than may be", events, pieces("12345678", "9"),
			openai.Config{MaxResult: 8},
			outcome{
				Code: schemas.ResourceExhausted, Reason: schemas.ReasonResultTooLarge, Ran: schemas.RanYes,
				Chunks: []string{`"12345678"`},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.Endpoint = saying(t, 200, tt.header, tt.body)
			if diff := cmp.Diff(tt.want, run(t, newAgent(t, tt.cfg), `{"text":"Ships"}`)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsOfTheEndpoint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		status       int
		header, body string
		want         outcome
	}{
		{
			"a wrong key", 401, "", `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`,
			outcome{Code: schemas.Unauthenticated, Ran: schemas.RanNo, Agents: "invalid_api_key"},
		},
		{
			"too many requests", 429, "Retry-After: 3", `{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}`,
			outcome{
				Code: schemas.ResourceExhausted, Reason: schemas.ReasonBusy, Ran: schemas.RanNo, Again: true, After: 3000,
				Agents: "rate_limit_exceeded",
			},
		},
		{
			"too long a conversation", 400, "", `{"error":{"message":"maximum context length is 8192","code":"context_length_exceeded"}}`,
			outcome{
				Code: schemas.InvalidArgument, Reason: openai.ReasonContextLength, Ran: schemas.RanNo, Agents: "context_length_exceeded",
			},
		},
		{
			"no such model", 404, "", `{"error":{"message":"no such model","code":"model_not_found"}}`,
			outcome{
				Code: schemas.Unavailable, Reason: schemas.ReasonNoSuchEndpoint, Ran: schemas.RanNo, Again: true, Agents: "model_not_found",
			},
		},
		{
			"a server that broke", 500, "", `{"error":{"message":"oops","code":null}}`,
			outcome{Code: schemas.Internal, Ran: schemas.RanYes},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			agent := newAgent(t, openai.Config{Endpoint: saying(t, tt.status, tt.header, tt.body)})
			if diff := cmp.Diff(tt.want, run(t, agent, `{}`)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// recorded is an endpoint that keeps what it is asked.
func recorded(t *testing.T, answer string) (string, <-chan *http.Request, <-chan string) {
	t.Helper()
	requests, bodies := make(chan *http.Request, 8), make(chan string, 8)
	server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- r
		bodies <- string(body)
		_, _ = io.WriteString(w, answer)
	})
	return server.URL, requests, bodies
}

const whole = `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`

func TestTheMessagesAreMadeOfThePayload(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, system, prompt, payload, want string
	}{
		{
			"the payload as JSON", "", "",
			`{"b": 9007199254740993, "a": "é<"}`,
			`[{"role":"user","content":"{\"b\":9007199254740993,\"a\":\"é<\"}"}]`,
		},
		{"a text as it is", "", "", `"Ships \"sail\""`, `[{"role":"user","content":"Ships \"sail\""}]`},
		{
			"its own messages", "", "",
			`{"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}`,
			`[{"role":"user","content":[{"type":"text","text":"Hi"}]}]`,
		},
		{
			"a system before them", "Be {{.tone}}.", "",
			`{"tone":"brief","messages":[{"role":"user","content":"Hi"}]}`,
			`[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]`,
		},
		{
			"a template", "", "{{.max_sentences}} of: {{.text}}",
			`{"text":"Ships {{.x}}","max_sentences":1}`,
			`[{"role":"user","content":"1 of: Ships {{.x}}"}]`,
		},
		{
			"what is absent is nothing", "", "[{{.language}}{{.deep}}]{{if .language}} in{{end}}",
			`{"deep":null}`,
			`[{"role":"user","content":"[]"}]`,
		},
		{
			"numbers as written", "", "{{.n}} {{json .}}",
			`{"n":1e400,"m":"<\u00e9>"}`,
			`[{"role":"user","content":"1e400 {\"m\":\"<é>\",\"n\":1e400}"}]`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url, _, bodies := recorded(t, whole)
			agent := newAgent(t, openai.Config{Endpoint: url, System: tt.system, Prompt: tt.prompt})
			if got := run(t, agent, tt.payload); got.Result != `"ok"` {
				t.Fatalf("got %+v", got)
			}
			if diff := cmp.Diff(`{"messages":`+tt.want+`,"model":"small","stream":true}`, <-bodies); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPayloadThatDoesNotFitThePromptNeverGoesOut(t *testing.T) {
	t.Parallel()
	url, requests, _ := recorded(t, whole)
	agent := newAgent(t, openai.Config{Endpoint: url, Prompt: "{{.text}}"})
	got := run(t, agent, `"secret"`)
	if got.Code != schemas.InvalidArgument || got.Ran != schemas.RanNo || len(requests) > 0 {
		t.Errorf("got %+v after %d requests", got, len(requests))
	}
}

func TestOptionsGoIntoTheRequest(t *testing.T) {
	t.Parallel()
	url, _, bodies := recorded(t, `{"choices":[{"message":{"content":"{}"},"finish_reason":"stop"}]}`)
	agent := newAgent(t, openai.Config{
		Endpoint: url + "/v1/", Model: "m", JSON: true, NoStream: true, Prompt: "x", Options: map[string]jsontext.Value{
			"temperature": jsontext.Value("0.20"), "stop": jsontext.Value(`["\n"]`),
		},
	})
	run(t, agent, `{}`)
	want := `{"messages":[{"role":"user","content":"x"}],"model":"m","response_format":{"type":"json_object"},` +
		`"stop":["\n"],"temperature":0.20}`
	if diff := cmp.Diff(want, <-bodies); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheKeyIsReadForEachRequestAndNeverShown(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"wrong: %s","details":{"path":%q}}}`, r.Header.Get("Authorization"), r.URL.Path)
	})
	agent := newAgent(t, openai.Config{Endpoint: server.URL + "/v1", APIKeyFile: file, HealthCheck: server.URL + "/v1/models"})
	if got := run(t, agent, `{}`); got.Code != schemas.Unavailable || got.Ran != schemas.RanNo {
		t.Errorf("without its file: %+v", got)
	}
	for _, key := range []string{"marker-one-1234", "marker-two-5678"} {
		if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := agent.Handle(t.Context(), adaptertest.NewTask([]byte(`{}`)), new(adaptertest.Recorder))
		e, _ := failureOf(t, err)
		said := string(schemas.MustEncode(e))
		if e.Code != schemas.Unauthenticated || strings.Contains(said, "marker") || !strings.Contains(said, "/v1/chat/completions") {
			t.Errorf("got %s", said)
		}
		if err := agent.Health(t.Context()); err == nil || strings.Contains(err.Error(), "marker") {
			t.Errorf("health: %v", err)
		}
	}
}

func TestTheKeyGoesToTheEndpointAndItsHealthCheck(t *testing.T) {
	t.Setenv("MODEL_KEY", "marker-three")
	url, requests, _ := recorded(t, whole)
	agent := newAgent(t, openai.Config{Endpoint: url, APIKeyEnv: "MODEL_KEY", HealthCheck: url + "/models"})
	run(t, agent, `{}`)
	if err := agent.Health(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if got := (<-requests).Header.Get("Authorization"); got != "Bearer marker-three" {
			t.Errorf("got %q", got)
		}
	}
}

func TestACancelClosesWhileTheModelWrites(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		delta(w, "Ships ")
		<-r.Context().Done()
		close(left)
	})
	agent := newAgent(t, openai.Config{Endpoint: server.URL})
	ctx, cancel := context.WithCancelCause(t.Context())
	heard := &adaptertest.Recorder{Gate: make(chan struct{}, 1)}
	heard.Gate <- struct{}{}
	ended := make(chan error, 1)
	go func() {
		_, err := agent.Handle(ctx, adaptertest.NewTask([]byte(`{}`)), heard)
		ended <- err
	}()
	heard.Gate <- struct{}{} // the first piece has been taken
	cancel(worker.ErrRunLimit)
	if e, ran := failureOf(t, <-ended); e.Code != schemas.DeadlineExceeded || ran != schemas.RanUnknown {
		t.Errorf("got %v, ran %s", e, ran)
	}
	<-left
}

func TestBadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]openai.Config{
		"no endpoint":             {Model: "m"},
		"no model":                {Endpoint: "http://a"},
		"another scheme":          {Endpoint: "ws://a", Model: "m"},
		"an open template":        {Endpoint: "http://a", Model: "m", Prompt: "{{.text"},
		"an unknown function":     {Endpoint: "http://a", Model: "m", System: "{{exec .text}}"},
		"a result that is none":   {Endpoint: "http://a", Model: "m", Result: jsontext.Value(`{"a":`)},
		"a mistyped name":         {Endpoint: "http://a", Model: "m", Result: jsontext.Value(`{"a":"{{.Txt}}"}`)},
		"JSON and a result":       {Endpoint: "http://a", Model: "m", JSON: true, Result: jsontext.Value(`{}`)},
		"two keys":                {Endpoint: "http://a", Model: "m", APIKeyFile: "f", APIKeyEnv: "E"},
		"an option of ours":       {Endpoint: "http://a", Model: "m", Options: options("stream", "false")},
		"an option that is none":  {Endpoint: "http://a", Model: "m", Options: options("top_p", "high")},
		"a negative limit":        {Endpoint: "http://a", Model: "m", MaxResult: -1},
		"a header that is none":   {Endpoint: "http://a", Model: "m", Headers: map[string]string{"a b": "c"}},
		"an endpoint with a hole": {Endpoint: "http://a b", Model: "m"},
	} {
		if _, err := openai.New(cfg); err == nil || !strings.HasPrefix(err.Error(), "openai agent: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func options(name, value string) map[string]jsontext.Value {
	return map[string]jsontext.Value{name: jsontext.Value(value)}
}

func ExampleNew() {
	agent, err := openai.New(openai.Config{
		Endpoint: "http://127.0.0.1:11434/v1",
		Model:    "llama3.2",
		System:   "You write summaries.",
		Prompt:   "In {{or .max_sentences 3}} sentences:\n\n{{.text}}",
		Result:   jsontext.Value(`{"summary": "{{.Text}}"}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	var handler worker.Handler = agent
	fmt.Printf("%T\n", handler)
	// Output: *openai.Agent
}
