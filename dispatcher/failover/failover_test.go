package failover

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

func TestWhatBecomesOfATaskAfterAFailedAttempt(t *testing.T) {
	t.Parallel()
	unavailable := schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "")
	busy := schemas.NewError(schemas.ResourceExhausted, "", "")
	tooLarge := schemas.NewError(schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge, "")
	invalid := schemas.NewError(schemas.InvalidArgument, "", "")
	limit := schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonRunLimit, "")
	agentsLimit := schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonRunLimit, "").With("origin", "agent")
	tests := []struct {
		name string
		f    Failure
		want Verdict
	}{
		{"an agent that was not reached: another is asked at once", Failure{unavailable, schemas.RanNo, false, 1, 3, true, false}, Moves},
		{"nobody else is there: the same again, later", Failure{unavailable, schemas.RanNo, false, 1, 3, false, false}, Waits},
		{"after the last attempt it ends", Failure{unavailable, schemas.RanNo, true, 3, 3, true, false}, Ends},
		{"a busy agent is not asked again at once", Failure{busy, schemas.RanNo, false, 1, 3, false, false}, Waits},
		{"what is too large stays too large", Failure{tooLarge, schemas.RanNo, true, 1, 3, true, false}, Ends},
		{"a refused payload is the agent's answer", Failure{invalid, schemas.RanNo, true, 1, 3, true, false}, Ends},
		{"a failure of the agent itself is its answer", Failure{unavailable, schemas.RanYes, true, 1, 3, true, false}, Ends},
		{"side effects are not repeated", Failure{limit, schemas.RanUnknown, false, 1, 3, true, false}, Aborts},
		{"not even at the last attempt", Failure{limit, schemas.RanUnknown, false, 3, 3, false, false}, Aborts},
		{"an idempotent task over its run limit goes to the next of the chain", Failure{limit, schemas.RanUnknown, true, 1, 3, true, false}, Moves},
		{"so does one whose agent has confirmed that it stopped there", Failure{limit, schemas.RanYes, true, 1, 3, true, false}, Moves},
		{"where nobody else is there, that was its time", Failure{limit, schemas.RanYes, true, 1, 3, false, false}, Ends},
		{"and after the last attempt too", Failure{limit, schemas.RanYes, true, 3, 3, true, false}, Ends},
		{"with side effects, an agent that confirmed ends it", Failure{limit, schemas.RanYes, false, 1, 3, true, false}, Ends},
		{"an agent that says so itself has answered", Failure{agentsLimit, schemas.RanYes, true, 1, 3, true, false}, Ends},
		{"a task that nobody of its target can run turns to its fallback", Failure{unavailable, schemas.RanNo, false, 1, 3, false, true}, Turns},
		{"another agent of the target goes before the fallback", Failure{unavailable, schemas.RanNo, false, 1, 3, true, true}, Moves},
		{"after the last attempt there is still the fallback", Failure{unavailable, schemas.RanNo, false, 3, 3, true, true}, Turns},
		{"an agent's own answer turns to no fallback", Failure{invalid, schemas.RanNo, false, 1, 3, false, true}, Ends},
		{"and ends with its error at the end of the chain", Failure{limit, schemas.RanUnknown, true, 1, 3, false, false}, Ends},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.f.Verdict(); got != tt.want {
				t.Errorf("got verdict %d, want %d", got, tt.want)
			}
		})
	}
}

func TestWhatBecomesOfATaskWhoseAgentHasGone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		l       Loss
		want    Verdict
		attempt int
	}{
		{"never begun, with side effects: it moves, and cost nothing", Loss{schemas.PhaseAssigned, false, true, 0, 1, 3}, Moves, 1},
		{"never heard of: it moves, and cost nothing", Loss{schemas.PhaseAssigned, true, false, 0, 1, 3}, Moves, 1},
		{"never heard of at the seventh agent: it moves", Loss{schemas.PhaseAssigned, true, false, 6, 1, 3}, Moves, 1},
		{"never heard of at the eighth: it stops", Loss{schemas.PhaseAssigned, true, false, 7, 1, 3}, Ends, 1},
		{"running and idempotent: it runs again", Loss{schemas.PhaseAssigned, true, true, 0, 1, 3}, Moves, 2},
		{"running, idempotent and poisonous: it stops", Loss{schemas.PhaseAssigned, true, true, 0, 3, 3}, Ends, 4},
		{"begun with side effects: nobody runs it again", Loss{schemas.PhaseBegun, false, true, 0, 1, 3}, Aborts, 1},
		{"begun and idempotent: it runs again", Loss{schemas.PhaseBegun, true, true, 0, 1, 3}, Moves, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.l.Verdict(); got != tt.want {
				t.Errorf("got verdict %d, want %d", got, tt.want)
			}
			if got := tt.l.NextAttempt(); got != tt.attempt {
				t.Errorf("got attempt %d, want %d", got, tt.attempt)
			}
		})
	}
}

func TestBackoffGrowsAndIsBounded(t *testing.T) {
	t.Parallel()
	const base, limit = 500 * time.Millisecond, 30 * time.Second
	none, all := func() float64 { return 0 }, func() float64 { return 1 }
	for n := range 5 {
		slowest, next := Backoff(base, limit, n, all), Backoff(base, limit, n+1, none)
		if slowest > next {
			t.Errorf("the longest gap %d (%v) is longer than the shortest gap %d (%v)", n, slowest, n+1, next)
		}
	}
	for _, n := range []int{-1, 0, 6, 7, 63, 1000} {
		if got := Backoff(base, limit, n, all); got < base || got > limit {
			t.Errorf("retry %d waits %v, want %v to %v", n, got, base, limit)
		}
	}
}

// A hundred tasks fail at once, and each is tried four times more: in no tenth of a second is more than a fifth of all retries due.
func TestTheRetriesOfABurstAreSpread(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		due, total, most := make(map[time.Duration]int), 0, 0
		for range 100 {
			at := time.Duration(0)
			for n := range 4 {
				at += Backoff(500*time.Millisecond, 30*time.Second, n, random.Float64)
				due[at/(100*time.Millisecond)]++
				total++
				most = max(most, due[at/(100*time.Millisecond)])
			}
		}
		if most > total/5 {
			t.Errorf("seed %d: %d of %d retries are due in the same tenth of a second", seed, most, total)
		}
	}
}
