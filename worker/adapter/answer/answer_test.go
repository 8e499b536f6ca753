package answer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

func TestReadTellsTheProtocolFromNoise(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, line string
		want       answer.Line
	}{
		{"a result", `{"result": {"a": 1.0}}`, answer.Line{Kind: answer.Result, Value: []byte(`{"a": 1.0}`)}},
		{"a null result", `{"result":null}`, answer.Line{Kind: answer.Result, Value: []byte(`null`)}},
		{"an error", `{"error":"x"}`, answer.Line{Kind: answer.Error, Value: []byte(`"x"`)}},
		{"a chunk", `{"chunk":"Ships "}`, answer.Line{Kind: answer.Chunk, Value: []byte(`"Ships "`)}},
		{"a progress", `{"progress":{}}`, answer.Line{Kind: answer.Progress, Value: []byte(`{}`)}},
		{"a task's", `{"task_id":"t","result":1}`, answer.Line{Kind: answer.Result, TaskID: "t", Value: []byte(`1`)}},
		{"other members beside it", `{"level":"info","result":1,"x":[{"error":2}]}`, answer.Line{Kind: answer.Result, Value: []byte(`1`)}},
		{"a byte order mark and CRLF", "\uFEFF{\"result\":1}\r\n", answer.Line{Kind: answer.Result, Value: []byte(`1`)}},
		{"an escaped name", `{"res\u0075lt":1}`, answer.Line{Kind: answer.Result, Value: []byte(`1`)}},
		{"the last of two", `{"result":1,"result":2}`, answer.Line{Kind: answer.Result, Value: []byte(`2`)}},

		{"a blank", " ", answer.Line{}},
		{"a text", "Ships sail.", answer.Line{}},
		{"a log line", `{"level":"info","msg":"result"}`, answer.Line{}},
		{"two kinds", `{"result":1,"error":2}`, answer.Line{}},
		{"another case", `{"Result":1}`, answer.Line{}},
		{"not on the first level", `{"data":{"result":1}}`, answer.Line{}},
		{"half of it", `{"result":1`, answer.Line{}},
		{"a comma too many", `{"result":1,}`, answer.Line{}},
		{"more behind it", `{"result":1} 2`, answer.Line{}},
		{"no object", `["result"]`, answer.Line{}},
		{"a bare word", `{"result":yes}`, answer.Line{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := answer.Read([]byte(tt.line))
			if tt.want.Kind == answer.Noise {
				got.TaskID = ""
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTaskIDOfALineThatWasCutOff(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"task_id":"t","result":"xxx`:          "t",
		`{"n":[1,{}],"task_id": "t","result":"`: "t",
		"\uFEFF{\"task_id\":\"t\"":              "t",
		`{"result":"xxx`:                        "",
		`{"result":{"task_id":"t","x":"`:        "",
		`{"task_id":"t`:                         "",
		`{"task_id":null,"result":"`:            "",
		`["task_id","t`:                         "",
		``:                                      "",
	} {
		if got := answer.TaskID([]byte(line)); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

func TestReadBodyFindsTheError(t *testing.T) {
	t.Parallel()
	type found struct {
		answer.Report
		Found bool
	}
	none := found{}
	for _, tt := range []struct {
		name, body string
		failed     bool
		want       found
	}{
		{"an object", `{"error":{"code":"E1","message":"m"}}`, false, found{answer.Report{Code: "E1", Message: "m"}, true}},
		{"a number as code", `{"error":{"code":40001}}`, false, found{answer.Report{Code: "40001"}, true}},
		{"a text", `{"error":"it broke"}`, false, found{answer.Report{Message: "it broke"}, true}},
		{"a word", `{"error":"E1"}`, false, found{answer.Report{Code: "E1", Message: "E1"}, true}},
		{"a text with a code beside it", `{"error":"x y","code":"E1"}`, false, found{answer.Report{Code: "E1", Message: "x y"}, true}},
		{"a word with a code beside it", `{"error":"gone","code":"E1"}`, false, found{answer.Report{Code: "E1", Message: "gone"}, true}},
		{"a word with a message beside it", `{"error":"E1","message":"m"}`, false, found{answer.Report{Code: "E1", Message: "m"}, true}},
		{
			"an object with a message beside it", `{"error":{"code":"E1"},"message":"m"}`, false,
			found{answer.Report{Code: "E1", Message: "m"}, true},
		},
		{"an object that says nothing we know", `{"error":{"why":1}}`, false, found{answer.Report{}, true}},
		{"an empty object", `{"error":{}}`, false, none},
		{"an empty text", `{"error":""}`, false, none},
		{"null", `{"error":null}`, false, none},
		{"false", `{"error":false}`, false, none},
		{"not on the first level", `{"data":{"error":"x"}}`, false, none},
		{"no object", `["error"]`, true, none},
		{"not JSON", `<html>`, true, none},
		{"code and message of a success", `{"code":"E1","message":"m"}`, false, none},
		{"code and message of a failure", `{"code":"E1","message":"m"}`, true, found{answer.Report{Code: "E1", Message: "m"}, true}},
		{"a code alone", `{"code":7}`, true, found{answer.Report{Code: "7"}, true}},
		{"a message alone", `{"message":"m"}`, true, found{answer.Report{Message: "m"}, true}},
		{"neither", `{"detail":"m"}`, true, none},
	} {
		report, ok := answer.ReadBody([]byte(tt.body), tt.failed)
		if diff := cmp.Diff(tt.want, found{report, ok}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestTheCodeOfAReport(t *testing.T) {
	t.Parallel()
	mapping := map[string]schemas.Code{"E1": schemas.NotFound, "NOT_FOUND": schemas.Aborted, "E2": "NONSENSE", "E3": schemas.Unavailable}
	for _, tt := range []struct {
		name, code, reason string
		want               schemas.Code
		wantReason         string
		again              bool
	}{
		{"the mapping comes first", "NOT_FOUND", "X", schemas.Aborted, "", false},
		{"then the standard names", "OUT_OF_RANGE", "X", schemas.OutOfRange, "", false},
		{"then what the transport says", "E9", "X", schemas.ResourceExhausted, "X", true},
		{"a mapping to nonsense is none", "E2", "X", schemas.ResourceExhausted, "X", true},
		{"a standard name has its one spelling", "not_found", "X", schemas.ResourceExhausted, "X", true},
		{"what agrees with the transport keeps its reason", "RESOURCE_EXHAUSTED", "X", schemas.ResourceExhausted, "X", true},
		{"what can be tried again stays so", "E3", "X", schemas.Unavailable, "", true},
	} {
		base := schemas.NewError(schemas.ResourceExhausted, tt.reason, "busy")
		got := answer.Report{Code: tt.code}.Error(base, mapping)
		if got.Code != tt.want || got.Reason != tt.wantReason || got.Retryable != tt.again {
			t.Errorf("%s: got %s %q, retryable %t", tt.name, got.Code, got.Reason, got.Retryable)
		}
		if raw := string(got.Details["agent_code"]); raw != `"`+tt.code+`"` {
			t.Errorf("%s: agent_code is %s", tt.name, raw)
		}
	}
}

func TestAReportIsCutAndMasked(t *testing.T) {
	t.Parallel()
	const mail = "somebody@example.org"
	report, _ := answer.ReadReport([]byte(`{"code":"E1","message":"no such user ` + mail + `","details":{"user":"` + mail + `",` +
		`"list":["` + mail + `",7],"long":"` + strings.Repeat("x ", 10_000) + `"}}`))
	e := report.Error(schemas.NewError(schemas.Internal, "", "x"), nil)
	e = answer.WithExcerpt(e, []byte(`{"mail":"`+mail+`"}`))
	encoded := string(schemas.MustEncode(e))
	if strings.Contains(encoded, mail) {
		t.Errorf("an e-mail address is there: %s", encoded)
	}
	if len(encoded) > 4<<10 {
		t.Errorf("it has %d bytes", len(encoded))
	}
	var list []any
	if !e.Detail("list", &list) || len(list) != 2 {
		t.Errorf("a masked list is no list any more: %s", e.Details["list"])
	}
}

func TestManyDetailsAreFew(t *testing.T) {
	t.Parallel()
	var details []string
	for n := range 1000 {
		details = append(details, fmt.Sprintf(`"d%d":%d`, n, n))
	}
	report, _ := answer.ReadReport([]byte(`{"details":{` + strings.Join(details, ",") + `}}`))
	if got := len(report.Error(schemas.NewError(schemas.Internal, "", "x"), nil).Details); got > 20 {
		t.Errorf("%d details", got)
	}
}

func TestValue(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"": "null", " \n": "null", "\uFEFF": "null", "\uFEFF [1.0] \r\n": "[1.0]", `{"a": 1e2}`: `{"a": 1e2}`,
		"{": "", "1 2": "", `{"a":1,"a":1}`: "", "\"\xff\"": "", "1e1001": "", strings.Repeat("[", 65) + strings.Repeat("]", 65): "",
	} {
		got, problem := answer.Value([]byte(raw))
		if string(got) != want || (problem != nil) != (want == "") {
			t.Errorf("%.20q: got %q, %v", raw, []byte(got), problem)
		}
		if problem == nil {
			continue
		}
		if problem.Code != schemas.Internal || problem.Reason != schemas.ReasonNotJSON || problem.Details["excerpt"] == nil {
			t.Errorf("%.20q: %s %s with %v", raw, problem.Code, problem.Reason, problem.Details)
		}
	}
}

func TestEndedSaysWhy(t *testing.T) {
	t.Parallel()
	passed, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	for _, tt := range []struct {
		cause error
		want  schemas.Code
	}{
		{worker.ErrCanceled, schemas.Cancelled},
		{worker.ErrStopping, schemas.Cancelled},
		{worker.ErrSuperseded, schemas.Cancelled},
		{worker.ErrRunLimit, schemas.DeadlineExceeded},
		{fmt.Errorf("after 3 s: %w", worker.ErrRunLimit), schemas.DeadlineExceeded},
		{context.Cause(passed), schemas.DeadlineExceeded},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(tt.cause)
		if got := answer.Ended(ctx, schemas.RanNo, true); got.Err.Code != tt.want || got.Ran != schemas.RanNo || !got.Confirmed {
			t.Errorf("%v: got %v, ran %s, confirmed %t", tt.cause, got.Err, got.Ran, got.Confirmed)
		}
	}
}

// FuzzRead: whatever an agent prints, the parts that are read are parts of it and well-formed.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"result":1}`, `{"task_id":"t","chunk":[1,"\u00e9"]}`, `{"error":{"code":1}}`, "\uFEFF{}", `{"a`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		line := answer.Read(raw)
		if line.Kind != answer.Noise && !strings.Contains(string(raw), string(line.Value)) {
			t.Errorf("%q is not in %q", line.Value, raw)
		}
		answer.TaskID(raw)
		if report, found := answer.ReadBody(raw, true); found {
			schemas.MustEncode(report.Error(schemas.NewError(schemas.Internal, "", "x"), nil))
		}
		if value, problem := answer.Value(raw); problem == nil && schemas.Scan(value) != nil {
			t.Errorf("%q passed", raw)
		}
	})
}

func ExampleRead() {
	for _, said := range []string{"summarizer 1.2", `{"level":"info"}`, `{"result":{"summary":"Ships sail."}}`} {
		if line := answer.Read([]byte(said)); line.Kind == answer.Result {
			fmt.Println(string(line.Value))
		}
	}
	// Output: {"summary":"Ships sail."}
}
