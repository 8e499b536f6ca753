package dispatcher

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

func TestTheNumbersOfChunksGoOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		before, after schemas.Assignment
		streamed      streamed
	}{
		{"after an attempt without chunks nothing changes", schemas.Assignment{NextChunk: 4, Restarts: 1}, schemas.Assignment{NextChunk: 4, Restarts: 1}, streamed{}},
		{"after one that was counted they go on", schemas.Assignment{Restarts: 1}, schemas.Assignment{NextChunk: 18}, streamed{last: 17}},
		{"after one that was lost nobody knows", schemas.Assignment{NextChunk: 4}, schemas.Assignment{NextChunk: 4, Restarts: 1}, streamed{uncounted: true}},
		{"nor after two", schemas.Assignment{Restarts: 1}, schemas.Assignment{Restarts: 2}, streamed{uncounted: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.streamed.goOn(&tt.before)
			if diff := cmp.Diff(tt.after, tt.before); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
