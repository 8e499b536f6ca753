package dispatcher

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/schemas"
)

func TestARefusedOccurrenceIsLoggedWhenItIsNews(t *testing.T) {
	t.Parallel()
	full := schemas.NewError(schemas.ResourceExhausted, schemas.ReasonQueueFull, "100 wait")
	for _, tt := range []struct {
		name   string
		before *schemas.Error
		want   zerolog.Level
	}{
		{"the one before went well", nil, zerolog.WarnLevel},
		{"the one before was refused for another reason", schemas.NewError(schemas.NotFound, "", "no such capability"), zerolog.WarnLevel},
		{"the one before was refused likewise", schemas.NewError(schemas.ResourceExhausted, schemas.ReasonQueueFull, "99 wait"), zerolog.DebugLevel},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := refusalLevel(tt.before, full); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
