package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/mcp"
)

// outcome is what a test looks at.
type outcome struct {
	Result string
	Code   schemas.Code
	Reason string
	Ran    schemas.Ran
	Said   string // the message, where the tool said it
	Agents string // the server's own code
	Stderr string
}

// without is a failure's class alone.
func (o outcome) without() [3]string { return [3]string{string(o.Code), o.Reason, string(o.Ran)} }

func taskFor(capability, payload string) *worker.Task {
	task := adaptertest.NewTask([]byte(payload))
	task.Message.Capability = capability
	return task
}

func run(t *testing.T, agent *mcp.Agent, capability, payload string) outcome {
	t.Helper()
	result, err := agent.Handle(t.Context(), taskFor(capability, payload), new(adaptertest.Recorder))
	if err == nil {
		return outcome{Result: string(result)}
	}
	failure := failureOf(t, err)
	e := failure.Err
	got := outcome{Code: e.Code, Reason: e.Reason, Ran: failure.Ran, Said: e.Message}
	e.Detail("agent_code", &got.Agents)
	e.Detail("stderr", &got.Stderr)
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

// answering is an agent whose server has one tool, echo, that always answers the same.
func answering(t *testing.T, cfg mcp.Config, result *sdk.CallToolResult, err error) *mcp.Agent {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	s.AddTool(tool("echo"), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return result, err })
	cfg.Endpoint = serve(t, "127.0.0.1:0", s, nil).URL
	return newAgent(t, cfg)
}

func structured(raw string) *sdk.CallToolResult {
	return &sdk.CallToolResult{StructuredContent: json.RawMessage(raw)}
}

func failing(result *sdk.CallToolResult) *sdk.CallToolResult {
	result.IsError = true
	return result
}

func TestWhatAToolAnswers(t *testing.T) {
	t.Parallel()
	const numbers = `{"n":[9007199254740993,18446744073709551615,0.1,1.0,1e2,-0,1e400],"s":"\u00e9\/"}`
	image := &sdk.ImageContent{Data: []byte("x"), MIMEType: "image/png"}
	said := func(code schemas.Code, message, agents string) outcome {
		return outcome{Code: code, Ran: schemas.RanYes, Said: message, Agents: agents}
	}
	notJSON := outcome{
		Code: schemas.Internal, Reason: schemas.ReasonNotJSON, Ran: schemas.RanYes,
		Said: "the agent's answer is not valid JSON: not valid JSON at byte 0" +
			"; it is a text, for which the capability's result has no place that is known: name the member that it is " +
			"(text_field in worker.yaml, or --text-field)",
	}
	for _, tt := range []struct {
		name   string
		cfg    mcp.Config
		result *sdk.CallToolResult
		err    error
		want   outcome
	}{
		{"a structure, number for number", mcp.Config{}, structured(numbers), nil, outcome{Result: numbers}},
		{"a text that is JSON", mcp.Config{}, text(" [1.0]\n"), nil, outcome{Result: "[1.0]"}},
		{"a text that is none", mcp.Config{}, text("Ships sail."), nil, notJSON},
		{
			"a text for a field",
			mcp.Config{TextField: "text"},
			text("Ships \"sail\"."), nil,
			outcome{Result: `{"text":"Ships \"sail\"."}`},
		},
		{"JSON for a field", mcp.Config{TextField: "text"}, text(`{"a":1}`), nil, outcome{Result: `{"a":1}`}},
		{"nothing", mcp.Config{}, &sdk.CallToolResult{}, nil, outcome{Result: "null"}},
		{
			"a structure and a text", mcp.Config{}, &sdk.CallToolResult{
				StructuredContent: json.RawMessage(`{"a":1}`), Content: []sdk.Content{&sdk.TextContent{Text: "A is 1."}},
			}, nil, outcome{Result: `{"a":1}`},
		},
		{
			"two texts for a field", mcp.Config{TextField: "text"}, &sdk.CallToolResult{Content: []sdk.Content{
				&sdk.TextContent{Text: "a"}, &sdk.TextContent{Text: "b"},
			}}, nil, outcome{Result: `{"text":"a\nb"}`},
		},
		{
			"an image",
			mcp.Config{},
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "a"}, image}}, nil,
			outcome{Result: `{"content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"eA=="}]}`},
		},
		{"an error in words", mcp.Config{}, failing(text("it broke")), nil, said(schemas.Internal, "it broke", "")},
		{
			"an error as JSON",
			mcp.Config{},
			failing(text(`{"code":"E40001","message":"empty"}`)), nil,
			said(schemas.InvalidArgument, "empty", "E40001"),
		},
		{
			"an error in a structure",
			mcp.Config{},
			failing(structured(`{"error":{"code":"NOT_FOUND","message":"gone"}}`)), nil,
			said(schemas.NotFound, "gone", "NOT_FOUND"),
		},
		{
			"an error without a word",
			mcp.Config{},
			failing(&sdk.CallToolResult{}), nil,
			said(schemas.Internal, "the tool reported an error without details", ""),
		},
		{
			"a refusal of the arguments",
			mcp.Config{},
			nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no text"},
			outcome{Code: schemas.InvalidArgument, Ran: schemas.RanNo, Said: "no text", Agents: "-32602"},
		},
		{
			"an error of the server",
			mcp.Config{},
			nil, &jsonrpc.Error{Code: -32000, Message: "oops"},
			outcome{Code: schemas.Internal, Ran: schemas.RanYes, Said: "oops", Agents: "-32000"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, run(t, answering(t, tt.cfg, tt.result, tt.err), "echo", `{}`)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestATextGoesWhereTheCapabilityHasRoom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, field, want string }{
		{"by the schema", "", `{"summary":"Ships sail."}`},
		{"by its owner's word", "answer", `{"answer":"Ships sail."}`},
	} {
		agent := answering(t, mcp.Config{TextField: tt.field}, text("Ships sail."), nil)
		agent.Expect(map[string]jsontext.Value{"echo": jsontext.Value(`{"summary": "string"}`)})
		if got := run(t, agent, "echo", `{}`); got.Result != tt.want {
			t.Errorf("%s: got %+v, want %s", tt.name, got, tt.want)
		}
	}
}

func TestTheToolGetsThePayload(t *testing.T) {
	t.Parallel()
	got := make(chan *sdk.CallToolParamsRaw, 1)
	s := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	s.AddTool(tool("Web-Search"), func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		got <- req.Params
		return text("1"), nil
	})
	agent := newAgent(t, mcp.Config{
		Endpoint: serve(t, "127.0.0.1:0", s, nil).URL, Tools: map[string]string{"Web-Search": "web_search"},
	})
	task := taskFor("web_search", `{"q": "Ships", "id": 9007199254740993, "n": [1e400, 1.0]}`)
	if result, err := agent.Handle(t.Context(), task, new(adaptertest.Recorder)); string(result) != "1" {
		t.Fatal(err)
	}
	params := <-got
	if diff := cmp.Diff(`{"q":"Ships","id":9007199254740993,"n":[1e400,1.0]}`, string(params.Arguments)); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if params.Meta["agentreach/task_id"] != task.ID() || params.Meta["traceparent"] != adaptertest.Traceparent {
		t.Errorf("meta is %v", params.Meta)
	}
}

func TestATaskThatCannotBeACall(t *testing.T) {
	t.Parallel()
	agent := answering(t, mcp.Config{}, text("1"), nil)
	if got := run(t, agent, "echo", `[1]`); got.Code != schemas.InvalidArgument || got.Ran != schemas.RanNo {
		t.Errorf("a list: %+v", got)
	}
	if got := run(t, agent, "no_such_tool", `{}`); got.Code != schemas.InvalidArgument || got.Ran != schemas.RanNo {
		t.Errorf("a tool that is not there: %+v", got)
	}
}

func TestToolsAreOffers(t *testing.T) {
	t.Parallel()
	s := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	nothing := func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("1"), nil }
	add := func(name, input string, output any, annotations *sdk.ToolAnnotations) {
		s.AddTool(&sdk.Tool{
			Name: name, Description: name + "!", InputSchema: json.RawMessage(input), OutputSchema: output, Annotations: annotations,
		}, nothing)
	}
	add("a", `{"type":"object","required":["text"]}`, json.RawMessage(`{"type":"object"}`), nil)
	add("b-read", `{"type":"object"}`, nil, &sdk.ToolAnnotations{ReadOnlyHint: true})
	const lookahead = `{"type":"object","properties":{"p":{"type":"string","pattern":"^(?=.*[A-Z])"}}}`
	add("c", lookahead, nil, &sdk.ToolAnnotations{IdempotentHint: true})
	agent := newAgent(t, mcp.Config{
		Endpoint: serve(t, "127.0.0.1:0", s, nil).URL, Tools: map[string]string{"b-read": "file_read"},
	})
	offers, err := agent.Offers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"id":"a","description":"a!","input_schema":{"required":["text"],"type":"object"},` +
		`"output_schema":{"type":"object"},"idempotent":false},` +
		`{"id":"file_read","description":"b-read!","input_schema":{"type":"object"},"idempotent":true},` +
		`{"id":"c","description":"c!","idempotent":true}]`
	if diff := cmp.Diff(want, string(schemas.MustEncode(offers))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestASlowReaderLosesNothing: while nobody takes chunks, nothing more is read.
func TestASlowReaderLosesNothing(t *testing.T) {
	t.Parallel()
	const count = 100
	agent := newAgent(t, program("obedient", mcp.Config{}))
	order := schemas.MustEncode(&adaptertest.Order{Do: adaptertest.DoStream, Count: count, Value: schemas.Payload(`{}`)})
	heard := &adaptertest.Recorder{Gate: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		_, err := agent.Handle(t.Context(), adaptertest.NewTask(order), heard)
		ended <- err
	}()
	for range count {
		heard.Gate <- struct{}{}
	}
	if err := <-ended; err != nil || len(heard.Chunks()) != count {
		t.Errorf("%d chunks, %v", len(heard.Chunks()), err)
	}
}

func TestCloseEndsWhatRuns(t *testing.T) {
	t.Parallel()
	begun, told := make(chan struct{}), make(chan bool, 1)
	s := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	s.AddTool(tool("echo"), func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		close(begun)
		select {
		case <-ctx.Done():
			told <- true
		case <-time.After(10 * time.Second):
			told <- false
		}
		return text("1"), nil
	})
	agent := newAgent(t, mcp.Config{Endpoint: serve(t, "127.0.0.1:0", s, nil).URL})
	ended := make(chan error, 1)
	go func() {
		_, err := agent.Handle(t.Context(), taskFor("echo", `{}`), new(adaptertest.Recorder))
		ended <- err
	}()
	<-begun
	agent.Close()
	if failure := failureOf(t, <-ended); failure.Err.Code != schemas.Cancelled || failure.Ran != schemas.RanUnknown {
		t.Errorf("got %v, ran %s", failure.Err, failure.Ran)
	}
	if !<-told {
		t.Error("the server was not told, and goes on")
	}
	if got := run(t, agent, "echo", `{}`); got.Code != schemas.Unavailable || got.Ran != schemas.RanNo {
		t.Errorf("afterwards: %+v", got)
	}
}

func TestBadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]mcp.Config{
		"nothing":                 {},
		"both":                    {Command: []string{"cat"}, Endpoint: "http://a"},
		"another scheme":          {Endpoint: "ws://a"},
		"a header of ours":        {Endpoint: "http://a", Headers: map[string]string{"Idempotency-Key": "x"}},
		"two tools for one thing": {Endpoint: "http://a", Tools: map[string]string{"a": "c", "b": "c"}},
		"a negative limit":        {Endpoint: "http://a", MaxResult: -1},
	} {
		if _, err := mcp.New(cfg); err == nil || !strings.HasPrefix(err.Error(), "mcp agent: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func ExampleNew() {
	agent, err := mcp.New(mcp.Config{
		Endpoint:  "http://127.0.0.1:8080/mcp",
		Tools:     map[string]string{"brave-search": "web_search"},
		TextField: "text",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	var handler worker.Handler = agent
	fmt.Printf("%T\n", handler)
	// Output: *mcp.Agent
}
