package dispatcher_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentreach/agent-reach/schemas"
)

// furnished is a task with all that only its agent needs.
func furnished() schemas.ReachMessage {
	m := echo(`{"n":1}`)
	m.WaitForAgent, m.Tags = true, []string{"notes"}
	m.Metadata, m.Unknown = []byte(`{"session_id":"s-1"}`), []byte(`{"x_colour":"blue"}`)
	return m
}

// needs is what an agent must get of a task, however it came to it.
func needs(m schemas.ReachMessage) schemas.ReachMessage {
	return schemas.ReachMessage{Payload: m.Payload, Tags: m.Tags, Metadata: m.Metadata, Unknown: m.Unknown}
}

func wantWhole(t *testing.T, got schemas.ReachMessage, hops ...string) {
	t.Helper()
	if diff := cmp.Diff(needs(furnished()), needs(got), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the agent does not get the whole task:\n%s", diff)
	}
	var names []string
	for _, hop := range got.Hops {
		names = append(names, hop.Hop)
	}
	if !slices.Equal(names, hops) {
		t.Errorf("got the hops %v, want %v", names, hops)
	}
}

func TestATaskThatWaitedReachesItsAgentWhole(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick(), quick())
	h.submit(furnished())
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	w.keepBeating()
	wantWhole(t, w.next().message, "submitted", "routed", "published", "routed")
}

func TestATaskThatHadBegunMovesWhole(t *testing.T) {
	t.Parallel()
	h := mortal(t, 1)
	first := newScripted(h, "laptop-1", offer{"echo", 1})
	first.keepBeating()
	h.submit(furnished())
	a := first.next()
	if answer := first.begin(a); answer.Outcome != schemas.OutcomeStored {
		t.Fatalf("begin: got %+v", answer)
	}
	second := newScripted(h, "laptop-2", offer{"echo", 1})
	second.keepBeating()
	first.vanish()
	wantWhole(t, second.next().message, "submitted", "routed", "published", "routed")
}

func TestATaskThatExpiresWhileItWaitsKeepsItsHops(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	task := h.wait(h.brief(furnished(), 300*time.Millisecond).TaskID)
	if task.State != schemas.StateFailed || task.Error.Reason != schemas.ReasonExpired {
		t.Fatalf("got %s with %v", task.State, task.Error)
	}
	trace, err := h.any().Trace(t.Context(), schemas.DefaultTenant, task.TaskID)
	check(t, err)
	if len(trace.Hops) < 3 || trace.Hops[0].Hop != schemas.HopSubmitted {
		t.Errorf("got the hops %+v", trace.Hops)
	}
}
