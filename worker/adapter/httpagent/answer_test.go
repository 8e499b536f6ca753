package httpagent_test

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
	"github.com/agentreach/agent-reach/worker/adapter/httpagent"
)

// outcome is what a test looks at: the result, or the failure.
type outcome struct {
	Result     string
	Code       schemas.Code
	Reason     string
	Ran        schemas.Ran
	Again      bool // retryable
	AfterMS    int64
	AgentCode  string
	AgentState int
}

func outcomeOf(t *testing.T, result schemas.Payload, err error) outcome {
	t.Helper()
	if err == nil {
		return outcome{Result: string(result)}
	}
	var failure *worker.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a *worker.Failure", err)
	}
	e := failure.Err
	o := outcome{Code: e.Code, Reason: e.Reason, Ran: failure.Ran, Again: e.Retryable, AfterMS: e.RetryAfterMS}
	e.Detail("agent_code", &o.AgentCode)
	e.Detail("agent_status", &o.AgentState)
	return o
}

// answered runs a task against an agent that always answers the same.
func answered(t *testing.T, cfg httpagent.Config, offer schemas.Offer, status int, header, body string) (schemas.Payload, error) {
	t.Helper()
	server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		if name, value, found := strings.Cut(header, ": "); found {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	cfg.Endpoint = server.URL + cfg.Endpoint
	task := summarize(`{}`)
	task.Offer = &offer
	return newAgent(t, cfg).Handle(t.Context(), task, new(adaptertest.Recorder))
}

func TestEveryStatusHasItsMeaning(t *testing.T) {
	t.Parallel()
	const (
		no      = schemas.RanNo
		unknown = schemas.RanUnknown
		yes     = schemas.RanYes
		html    = "<html><h1>Bad Gateway</h1></html>"
	)
	notJSON := outcome{Code: schemas.Internal, Reason: schemas.ReasonNotJSON, Ran: yes, AgentState: 200}
	nothingThere := func(status int) outcome {
		return outcome{Code: schemas.Unavailable, Reason: schemas.ReasonNoSuchEndpoint, Ran: no, Again: true, AgentState: status}
	}
	notFollowed := func(status int) outcome {
		return outcome{Code: schemas.Internal, Reason: schemas.ReasonRedirectRefused, Ran: no, AgentState: status}
	}
	for _, tt := range []struct {
		name         string
		status       int
		header, body string
		want         outcome
	}{
		{"200 with JSON", 200, "", "\uFEFF {\"n\": 1.0}\r\n", outcome{Result: `{"n": 1.0}`}},
		{"201 with JSON", 201, "", `[1e2]`, outcome{Result: `[1e2]`}},
		{"204", 204, "", "", outcome{Result: "null"}},
		{"200 with nothing", 200, "", "", outcome{Result: "null"}},
		{"200 with blanks", 200, "", " \n", outcome{Result: "null"}},
		{"200 with HTML", 200, "", html, notJSON},
		{"200 with half of it", 200, "", `{"a":`, notJSON},
		{"200 with two values", 200, "", `1 2`, notJSON},
		{
			"200 with the same member twice", 200, "", `{"a":1,"a":2}`,
			notJSON,
		},
		{
			"200 with a number that nothing can hold", 200, "", `[1e9999999]`,
			notJSON,
		},
		{
			"200 with an error and a mapped code", 200, "", `{"error":{"code":"E40001","message":"no"}}`,
			outcome{Code: schemas.InvalidArgument, Ran: yes, AgentCode: "E40001", AgentState: 200},
		},
		{
			"200 with an error that would be worth a retry elsewhere", 200, "", `{"error":{"code":"UNAVAILABLE"}}`,
			outcome{Code: schemas.Unavailable, Ran: yes, AgentCode: "UNAVAILABLE", AgentState: 200},
		},
		{"200 with an error text", 200, "", `{"error":"it broke"}`, outcome{Code: schemas.Internal, Ran: yes, AgentState: 200}},
		{
			"200 with an error word", 200, "", `{"error":"E40001"}`,
			outcome{Code: schemas.InvalidArgument, Ran: yes, AgentCode: "E40001", AgentState: 200},
		},
		{
			"200 with an error text and a code beside it", 200, "", `{"error":"empty","code":40001}`,
			outcome{Code: schemas.OutOfRange, Ran: yes, AgentCode: "40001", AgentState: 200},
		},
		{"200 with an empty error", 200, "", `{"error":null,"a":1}`, outcome{Result: `{"error":null,"a":1}`}},
		{"200 with an error of another kind", 200, "", `{"error":0}`, outcome{Result: `{"error":0}`}},
		{"200 with code and message", 200, "", `{"code":"E40001","message":"m"}`, outcome{Result: `{"code":"E40001","message":"m"}`}},

		{"404", 404, "", "", nothingThere(404)},
		{"405", 405, "", "", nothingThere(405)},
		{"410", 410, "", "", nothingThere(410)},
		{
			"404 that says itself what is not found", 404, "", `{"error":{"code":"NOT_FOUND"}}`,
			outcome{Code: schemas.NotFound, Ran: no, AgentCode: "NOT_FOUND", AgentState: 404},
		},
		{
			"429 with seconds", 429, "Retry-After: 3", "",
			outcome{Code: schemas.ResourceExhausted, Reason: schemas.ReasonBusy, Ran: no, Again: true, AfterMS: 3000, AgentState: 429},
		},
		{
			"429 with nonsense", 429, "Retry-After: soon", "",
			outcome{Code: schemas.ResourceExhausted, Reason: schemas.ReasonBusy, Ran: no, Again: true, AgentState: 429},
		},
		{
			"429 with a year", 429, "Retry-After: 99999999999", "",
			outcome{Code: schemas.ResourceExhausted, Reason: schemas.ReasonBusy, Ran: no, Again: true, AfterMS: 86_400_000, AgentState: 429},
		},
		{"503", 503, "", html, outcome{Code: schemas.Unavailable, Ran: no, Again: true, AgentState: 503}},
		{
			"503 with a date that has passed", 503, "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT", "",
			outcome{Code: schemas.Unavailable, Ran: no, Again: true, AgentState: 503},
		},
		{"502", 502, "", html, outcome{Code: schemas.Unavailable, Ran: unknown, Again: true, AgentState: 502}},
		{"504", 504, "", "", outcome{Code: schemas.DeadlineExceeded, Ran: unknown, Again: true, AgentState: 504}},
		{"408", 408, "", "", outcome{Code: schemas.DeadlineExceeded, Ran: unknown, Again: true, AgentState: 408}},
		{"400", 400, "", "", outcome{Code: schemas.InvalidArgument, Ran: no, AgentState: 400}},
		{"422", 422, "", "", outcome{Code: schemas.InvalidArgument, Ran: no, AgentState: 422}},
		{"401", 401, "", "", outcome{Code: schemas.Unauthenticated, Ran: no, AgentState: 401}},
		{"403", 403, "", "", outcome{Code: schemas.PermissionDenied, Ran: no, AgentState: 403}},
		{"409", 409, "", "", outcome{Code: schemas.FailedPrecondition, Ran: no, AgentState: 409}},
		{
			"413", 413, "", "",
			outcome{Code: schemas.ResourceExhausted, Reason: schemas.ReasonPayloadTooLarge, Ran: no, AgentState: 413},
		},
		{"501", 501, "", "", outcome{Code: schemas.Unimplemented, Ran: no, AgentState: 501}},
		{"500", 500, "", "", outcome{Code: schemas.Internal, Ran: yes, AgentState: 500}},
		{
			"500 with a mapped code at the first level", 500, "", `{"code":"E40001"}`,
			outcome{Code: schemas.InvalidArgument, Ran: yes, AgentCode: "E40001", AgentState: 500},
		},
		{
			"500 with a code that nobody knows", 500, "", `{"error":{"code":"E7"}}`,
			outcome{Code: schemas.Internal, Ran: yes, AgentCode: "E7", AgentState: 500},
		},
		{"418", 418, "", "", outcome{Code: schemas.Internal, Ran: yes, AgentState: 418}},
		{"a status without a name", 599, "", "", outcome{Code: schemas.Internal, Ran: yes, AgentState: 599}},

		{"301", 301, "Location: /other", "", notFollowed(301)},
		{"303", 303, "Location: /other", "", notFollowed(303)},
		{"304", 304, "", "", notFollowed(304)},
		{"307 to nowhere", 307, "", "", notFollowed(307)},
		{
			"307 to what is no URL", 307, "Location: http://%zz", "",
			notFollowed(307),
		},
		{
			"308 for ever", 308, "Location: /again", "",
			notFollowed(308),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			offer := schemas.Offer{ErrorMapping: map[string]schemas.Code{"E40001": schemas.InvalidArgument, "40001": schemas.OutOfRange}}
			result, err := answered(t, httpagent.Config{}, offer, tt.status, tt.header, tt.body)
			if diff := cmp.Diff(tt.want, outcomeOf(t, result, err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswersAreReadInTheFormOfTheInput(t *testing.T) {
	t.Parallel()
	declared := schemas.Offer{OutputSchema: []byte(`{"type":"object","properties":{"error":{"type":"string"}}}`)}
	short := schemas.Offer{OutputSchema: []byte(`{"error?":"string"}`)}
	for _, tt := range []struct {
		name  string
		input httpagent.Input
		offer schemas.Offer
		body  string
		want  string // the result, or the code and the message of the error
	}{
		{"a message has its result inside", httpagent.InputMessage, schemas.Offer{}, `{"result":{"a":1.0}}`, `{"a":1.0}`},
		{"a message's result may be null", httpagent.InputMessage, schemas.Offer{}, `{"result":null}`, `null`},
		{"a message's error may be null beside its result", httpagent.InputMessage, schemas.Offer{}, `{"error":null,"result":1}`, `1`},
		{"any other JSON is the result", httpagent.InputMessage, schemas.Offer{}, `{"summary":"s"}`, `{"summary":"s"}`},
		{"also if it is no object", httpagent.InputMessage, schemas.Offer{}, `[1]`, `[1]`},
		{"an error beats a result", httpagent.InputMessage, schemas.Offer{}, `{"result":1,"error":"no, sir"}`, `INTERNAL: no, sir`},
		{
			"with message an error is one whatever the schema says", httpagent.InputMessage, declared,
			`{"error":{"message":"m"}}`, `INTERNAL: m`,
		},
		{"an execute answer has its result inside", httpagent.InputExecute, schemas.Offer{}, `{"status":"ok","result":[2]}`, `[2]`},
		{"an execute answer may be as that of a message", httpagent.InputExecute, schemas.Offer{}, `{"result":[2]}`, `[2]`},
		{"an execute error", httpagent.InputExecute, schemas.Offer{}, `{"status":"error","message":"full"}`, `INTERNAL: full`},
		{
			"an execute error with a code", httpagent.InputExecute,
			schemas.Offer{},
			`{"status":"error","message":"full","code":"OUT_OF_RANGE"}`, `OUT_OF_RANGE: full`,
		},
		{
			"an execute error without a word", httpagent.InputExecute,
			schemas.Offer{},
			`{"status":"error"}`,
			`INTERNAL: the agent answered 200 OK with an error`,
		},
		{"an execute answer of one's own", httpagent.InputExecute, schemas.Offer{}, `{"status":"ok"}`, `{"status":"ok"}`},
		{"a status of another kind", httpagent.InputExecute, schemas.Offer{}, `{"status":1}`, `{"status":1}`},
		{"a payload's result is all of it", httpagent.InputPayload, schemas.Offer{}, `{"result":1}`, `{"result":1}`},
		{"an error that the schema declares is a result", httpagent.InputPayload, declared, `{"error":"typo"}`, `{"error":"typo"}`},
		{"also in the short form", httpagent.InputPayload, short, `{"error":"typo"}`, `{"error":"typo"}`},
		{
			"another schema declares none", httpagent.InputPayload,
			schemas.Offer{OutputSchema: []byte(`{"properties":{"text":{}}}`)},
			`{"error":"too bad"}`, `INTERNAL: too bad`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			result, err := answered(t, httpagent.Config{Input: tt.input}, tt.offer, 200, "", tt.body)
			got := string(result)
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTheDictionaryCanDeclareAnError(t *testing.T) {
	t.Parallel()
	const body = `{"error":"typo"}`
	server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	for _, declared := range []bool{true, false} {
		task := summarize(`{}`)
		task.Message.Assignment = &schemas.Assignment{ErrorMember: declared}
		result, err := newAgent(t, httpagent.Config{Endpoint: server.URL}).Handle(t.Context(), task, new(adaptertest.Recorder))
		if (err == nil) != declared || declared && string(result) != body {
			t.Errorf("declared %v: got %q, %v", declared, []byte(result), err)
		}
	}
}

func TestAnErrorKeepsWhatTheAgentSaid(t *testing.T) {
	t.Parallel()
	body := `{"error":{"code":"E40001","message":"text is empty\u0007","details":{"field":"text","origin":"mars"}}}`
	_, err := answered(t, httpagent.Config{}, schemas.Offer{}, 500, "", body)
	var failure *worker.Failure
	if !errors.As(err, &failure) {
		t.Fatal(err)
	}
	if failure.Err.Message != "text is empty" {
		t.Errorf("message is %q", failure.Err.Message)
	}
	got := map[string]string{}
	for name, value := range failure.Err.Details {
		got[name] = string(value)
	}
	want := map[string]string{
		"origin": `"agent"`, "agent_code": `"E40001"`, "agent_status": "500", "field": `"text"`,
		"excerpt": string(schemas.MustEncode(body)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
}

func TestErrorsAreShortHoweverLongTheAnswer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x ", 1<<18)
	report := `{"error":{"code":"` + long + `","message":"` + long + `","details":{"a":"` + long + `"}}}`
	for _, body := range []string{long, report} {
		for _, status := range []int{200, 500} {
			_, err := answered(t, httpagent.Config{}, schemas.Offer{}, status, "", body)
			var failure *worker.Failure
			if !errors.As(err, &failure) {
				t.Fatal(err)
			}
			if size := len(schemas.MustEncode(failure.Err)); size > 4<<10 {
				t.Errorf("status %d: the error has %d bytes", status, size)
			}
		}
	}
}

func TestAnAnnouncedSizeIsEnoughToRefuse(t *testing.T) {
	t.Parallel()
	server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5000000000")
		_, _ = io.WriteString(w, `"`)
		_ = http.NewResponseController(w).Flush()
	})
	agent := newAgent(t, httpagent.Config{Endpoint: server.URL, MaxResult: 1000})
	_, err := agent.Handle(t.Context(), summarize(`{}`), new(adaptertest.Recorder))
	want := "RESOURCE_EXHAUSTED: the agent's answer has 5000000000 bytes or more, and a result may have 1000"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestReadingStopsAtTheLimit(t *testing.T) {
	t.Parallel()
	written := make(chan int, 1)
	server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
		total := 0
		for {
			n, err := w.Write(make([]byte, 1<<16))
			total += n
			if err != nil {
				written <- total
				return
			}
		}
	})
	agent := newAgent(t, httpagent.Config{Endpoint: server.URL, MaxResult: 1000})
	_, err := agent.Handle(t.Context(), summarize(`{}`), new(adaptertest.Recorder))
	if got := outcomeOf(t, nil, err); got.Reason != schemas.ReasonResultTooLarge || got.Ran != schemas.RanYes {
		t.Errorf("got %+v", got)
	}
	if total := <-written; total > 32<<20 {
		t.Errorf("the agent could write %d bytes", total)
	}
}

func TestAnAnswerOfExactlyTheLimitIsTaken(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]schemas.Code{999: "", 1000: "", 1001: schemas.ResourceExhausted} {
		body := `"` + strings.Repeat("x", size-2) + `"`
		result, err := answered(t, httpagent.Config{MaxResult: 1000}, schemas.Offer{}, 200, "", body)
		if got := outcomeOf(t, result, err); got.Code != want {
			t.Errorf("%d bytes: %+v", size, got)
		}
	}
}

func TestRetryAfterTakesADate(t *testing.T) {
	t.Parallel()
	header := "Retry-After: " + time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	_, err := answered(t, httpagent.Config{}, schemas.Offer{}, 503, header, "")
	if got := outcomeOf(t, nil, err).AfterMS; got < 3_590_000 || got > 3_600_000 {
		t.Errorf("retry_after_ms is %d", got)
	}
}

func ExampleNew() {
	agent, err := httpagent.New(httpagent.Config{
		Endpoint:    "http://127.0.0.1:9000/run",
		HealthCheck: "http://127.0.0.1:9000/healthz",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	var handler worker.Handler = agent
	fmt.Printf("%T\n", handler)
	// Output: *httpagent.Agent
}
