package mqttfront

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

// newLonelySession is one of a phone that serves echo, at a broker without a dispatcher: nothing that it asks for is ever answered.
func newLonelySession(t *testing.T) *session {
	t.Helper()
	b, err := New(Config{Conn: brokertest.New(t).Conn(t), Service: struct{ front.Service }{}, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	b.life = context.Background()
	r := &schemas.Registration{AgentID: "phone", InstanceID: "app-1", Capabilities: []schemas.Offer{{ID: "echo"}}, MaxConcurrency: 2}
	b.agents["phone"] = r
	s := newSession(b, &device{name: "phone"}, nil)
	s.attendance = &attendance{
		registration: r, words: wordsOf(r), hand: newHand(r, time.Minute, time.Minute),
		streams: make(map[string]*stream), stopping: make(map[string]*stopping),
	}
	return s
}

// ledgerEntry writes the next entry of a task.
func ledgerEntry(t *testing.T, s *session, previous broker.Entry, phase schemas.Phase, agent string) broker.Entry {
	t.Helper()
	e := broker.Entry{
		TaskID: previous.TaskID, Previous: previous.Sequence, Phase: phase, Capability: "echo", Agent: agent, TTL: time.Hour,
		Body: fmt.Appendf(nil, `{"v":1,"task_id":%q,"capability":"echo","payload":{},"assignment":{"agent_id":%q}}`, previous.TaskID, agent),
	}
	stored, err := s.b.conn.Ledger().Write(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func TestWhatCannotBeGivenBackComesAgain(t *testing.T) {
	t.Parallel()
	s := newLonelySession(t)
	e := ledgerEntry(t, s, broker.Entry{TaskID: schemas.NewTaskID()}, schemas.PhaseAssigned, "phone")
	s.attendance.draining = true
	s.offer(e)
	if s.given(e.TaskID) != nil {
		t.Fatal("a phone that drains is given a task")
	}
	s.attendance.draining = false
	s.offer(e)
	if s.given(e.TaskID) == nil {
		t.Error("the task was given back, nobody has heard that, and it is not taken again")
	}
}

func TestATaskIsAnothersOnlyIfTheLedgerSaysSo(t *testing.T) {
	t.Parallel()
	s := newLonelySession(t)
	for name, tt := range map[string]struct {
		then func(assigned broker.Entry) // after the task was assigned to the phone
		told schemas.Outcome
		want schemas.Outcome
	}{
		"it is with the phone": {nil, schemas.OutcomeSuperseded, schemas.OutcomeTryAgain},
		"the phone has begun it": {
			func(e broker.Entry) { ledgerEntry(t, s, e, schemas.PhaseBegun, "phone") },
			schemas.OutcomeSuperseded, schemas.OutcomeTryAgain,
		},
		"it has gone to another": {
			func(e broker.Entry) { ledgerEntry(t, s, e, schemas.PhaseAssigned, "laptop") },
			schemas.OutcomeSuperseded, schemas.OutcomeSuperseded,
		},
		"it has come back in another attempt": {
			func(e broker.Entry) { ledgerEntry(t, s, e, schemas.PhaseAssigned, "phone") },
			schemas.OutcomeSuperseded, schemas.OutcomeSuperseded,
		},
		"it has ended": {
			func(e broker.Entry) { ledgerEntry(t, s, e, schemas.PhaseDone, "phone") },
			schemas.OutcomeSuperseded, schemas.OutcomeSuperseded,
		},
		"nobody says that it is another's": {nil, schemas.OutcomeAlreadyYours, schemas.OutcomeAlreadyYours},
	} {
		e := ledgerEntry(t, s, broker.Entry{TaskID: schemas.NewTaskID()}, schemas.PhaseAssigned, "phone")
		if tt.then != nil {
			tt.then(e)
		}
		if got := s.certain(tt.told, e.TaskID, e.Sequence); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
	if got := s.certain(schemas.OutcomeSuperseded, schemas.NewTaskID(), 1); got != schemas.OutcomeSuperseded {
		t.Errorf("a task that is not there: got %s", got)
	}
}

// TestWhatADeviceHasStopped: that its run limit is over cannot be written down here, so the device is told to say it again.
func TestWhatADeviceHasStopped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		knows    bool // the session was told of the task
		stopping bool // and has told the phone to stop
		canceled bool // the task, meanwhile
		say      func(sequence uint64) uint64
		want     schemas.Outcome
		given    bool // afterwards
	}{
		"its run limit is over":                      {true, true, false, same, schemas.OutcomeTryAgain, true},
		"and it does not say which attempt":          {true, true, false, none, schemas.OutcomeTryAgain, true},
		"another process has told it to stop":        {true, false, false, same, schemas.OutcomeTryAgain, true},
		"and this one did not know of the task":      {false, false, false, same, schemas.OutcomeTryAgain, true},
		"it was canceled by somebody else":           {true, false, true, same, schemas.OutcomeStored, false},
		"it was canceled at its run limit":           {true, true, true, none, schemas.OutcomeStored, false},
		"a word about an older attempt":              {true, false, false, older, schemas.OutcomeStored, true},
		"a word about any attempt":                   {true, false, false, none, schemas.OutcomeStored, true},
		"an older attempt of a task not known":       {false, false, false, older, schemas.OutcomeStored, false},
		"a task of which nothing is known, any time": {false, false, false, none, schemas.OutcomeStored, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLonelySession(t)
			e := ledgerEntry(t, s, broker.Entry{TaskID: schemas.NewTaskID()}, schemas.PhaseAssigned, "phone")
			e = ledgerEntry(t, s, e, schemas.PhaseBegun, "phone")
			if tt.knows {
				s.attendance.hand.heard([]uint64{e.Sequence}, t0)
				s.takeInHeld()
				s.given(e.TaskID).stopping = tt.stopping
			}
			if tt.canceled {
				ledgerEntry(t, s, e, schemas.PhaseDone, "phone")
			}
			got := s.dropped(&schemas.DeviceStopped{TaskID: e.TaskID, Sequence: tt.say(e.Sequence), Confirmed: true})
			if got != tt.want || (s.given(e.TaskID) != nil) != tt.given {
				t.Errorf("got %s, and the task: %+v", got, s.given(e.TaskID))
			}
		})
	}
}

// TestNobodyKnowsTheDeviceYet: it is told to say again what it has stopped.
func TestNobodyKnowsTheDeviceYet(t *testing.T) {
	t.Parallel()
	s := newLonelySession(t)
	s.attendance = nil
	if got := s.dropped(&schemas.DeviceStopped{TaskID: schemas.NewTaskID(), Sequence: 1}); got != schemas.OutcomeTryAgain {
		t.Errorf("got %s", got)
	}
}

func same(sequence uint64) uint64  { return sequence }
func older(sequence uint64) uint64 { return sequence - 1 }
func none(uint64) uint64           { return 0 }
