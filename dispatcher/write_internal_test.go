package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

func TestWhatCallersAreToldOfAWriteThatFailed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		err    error
		code   schemas.Code
		reason string
	}{
		{"nobody knows whether it is stored", fmt.Errorf("write: %w", broker.ErrUnknownOutcome), schemas.Unavailable, schemas.ReasonOutcomeUnknown},
		{"the dispatcher was stopped meanwhile", fmt.Errorf("read key: %w", context.Canceled), schemas.Unavailable, schemas.ReasonOutcomeUnknown},
		{"the broker is away", fmt.Errorf("write: %w", broker.ErrDisconnected), schemas.Unavailable, schemas.ReasonBrokerOutage},
		{"the broker has no leader", fmt.Errorf("write: %w", broker.ErrNotNow), schemas.Unavailable, schemas.ReasonBrokerOutage},
		{"there was no answer in time", context.DeadlineExceeded, schemas.Unavailable, schemas.ReasonBrokerOutage},
		{"anything else is not told", errors.New("secret"), schemas.Internal, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := refusal(tt.err); got.Code != tt.code || got.Reason != tt.reason || got.Retryable != (tt.code == schemas.Unavailable) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAPhaseNeverEndsBeforeAnEarlierOne(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	forget := now.Add(time.Hour)
	if got := ttl(forget, now, 0); got != time.Hour {
		t.Errorf("the first phase is kept until the task is forgotten: got %v", got)
	}
	if got := ttl(forget, now.Add(10*time.Minute), time.Hour); got != time.Hour {
		t.Errorf("a later phase is kept at least as long as the earlier: got %v", got)
	}
	if got := ttl(forget, now.Add(2*time.Hour), 0); got != minTTL {
		t.Errorf("got %v, want the least that the broker takes", got)
	}
}
