package dispatcher

import (
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

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
