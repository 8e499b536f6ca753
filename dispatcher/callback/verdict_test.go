package callback_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/dispatcher/callback"
	"github.com/agentreach/agent-reach/schemas"
)

func TestAfterACall(t *testing.T) {
	t.Parallel()
	down := schemas.NewError(schemas.Unavailable, "BAD_STATUS", "the receiver answered 500")
	gone := &schemas.Error{Code: schemas.FailedPrecondition, Reason: "GONE", Message: "it wants no more"}
	policy := callback.Policy{
		Attempts: 3, Longest: time.Minute, Pause: func(attempt int) time.Duration { return time.Duration(attempt) * 10 * time.Second },
	}
	const url = "https://example.org/hook"
	waiting := func(attempts, status int, in time.Duration, e *schemas.Error) schemas.Callback {
		return schemas.Callback{
			State: schemas.CallbackWaiting, URL: url, Attempts: attempts, Status: status, NextAt: schemas.At(start.Add(in)), Error: e,
		}
	}
	fresh := schemas.Callback{State: schemas.CallbackWaiting, URL: url}
	tests := []struct {
		name   string
		before schemas.Callback
		result callback.Result
		until  time.Duration
		want   schemas.Callback
	}{
		{
			"what is taken is delivered", waiting(1, 500, 0, down),
			callback.Result{Status: 204},
			time.Hour,
			schemas.Callback{State: schemas.CallbackDelivered, URL: url, Attempts: 2, Status: 204, DeliveredAt: schemas.At(start)},
		},
		{"a failure is tried again", fresh, callback.Result{Status: 500, Error: down}, time.Hour, waiting(1, 500, 10*time.Second, down)},
		{"the pauses are the policy's", waiting(1, 0, 0, down), callback.Result{Error: down}, time.Hour, waiting(2, 0, 20*time.Second, down)},
		{
			"a receiver may ask for more time", fresh,
			callback.Result{Status: 429, Error: down, RetryAfter: 40 * time.Second},
			time.Hour,
			waiting(1, 429, 40*time.Second, down),
		},
		{
			"but not for less", fresh,
			callback.Result{Status: 429, Error: down, RetryAfter: time.Second},
			time.Hour,
			waiting(1, 429, 10*time.Second, down),
		},
		{
			"nor for ever", fresh,
			callback.Result{Status: 503, Error: down, RetryAfter: 24 * time.Hour},
			time.Hour,
			waiting(1, 503, time.Minute, down),
		},
		{
			"the last attempt is the last", waiting(2, 0, 0, down),
			callback.Result{Status: 500, Error: down},
			time.Hour,
			schemas.Callback{State: schemas.CallbackFailed, URL: url, Attempts: 3, Status: 500, Error: down},
		},
		{
			"who wants no more gets no more", fresh,
			callback.Result{Status: 410, Error: gone},
			time.Hour,
			schemas.Callback{State: schemas.CallbackFailed, URL: url, Attempts: 1, Status: 410, Error: gone},
		},
		{
			"nothing is promised beyond the record", fresh,
			callback.Result{Status: 500, Error: down},
			5 * time.Second,
			schemas.Callback{State: schemas.CallbackFailed, URL: url, Attempts: 1, Status: 500, Error: down},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := callback.After(tt.before, tt.result, policy, start, start.Add(tt.until))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestAgain(t *testing.T) {
	t.Parallel()
	failed := schemas.Callback{
		State: schemas.CallbackFailed, URL: "https://example.org/", Attempts: 12, Status: 500, Error: schemas.NewError(schemas.Unavailable, "", "x"),
	}
	want := schemas.Callback{State: schemas.CallbackWaiting, URL: "https://example.org/", NextAt: schemas.At(start)}
	if diff := cmp.Diff(want, callback.Again(failed, start)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
