package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"testing"

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
