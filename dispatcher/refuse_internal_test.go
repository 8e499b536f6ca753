package dispatcher

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

func TestWhoHasNoAgentHearsWhy(t *testing.T) {
	t.Parallel()
	const advice = "; start a worker for it, or submit with wait_for_agent"
	many := []exclusion{{"a", score.WhyVersion}, {"b", score.WhyOffline}, {"c", score.WhySchema}, {"d", score.WhyDraining}, {"e", score.WhyMode}}
	for _, tt := range []struct {
		name    string
		left    []exclusion
		text    string
		details []exclusion
	}{
		{"nobody offers it", nil, "no agent for echo that takes this task is online" + advice, nil},
		{
			"one is left out", many[:1],
			"no agent for echo that takes this task is online: a (version)" + advice, many[:1],
		},
		{
			"many are left out", many,
			"no agent for echo that takes this task is online: a (version), b (offline), c (schema), and 2 more" + advice, many,
		},
		{
			"those whose group may not be reached are not named",
			[]exclusion{{"a", score.WhyGroup}, {"b", score.WhyOffline}},
			"no agent for echo that takes this task is online: b (offline)" + advice, many[1:2],
		},
	} {
		got := noAgent("echo", tt.left)
		want := schemas.NewError(schemas.Unavailable, schemas.ReasonNoAgent, "%s", tt.text)
		if tt.details != nil {
			want = want.With("left_out", tt.details)
		}
		if diff := cmp.Diff(string(schemas.MustEncode(want)), string(schemas.MustEncode(got))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
