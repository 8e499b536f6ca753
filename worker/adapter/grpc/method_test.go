package grpc_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/grpc"
)

// empty is a Thing of which nothing is set, without its last brace.
const empty = `"ratio":0,"text":"","many":[],"counts":{},"color":"COLOR_UNSPECIFIED","raw":"","small":0`

// maybe is the same with an optional field that is set.
const maybe = `"ratio":0,"text":"","many":[],"counts":{},"color":"COLOR_UNSPECIFIED","maybe":"0","raw":"","small":0`

func TestMethodsAreFoundByReflectionAndInASet(t *testing.T) {
	t.Parallel()
	_, reflected := start(t, true)
	_, silent := start(t, false)
	const want = `{"big_id":"0","huge":"0",` + empty + `}`
	for name, cfg := range map[string]grpc.Config{
		"reflection":             {Target: reflected, Method: service + "/Echo"},
		"reflection, with a dot": {Target: "grpc://" + reflected, Method: service + ".Echo"},
		"a descriptor set":       {Target: silent, Method: "/" + service + "/Echo", DescriptorSet: setPath},
		"that of the capability": {
			Target: reflected, Method: service + "/Fail", Methods: map[string]string{"echo": service + "/Echo"},
		},
	} {
		agent := newAgent(t, cfg)
		for range 2 {
			if got := run(t, agent, `{}`); got.Result != want {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
	for name, cfg := range map[string]grpc.Config{
		"another method":       {Target: reflected, Method: service + "/Repeat"},
		"another service":      {Target: reflected, Method: "things.v1.Others/Echo"},
		"a stream of requests": {Target: reflected, Method: service + "/Collect"},
		"no reflection":        {Target: silent, Method: service + "/Echo"},
		"no service of ours":   {Target: silent},
	} {
		got := run(t, newAgent(t, cfg), `{}`)
		if got.Code != schemas.Unavailable || got.Reason != schemas.ReasonNoSuchEndpoint || got.Ran != schemas.RanNo {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestNumbersAsProtocolBuffersHaveThem(t *testing.T) {
	t.Parallel()
	_, address := start(t, true)
	texts := newAgent(t, grpc.Config{Target: address, Method: service + "/Echo"})
	nearest := strings.NewReplacer(`"ratio":0`, `"ratio":0.12345678901234568`, `"small":0`, `"small":7`)
	numbers := newAgent(t, grpc.Config{Target: address, Method: service + "/Echo", Int64Numbers: true})
	for _, tt := range []struct{ name, payload, texts, numbers string }{
		{
			"numbers and texts, in both spellings", `{"big_id":9007199254740993,"huge":"18446744073709551615"}`,
			`{"big_id":"9007199254740993","huge":"18446744073709551615",` + empty + `}`,
			`{"big_id":9007199254740993,"huge":18446744073709551615,` + empty + `}`,
		},
		{
			"camelCase is taken, snake_case is given", `{"bigId":1e2,"maybe":0}`,
			`{"big_id":"100","huge":"0",` + maybe + `}`,
			`{"big_id":100,"huge":0,` + strings.Replace(maybe, `"0"`, `0`, 1) + `}`,
		},
		{
			"lists, maps, messages", `{"many":[-9223372036854775808,"7"],"counts":{"a\n":3},"inner":{"big_id":5},"wrapped":6}`,
			`{"big_id":"0","huge":"0","ratio":0,"text":"","many":["-9223372036854775808","7"],"counts":{"a\n":"3"},` +
				`"inner":{"big_id":"5","huge":"0",` + empty + `},"color":"COLOR_UNSPECIFIED","wrapped":"6","raw":"","small":0}`,
			`{"big_id":0,"huge":0,"ratio":0,"text":"","many":[-9223372036854775808,7],"counts":{"a\n":3},` +
				`"inner":{"big_id":5,"huge":0,` + empty + `},"color":"COLOR_UNSPECIFIED","wrapped":6,"raw":"","small":0}`,
		},
		{
			"what is a text stays one", `{"text":"7","color":"RED","at":"2026-11-29T10:00:00Z","free":{"big_id":"8"},"raw":"AQ=="}`,
			`{"big_id":"0","huge":"0","ratio":0,"text":"7","many":[],"counts":{},"color":"RED","at":"2026-11-29T10:00:00Z",` +
				`"free":{"big_id":"8"},"raw":"AQ==","small":0}`,
			`{"big_id":0,"huge":0,"ratio":0,"text":"7","many":[],"counts":{},"color":"RED","at":"2026-11-29T10:00:00Z",` +
				`"free":{"big_id":"8"},"raw":"AQ==","small":0}`,
		},
		{
			"a double takes the nearest", `{"ratio":0.1234567890123456789012345678901234567890,"small":7.0}`,
			nearest.Replace(`{"big_id":"0","huge":"0",` + empty + `}`),
			nearest.Replace(`{"big_id":0,"huge":0,` + empty + `}`),
		},
	} {
		if diff := cmp.Diff(tt.texts, run(t, texts, tt.payload).Result); diff != "" {
			t.Errorf("%s, texts (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.numbers, run(t, numbers, tt.payload).Result); diff != "" {
			t.Errorf("%s, numbers (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestAPayloadThatDoesNotFitNeverGoesOut(t *testing.T) {
	t.Parallel()
	s, address := start(t, true)
	agent := newAgent(t, grpc.Config{Target: address, Method: service + "/Echo"})
	for name, payload := range map[string]string{
		"an unknown field": `{"secret-marker":1}`, "too large for its type": `{"big_id":9223372036854775808}`,
		"a fraction": `{"big_id":1.5}`, "another type": `{"text":7}`, "no object": `["secret-marker"]`,
		"beyond doubles": `{"ratio":1e400}`,
	} {
		got := run(t, agent, payload)
		if got.Code != schemas.InvalidArgument || got.Ran != schemas.RanNo || strings.Contains(got.Said, "marker") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if len(s.asked) > 0 {
		t.Errorf("the server was asked %d times", len(s.asked))
	}
	lenient := newAgent(t, grpc.Config{Target: address, Method: service + "/Echo", DiscardUnknown: true})
	if got := run(t, lenient, `{"other":1,"text":"a"}`); got.Code != "" {
		t.Errorf("got %+v", got)
	}
}

func TestTheMetadataNamesTheTask(t *testing.T) {
	t.Parallel()
	s, address := start(t, true)
	agent := newAgent(t, grpc.Config{Target: address, Method: service + "/Echo", Metadata: map[string]string{"X-Team": "notes"}})
	task := taskOf(`{}`)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(time.Minute))
	defer cancel()
	if _, err := agent.Handle(ctx, task, new(adaptertest.Recorder)); err != nil {
		t.Fatal(err)
	}
	md := <-s.asked
	for name, want := range map[string]string{
		"reach-task-id": task.ID(), "reach-capability": "echo", "reach-attempt": "1", "idempotency-key": task.ID(),
		"reach-deadline": schemas.At(task.Deadline).String(), "traceparent": adaptertest.Traceparent, "x-team": "notes",
	} {
		if got := md.Get(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestEveryStatusHasItsMeaning(t *testing.T) {
	t.Parallel()
	_, address := start(t, true)
	agent := newAgent(t, grpc.Config{Target: address, Method: service + "/Fail"})
	said := func(code schemas.Code, reason string, ran schemas.Ran, again bool) outcome {
		return outcome{Code: code, Reason: reason, Ran: ran, Again: again, Said: "m"}
	}
	const yes, no, unknown = schemas.RanYes, schemas.RanNo, schemas.RanUnknown
	for code, want := range map[codes.Code]outcome{
		codes.Canceled:           said(schemas.Cancelled, "", unknown, false),
		codes.Unknown:            said(schemas.Internal, "", yes, false),
		codes.InvalidArgument:    said(schemas.InvalidArgument, "", no, false),
		codes.DeadlineExceeded:   said(schemas.DeadlineExceeded, "", unknown, true),
		codes.NotFound:           said(schemas.NotFound, "", yes, false),
		codes.AlreadyExists:      said(schemas.AlreadyExists, "", yes, false),
		codes.PermissionDenied:   said(schemas.PermissionDenied, "", no, false),
		codes.ResourceExhausted:  said(schemas.ResourceExhausted, schemas.ReasonBusy, no, true),
		codes.FailedPrecondition: said(schemas.FailedPrecondition, "", no, false),
		codes.Aborted:            said(schemas.Aborted, "", yes, false),
		codes.OutOfRange:         said(schemas.OutOfRange, "", yes, false),
		codes.Unimplemented:      said(schemas.Unavailable, schemas.ReasonNoSuchEndpoint, no, true),
		codes.Internal:           said(schemas.Internal, "", yes, false),
		codes.Unavailable:        said(schemas.Unavailable, "", no, true),
		codes.DataLoss:           said(schemas.DataLoss, "", yes, false),
		codes.Unauthenticated:    said(schemas.Unauthenticated, "", no, false),
	} {
		if diff := cmp.Diff(want, run(t, agent, fmt.Sprintf(`{"code":%d,"message":"m"}`, code))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", code, diff)
		}
	}
}

func TestTheDetailsOfAStatus(t *testing.T) {
	t.Parallel()
	_, address := start(t, true)
	agent := newAgent(t, grpc.Config{Target: address, Method: service + "/Fail"})
	got := run(t, agent, `{"code":9,"message":"m","reason":"E40001"}`)
	if diff := cmp.Diff(outcome{Code: schemas.InvalidArgument, Ran: schemas.RanNo, Agents: "E40001", Said: "m"}, got); diff != "" {
		t.Errorf("a reason (-want +got):\n%s", diff)
	}
	_, err := agent.Handle(t.Context(), taskOf(`{"code":2,"reason":"E1"}`), new(adaptertest.Recorder))
	details := failureOf(t, err).Err.Details
	if string(details["field"]) != `"text"` || string(details["n"]) != "[1]" || string(details["agent_status"]) != `"UNKNOWN"` {
		t.Errorf("details are %s", schemas.MustEncode(details))
	}
	if got := run(t, agent, `{"code":14,"retry_after_ms":3000}`); got.After != 3000 {
		t.Errorf("got %+v", got)
	}
}

func TestTheMessagesOfAStreamAreChunks(t *testing.T) {
	t.Parallel()
	_, address := start(t, true)
	for _, tt := range []struct {
		name, payload string
		last          bool
		want          outcome
	}{
		{"all are the result", `{"to":100}`, false, outcome{Chunks: 100}},
		{"the last is the result", `{"to":3}`, true, outcome{Chunks: 3, Result: `{"big_id":"3","huge":"0",` + empty + `}`}},
		{"none", `{}`, false, outcome{}},
		{"none, and so no last", `{}`, true, outcome{}},
		{
			"an error after some", `{"to":2,"fail_with":3}`, false,
			outcome{Chunks: 2, Code: schemas.InvalidArgument, Ran: schemas.RanYes, Said: "no more"},
		},
		{"an error before any", `{"fail_with":3}`, false, outcome{Code: schemas.InvalidArgument, Ran: schemas.RanNo, Said: "no more"}},
	} {
		agent := newAgent(t, grpc.Config{Target: address, Method: service + "/Count", Last: tt.last})
		if diff := cmp.Diff(tt.want, run(t, agent, tt.payload)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestASlowReaderLosesNothing: while nobody takes chunks the server waits.
func TestASlowReaderLosesNothing(t *testing.T) {
	t.Parallel()
	const count = 2000
	_, address := start(t, true)
	agent := newAgent(t, grpc.Config{Target: address, Method: service + "/Count"})
	heard := &adaptertest.Recorder{Gate: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		_, err := agent.Handle(t.Context(), taskOf(fmt.Sprintf(`{"to":%d}`, count)), heard)
		ended <- err
	}()
	for range count {
		heard.Gate <- struct{}{}
	}
	if err := <-ended; err != nil || len(heard.Chunks()) != count {
		t.Errorf("%d chunks, %v", len(heard.Chunks()), err)
	}
}

func TestACancelAndABreak(t *testing.T) {
	t.Parallel()
	s, address := start(t, true)
	agent := newAgent(t, grpc.Config{Target: address, Method: service + "/Wait"})
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := agent.Handle(ctx, taskOf(`{}`), new(adaptertest.Recorder))
		ended <- err
	}()
	<-s.asked
	cancel(worker.ErrRunLimit)
	failure := failureOf(t, <-ended)
	if failure.Err.Code != schemas.DeadlineExceeded || failure.Ran != schemas.RanUnknown || failure.Confirmed {
		t.Errorf("a cancel: %v, ran %s", failure.Err, failure.Ran)
	}
	<-s.asked // it has stopped
	got := run(t, agent, `{"text":"break"}`)
	if got.Code != schemas.Unavailable || got.Reason != schemas.ReasonConnectionLost || got.Ran != schemas.RanUnknown {
		t.Errorf("a break: %+v", got)
	}
}

func TestWhatWasNeverSentDidNotRun(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	_, plain := start(t, true)
	for name, target := range map[string]string{
		"nobody listens": "127.0.0.1:1", "no greeting": silent.Addr().String(), "no such name": "agent.invalid:1",
		"no TLS": "grpcs://" + plain,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, method := range []string{"", service + "/Echo"} {
				agent := newAgent(t, grpc.Config{Target: target, Method: method, ConnectTimeout: 200 * time.Millisecond})
				if got := run(t, agent, `{}`); got.Reason != schemas.ReasonCannotConnect || got.Ran != schemas.RanNo || !got.Again {
					t.Errorf("%q: %+v", method, got)
				}
				if err := agent.Health(t.Context()); err == nil {
					t.Error("it is well")
				}
			}
		})
	}
}

func TestTheSizeOfMessages(t *testing.T) {
	t.Parallel()
	_, address := start(t, true, rpc.MaxRecvMsgSize(5000))
	text := func(size int) string { return `{"text":"` + strings.Repeat("x", size) + `"}` }
	for _, tt := range []struct {
		name   string
		max    int
		size   int
		reason string
		ran    schemas.Ran
	}{
		{"a payload beyond ours", 1000, 2000, schemas.ReasonPayloadTooLarge, schemas.RanNo},
		{"a payload beyond the server's", 100_000, 6000, schemas.ReasonPayloadTooLarge, schemas.RanNo},
		{"a result whose JSON is beyond ours", 1000, 990, schemas.ReasonResultTooLarge, schemas.RanYes},
		{"one that fits", 10_000, 4000, "", ""},
	} {
		agent := newAgent(t, grpc.Config{Target: address, Method: service + "/Echo", MaxMessage: tt.max, DescriptorSet: setPath})
		if got := run(t, agent, text(tt.size)); got.Reason != tt.reason || got.Ran != tt.ran {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

func TestTLSOfOnesOwnIsTrusted(t *testing.T) {
	t.Parallel()
	lender := httptest.NewTLSServer(nil) // its certificate is for 127.0.0.1
	t.Cleanup(lender.Close)
	pool := x509.NewCertPool()
	pool.AddCert(lender.Certificate())
	creds := credentials.NewTLS(&tls.Config{Certificates: lender.TLS.Certificates})
	_, address := start(t, true, rpc.Creds(creds))
	agent := newAgent(t, grpc.Config{
		Target: "grpcs://" + address, Method: service + "/Echo", TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	})
	if got := run(t, agent, `{}`); got.Result == "" {
		t.Errorf("got %+v", got)
	}
}

func TestHealthIsWhatTheServerSays(t *testing.T) {
	t.Parallel()
	known := health.NewServer()
	address := serve(t, "127.0.0.1:0", func(s *server) { grpc_health_v1.RegisterHealthServer(s, known) }).address
	known.SetServingStatus("part", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	_, without := start(t, false)
	for _, tt := range []struct {
		name string
		cfg  grpc.Config
		well bool
	}{
		{"it serves", grpc.Config{Target: address}, true},
		{"a part does not", grpc.Config{Target: address, HealthService: "part"}, false},
		{"a part that it does not know", grpc.Config{Target: address, HealthService: "other"}, false},
		{"no health service", grpc.Config{Target: without}, true},
	} {
		if err := newAgent(t, tt.cfg).Health(t.Context()); (err == nil) != tt.well {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
