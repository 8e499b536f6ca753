package schemas_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

func TestErrorsThatARepeatMayCure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		code   schemas.Code
		reason string
		want   bool
	}{
		{"nobody is there", schemas.Unavailable, schemas.ReasonNoAgent, true},
		{"all are busy", schemas.ResourceExhausted, schemas.ReasonBusy, true},
		{"too large an input stays too large", schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge, false},
		{"too large a result stays too large", schemas.ResourceExhausted, schemas.ReasonResultTooLarge, false},
		{"a wrong input stays wrong", schemas.InvalidArgument, "", false},
		{"an unknown outcome is for a person", schemas.Aborted, schemas.ReasonOutcomeUnknown, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := schemas.NewError(tt.code, tt.reason, "").Retryable; got != tt.want {
				t.Errorf("retryable: %t", got)
			}
		})
	}
}

func TestAsError(t *testing.T) {
	t.Parallel()
	ours := schemas.NewError(schemas.NotFound, schemas.ReasonUnknownTask, "no such task")
	tests := []struct {
		name string
		err  error
		want *schemas.Error
	}{
		{"nothing is nothing", nil, nil},
		{"ours as it is", ours, ours},
		{"ours within others", fmt.Errorf("get: %w", errors.Join(errors.New("x"), ours)), ours},
		{
			"a stranger's text stays inside",
			errors.New("dial nats://user:hunter2@broker"),
			&schemas.Error{
				Code:    schemas.Internal,
				Message: "an internal error; the log of the process that answered says more",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, schemas.AsError(tt.err)); diff != "" {
				t.Errorf("AsError (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorDetails(t *testing.T) {
	t.Parallel()
	e := schemas.NewError(schemas.NotFound, schemas.ReasonUnknownCapability, "%q is not a capability", "summrize").
		With("nearest", "summarize").With("available", []string{"echo", "summarize"}).With("broken", math.Inf(1))
	const want = `{"code":"NOT_FOUND","reason":"UNKNOWN_CAPABILITY","message":"\"summrize\" is not a capability","retryable":false,` +
		`"details":{"available":["echo","summarize"],"nearest":"summarize"}}`
	if got := string(schemas.MustEncode(e)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var nearest string
	if !e.Detail("nearest", &nearest) || nearest != "summarize" {
		t.Errorf("nearest: %q", nearest)
	}
	if e.Detail("available", &nearest) || e.Detail("broken", &nearest) {
		t.Error("a detail of another type, or an absent one, is given out")
	}
	if got := e.Error(); got != `NOT_FOUND: "summrize" is not a capability` {
		t.Errorf("Error() = %s", got)
	}
}

func TestCodes(t *testing.T) {
	t.Parallel()
	seen := make(map[schemas.Code]bool)
	for _, code := range schemas.Codes {
		if !code.Standard() || seen[code] {
			t.Errorf("%s is not standard, or is there twice", code)
		}
		seen[code] = true
	}
	if len(schemas.Codes) != 16 {
		t.Errorf("%d codes; gRPC has 16 beside OK", len(schemas.Codes))
	}
	for _, strange := range []schemas.Code{"", "OK", "CANCELED", "not_found", "E40001"} {
		if strange.Standard() {
			t.Errorf("%q passes for a standard code", strange)
		}
	}
}
