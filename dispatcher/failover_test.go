package dispatcher

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
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
		f    failure
		want verdict
	}{
		{"an agent that was not reached: another is asked at once", failure{unavailable, schemas.RanNo, false, 1, 3, true, false}, moves},
		{"nobody else is there: the same again, later", failure{unavailable, schemas.RanNo, false, 1, 3, false, false}, waits},
		{"after the last attempt it ends", failure{unavailable, schemas.RanNo, true, 3, 3, true, false}, ends},
		{"a busy agent is not asked again at once", failure{busy, schemas.RanNo, false, 1, 3, false, false}, waits},
		{"what is too large stays too large", failure{tooLarge, schemas.RanNo, true, 1, 3, true, false}, ends},
		{"a refused payload is the agent's answer", failure{invalid, schemas.RanNo, true, 1, 3, true, false}, ends},
		{"a failure of the agent itself is its answer", failure{unavailable, schemas.RanYes, true, 1, 3, true, false}, ends},
		{"side effects are not repeated", failure{limit, schemas.RanUnknown, false, 1, 3, true, false}, aborts},
		{"not even at the last attempt", failure{limit, schemas.RanUnknown, false, 3, 3, false, false}, aborts},
		{"an idempotent task over its run limit goes to the next of the chain", failure{limit, schemas.RanUnknown, true, 1, 3, true, false}, moves},
		{"so does one whose agent has confirmed that it stopped there", failure{limit, schemas.RanYes, true, 1, 3, true, false}, moves},
		{"where nobody else is there, that was its time", failure{limit, schemas.RanYes, true, 1, 3, false, false}, ends},
		{"and after the last attempt too", failure{limit, schemas.RanYes, true, 3, 3, true, false}, ends},
		{"with side effects, an agent that confirmed ends it", failure{limit, schemas.RanYes, false, 1, 3, true, false}, ends},
		{"an agent that says so itself has answered", failure{agentsLimit, schemas.RanYes, true, 1, 3, true, false}, ends},
		{"a task that nobody of its target can run turns to its fallback", failure{unavailable, schemas.RanNo, false, 1, 3, false, true}, turns},
		{"another agent of the target goes before the fallback", failure{unavailable, schemas.RanNo, false, 1, 3, true, true}, moves},
		{"after the last attempt there is still the fallback", failure{unavailable, schemas.RanNo, false, 3, 3, true, true}, turns},
		{"an agent's own answer turns to no fallback", failure{invalid, schemas.RanNo, false, 1, 3, false, true}, ends},
		{"and ends with its error at the end of the chain", failure{limit, schemas.RanUnknown, true, 1, 3, false, false}, ends},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := afterFailure(tt.f); got != tt.want {
				t.Errorf("got verdict %d, want %d", got, tt.want)
			}
		})
	}
}

func TestWhatBecomesOfATaskWhoseAgentHasGone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		l       loss
		want    verdict
		attempt int
	}{
		{"never begun, with side effects: it moves, and cost nothing", loss{schemas.PhaseAssigned, false, true, 0, 1, 3}, moves, 1},
		{"never heard of: it moves, and cost nothing", loss{schemas.PhaseAssigned, true, false, 0, 1, 3}, moves, 1},
		{"never heard of at the seventh agent: it moves", loss{schemas.PhaseAssigned, true, false, 6, 1, 3}, moves, 1},
		{"never heard of at the eighth: it stops", loss{schemas.PhaseAssigned, true, false, 7, 1, 3}, ends, 1},
		{"running and idempotent: it runs again", loss{schemas.PhaseAssigned, true, true, 0, 1, 3}, moves, 2},
		{"running, idempotent and poisonous: it stops", loss{schemas.PhaseAssigned, true, true, 0, 3, 3}, ends, 4},
		{"begun with side effects: nobody runs it again", loss{schemas.PhaseBegun, false, true, 0, 1, 3}, aborts, 1},
		{"begun and idempotent: it runs again", loss{schemas.PhaseBegun, true, true, 0, 1, 3}, moves, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := afterLoss(tt.l); got != tt.want {
				t.Errorf("got verdict %d, want %d", got, tt.want)
			}
			if got := tt.l.nextAttempt(); got != tt.attempt {
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
		slowest, next := backoff(base, limit, n, all), backoff(base, limit, n+1, none)
		if slowest > next {
			t.Errorf("the longest gap %d (%v) is longer than the shortest gap %d (%v)", n, slowest, n+1, next)
		}
	}
	for _, n := range []int{-1, 0, 6, 7, 63, 1000} {
		if got := backoff(base, limit, n, all); got < base || got > limit {
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
				at += backoff(500*time.Millisecond, 30*time.Second, n, random.Float64)
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

func TestAnAgentIsUnhealthyOnlyAfterSilenceOfAllKinds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	j := judgement{now: now, ttl: 45 * time.Second, grace: 5 * time.Second, from: now.Add(-time.Hour)}
	tests := []struct {
		name string
		a    agent
		j    judgement
		want schemas.AgentState
	}{
		{"heard just now", agent{heard: now}, j, schemas.AgentOnline},
		{"silent, but not for the whole TTL", agent{heard: now.Add(-44 * time.Second)}, j, schemas.AgentOnline},
		{"silent for the whole TTL", agent{heard: now.Add(-45 * time.Second)}, j, schemas.AgentOffline},
		{"never heard since a start long ago", agent{}, j, schemas.AgentOffline},
		{"never heard, and the dispatcher has just started", agent{}, judgement{now, j.ttl, j.grace, now.Add(45 * time.Second)}, schemas.AgentOnline},
		{"said goodbye", agent{heard: now, goodbye: true}, j, schemas.AgentOffline},
		{"nobody answers for it", agent{heard: now, gone: now}, j, schemas.AgentOffline},
		{"is not well", agent{heard: now, beat: schemas.Heartbeat{Capabilities: []string{}}}, j, schemas.AgentDegraded},
		{"was not well when it said goodbye", agent{heard: now, goodbye: true, beat: schemas.Heartbeat{Capabilities: []string{}}}, j, schemas.AgentOffline},
		{"drains", agent{heard: now, beat: schemas.Heartbeat{State: schemas.AgentDraining}}, j, schemas.AgentDraining},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.a.record.Registration.InstanceID = "driven"
			if got := tt.a.state(tt.j); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	gone := agent{heard: now, gone: now.Add(-4 * time.Second)}
	gone.record.Registration.InstanceID = "driven"
	if gone.dead(j) {
		t.Error("a disconnect is a grace of 5 s before it is a death")
	}
	gone.gone = now.Add(-5 * time.Second)
	if !gone.dead(j) {
		t.Error("after the grace it is a death")
	}
}

func TestAnAgentThatHasPostedItselfIsAwaitedForAWhile(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	j := judgement{now: now, ttl: 45 * time.Second, grace: 5 * time.Second, from: now.Add(-time.Hour)}
	post := schemas.Registration{AgentID: "parrot", Adopt: true, Capabilities: []schemas.Offer{{ID: "echo"}}}
	own := schemas.Registration{AgentID: "parrot", Capabilities: []schemas.Offer{{ID: "echo"}}}
	driven := post
	driven.InstanceID = "driven"
	tests := []struct {
		name   string
		r      schemas.Registration
		state  schemas.AgentState
		posted time.Time
		want   bool
	}{
		{"nobody drives it yet", post, schemas.AgentOnline, now, true},
		{"nobody has for a while", post, schemas.AgentOnline, now.Add(-3 * time.Second), false},
		{"it is driven", driven, schemas.AgentOnline, now, false},
		{"nobody may drive it", own, schemas.AgentOnline, now, false},
		{"nobody has approved it", post, schemas.AgentPending, now, false},
	}
	for _, tt := range tests {
		r := newRoster()
		r.complete = true
		r.put(broker.AgentRecord{Registration: tt.r, State: tt.state, RegisteredAt: schemas.At(tt.posted)}, 1, nil, tt.posted)
		if got := r.comes("echo", j); got != tt.want {
			t.Errorf("%s: it comes %v, want %v", tt.name, got, tt.want)
		}
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
