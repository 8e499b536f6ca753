package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
)

func TestOutcome(t *testing.T) {
	t.Parallel()
	result := schemas.Payload(`{"ok":true}`)
	failure := func(code schemas.Code, ran schemas.Ran, confirmed bool) error {
		return fmt.Errorf("call the agent: %w", &Failure{Err: failed(code), Ran: ran, Confirmed: confirmed})
	}
	want := func(code schemas.Code, reason string, ran schemas.Ran) schemas.Result {
		return schemas.Result{State: schemas.StateFailed, Ran: ran, Error: &schemas.Error{Code: code, Reason: reason}}
	}
	completed := schemas.Result{State: schemas.StateCompleted, Result: result}
	tests := []struct {
		name   string
		ending ending
		want   schemas.Result
	}{
		{"a result completes the task", ending{fate: returned, result: result}, completed},
		{"a late result counts for more than the run limit", ending{fate: returned, result: result, cause: ErrRunLimit}, completed},
		{"and for more than the worker's end", ending{fate: returned, result: result, cause: ErrStopping}, completed},
		{
			"a result that is no JSON",
			ending{fate: returned, result: schemas.Payload(`{`)},
			want(schemas.Internal, schemas.ReasonNotJSON, schemas.RanYes),
		},
		{
			"an empty result",
			ending{fate: returned, result: schemas.Payload(``)},
			want(schemas.Internal, schemas.ReasonNotJSON, schemas.RanYes),
		},
		{
			"a number that nobody can take",
			ending{fate: returned, result: schemas.Payload(`1e9999`)},
			want(schemas.Internal, "NUMBER_OUT_OF_RANGE", schemas.RanYes),
		},
		{
			"a result as deep as its message allows",
			ending{fate: returned, result: nested(schemas.MaxDepth - 1)},
			schemas.Result{State: schemas.StateCompleted, Result: nested(schemas.MaxDepth - 1)},
		},
		{
			"a result one level deeper",
			ending{fate: returned, result: nested(schemas.MaxDepth)},
			want(schemas.Internal, "JSON_TOO_DEEP", schemas.RanYes),
		},
		{
			"a result that is too large",
			ending{fate: returned, result: schemas.Payload(`"` + strings.Repeat("x", 200) + `"`)},
			want(schemas.ResourceExhausted, schemas.ReasonResultTooLarge, schemas.RanYes),
		},
		{
			"a failure says whether it ran",
			ending{fate: returned, err: failure(schemas.Unavailable, schemas.RanNo, false)},
			want(schemas.Unavailable, "", schemas.RanNo),
		},
		{
			"a failure that does not say has run",
			ending{fate: returned, err: failure(schemas.Internal, "", false)},
			want(schemas.Internal, "", schemas.RanYes),
		},
		{
			"an error of ours counts as run",
			ending{fate: returned, err: failed(schemas.InvalidArgument)},
			want(schemas.InvalidArgument, "", schemas.RanYes),
		},
		{
			"any other error is internal and has run",
			ending{fate: returned, err: errors.New("secret")},
			want(schemas.Internal, "", schemas.RanYes),
		},
		{
			"a failure without an error is internal",
			ending{fate: returned, err: &Failure{}},
			want(schemas.Internal, "", schemas.RanYes),
		},
		{
			"an agent's own code that is mapped",
			ending{fate: returned, err: &schemas.Error{Code: "E1"}},
			want(schemas.NotFound, "", schemas.RanYes),
		},
		{
			"an agent's own code that is not",
			ending{fate: returned, err: &schemas.Error{Code: "E2"}},
			want(schemas.Internal, "", schemas.RanYes),
		},
		{
			"the run limit ends what does not answer",
			ending{fate: returned, err: context.DeadlineExceeded, cause: ErrRunLimit},
			want(schemas.DeadlineExceeded, schemas.ReasonRunLimit, schemas.RanUnknown),
		},
		{
			"an untyped error after the run limit is its work",
			ending{fate: returned, err: errors.New("closed"), cause: ErrRunLimit},
			want(schemas.DeadlineExceeded, schemas.ReasonRunLimit, schemas.RanUnknown),
		},
		{
			"a connection lost by the run limit",
			ending{fate: returned, err: failure(schemas.Unavailable, schemas.RanUnknown, false), cause: ErrRunLimit},
			want(schemas.DeadlineExceeded, schemas.ReasonRunLimit, schemas.RanUnknown),
		},
		{
			"an agent that confirms is known to have run",
			ending{fate: returned, err: failure(schemas.Cancelled, schemas.RanUnknown, true), cause: ErrRunLimit},
			want(schemas.DeadlineExceeded, schemas.ReasonRunLimit, schemas.RanYes),
		},
		{
			"an agent that was never reached has not run",
			ending{fate: returned, err: failure(schemas.DeadlineExceeded, schemas.RanNo, false), cause: ErrRunLimit},
			want(schemas.DeadlineExceeded, schemas.ReasonRunLimit, schemas.RanNo),
		},
		{
			"the agent's own failure counts for more than the run limit",
			ending{fate: returned, err: failure(schemas.InvalidArgument, schemas.RanYes, false), cause: ErrRunLimit},
			want(schemas.InvalidArgument, "", schemas.RanYes),
		},
		{
			"and so does a refusal",
			ending{fate: returned, err: failure(schemas.Unavailable, schemas.RanNo, false), cause: ErrRunLimit},
			want(schemas.Unavailable, "", schemas.RanNo),
		},
		{
			"a handler that does not return",
			ending{fate: givenUp, cause: ErrRunLimit},
			want(schemas.DeadlineExceeded, schemas.ReasonRunLimit, schemas.RanUnknown),
		},
		{
			"a worker that stops knows nothing",
			ending{fate: returned, err: context.Canceled, cause: ErrStopping},
			want(schemas.Unavailable, schemas.ReasonWorkerStopped, schemas.RanUnknown),
		},
		{
			"not even of an agent that confirms",
			ending{fate: returned, err: failure(schemas.Cancelled, schemas.RanYes, true), cause: ErrStopping},
			want(schemas.Unavailable, schemas.ReasonWorkerStopped, schemas.RanUnknown),
		},
		{
			"but that what was not called has not run",
			ending{fate: unstarted, cause: ErrStopping},
			want(schemas.Unavailable, schemas.ReasonWorkerStopped, schemas.RanNo),
		},
		{"a goroutine that ended", ending{fate: gone}, want(schemas.Internal, "", schemas.RanYes)},
	}
	mapping := map[string]schemas.Code{"E1": schemas.NotFound}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.ending.outcome(150, mapping)
			compareResult(t, tt.want, got)
			if got.Error != nil && strings.Contains(got.Error.Message, "secret") {
				t.Error("the text of an untyped error goes out")
			}
			if err := schemas.Accept(schemas.MustEncode(got), new(schemas.Result)); err != nil {
				t.Errorf("a dispatcher cannot read it: %v", err)
			}
		})
	}
}

func nested(depth int) schemas.Payload {
	return schemas.Payload(strings.Repeat("[", depth) + strings.Repeat("]", depth))
}

func TestWhichAgentsMayStillBeAtWork(t *testing.T) {
	t.Parallel()
	unknown := &Failure{Err: schemas.NewError(schemas.Cancelled, "", "stopped"), Ran: schemas.RanUnknown}
	dead := &Failure{Err: unknown.Err, Ran: schemas.RanUnknown, Stopped: true}
	confirmed := &Failure{Err: unknown.Err, Ran: schemas.RanUnknown, Confirmed: true}
	never := &Failure{Err: unknown.Err, Ran: schemas.RanNo}
	for _, tt := range []struct {
		name   string
		ending ending
		want   bool
	}{
		{"one that was cut off at the run limit", ending{fate: returned, err: unknown, cause: ErrRunLimit}, true},
		{"one whose task was canceled", ending{fate: returned, err: unknown, cause: ErrCanceled}, true},
		{"not one that confirmed", ending{fate: returned, err: confirmed, cause: ErrRunLimit}, false},
		{"not one that is dead", ending{fate: returned, err: dead, cause: ErrRunLimit}, false},
		{"not one that was never asked", ending{fate: returned, err: never, cause: ErrRunLimit}, false},
		{"not one that has answered", ending{fate: returned, cause: ErrRunLimit}, false},
		{"not a handler that returned", ending{fate: returned, err: context.Canceled, cause: ErrCanceled}, false},
		{"not one whose connection broke by itself", ending{fate: returned, err: unknown}, false},
		{"not one that was not called", ending{fate: unstarted, cause: ErrStopping}, false},
	} {
		if got := tt.ending.lingers(); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

func TestWhichEndingsADispatcherHears(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		ending    ending
		matters   bool
		confirmed bool
	}{
		{"a result", ending{fate: returned}, true, false},
		{"the run limit", ending{fate: returned, cause: ErrRunLimit}, true, false},
		{"the end of the worker", ending{fate: givenUp, cause: ErrStopping}, true, false},
		{"not a canceled task", ending{fate: returned, cause: ErrCanceled}, false, false},
		{"not one that moved on", ending{fate: returned, cause: ErrSuperseded}, false, false},
		{"not one without the right to run", ending{fate: skipped}, false, true},
		{"one that was not called", ending{fate: unstarted, cause: ErrStopping}, true, true},
		{"one that confirms", ending{fate: returned, err: &Failure{Confirmed: true}, cause: ErrRunLimit}, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.ending.matters() != tt.matters || tt.ending.confirmed() != tt.confirmed {
				t.Errorf("matters %v, confirmed %v", tt.ending.matters(), tt.ending.confirmed())
			}
		})
	}
}

func TestErrorsAreTidy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		e    schemas.Error
		want schemas.Error
	}{
		{"a good one stays as it is", *failed(schemas.NotFound), *failed(schemas.NotFound)},
		{
			"an own code stays visible",
			schemas.Error{Code: "E\xff", Message: "a\xffb"},
			schemas.Error{
				Code: schemas.Internal, Message: "a\uFFFDb", Details: map[string]jsontext.Value{"agent_code": jsontext.Value("\"E\uFFFD\"")},
			},
		},
		{
			"details that are no JSON go",
			schemas.Error{Code: schemas.Internal, Details: map[string]jsontext.Value{"x": jsontext.Value(`{`)}},
			schemas.Error{Code: schemas.Internal},
		},
		{
			"details that are too large go, but the origin",
			schemas.Error{Code: schemas.Internal, Details: map[string]jsontext.Value{
				"x": jsontext.Value(`"` + strings.Repeat("x", 30<<10) + `"`), "origin": jsontext.Value(`"agent"`),
			}},
			schemas.Error{Code: schemas.Internal, Details: map[string]jsontext.Value{"origin": jsontext.Value(`"agent"`)}},
		},
		{
			"a long message is cut",
			schemas.Error{Code: schemas.Internal, Message: strings.Repeat("é", 4<<10)},
			schemas.Error{Code: schemas.Internal, Message: strings.Repeat("é", 2<<10)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			given := tt.e
			got := tidy(&tt.e, nil)
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(given, tt.e); diff != "" {
				t.Errorf("the handler's own error was changed:\n%s", diff)
			}
		})
	}
}
