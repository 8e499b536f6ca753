package dispatcher

import (
	"fmt"
	"testing"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

func TestABeginIsSupersededOnlyByWhatIsKnown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		why  *schemas.Error
		want schemas.Outcome
	}{
		{"another process serves the agent", schemas.NewError(schemas.FailedPrecondition, "SUPERSEDED", "x"), schemas.OutcomeSuperseded},
		{"there is no such agent", unknownAgent(), schemas.OutcomeSuperseded},
		{"the registry has no leader just now", refusal(fmt.Errorf("get: %w", broker.ErrNoResponders)), schemas.OutcomeTryAgain},
	} {
		if got := unproven(tt.why); got.Outcome != tt.want || got.Error != tt.why {
			t.Errorf("%s: %+v, want %s", tt.name, got, tt.want)
		}
	}
}
