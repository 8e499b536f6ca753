package worker

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func cancelOf(taskID string, sequence uint64) schemas.Control {
	return schemas.Control{Do: schemas.DoCancel, TaskID: taskID, Sequence: sequence, Reason: schemas.ReasonCanceled}
}

func TestACancelReachesTheHandler(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		answer    error
		confirmed bool
	}{
		{"the agent confirms", &Failure{Err: failed(schemas.Cancelled), Ran: schemas.RanYes, Confirmed: true}, true},
		{"the agent does not say", &Failure{Err: failed(schemas.Cancelled), Ran: schemas.RanUnknown}, false},
		{"the agent has just finished", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.silent = true
			h.serve()
			began := make(chan struct{})
			s := h.work(HandlerFunc(func(ctx context.Context, _ *Task, _ Emit) (schemas.Payload, error) {
				close(began)
				<-ctx.Done()
				if cause := context.Cause(ctx); !errors.Is(cause, ErrCanceled) {
					t.Errorf("the cause is %v, want ErrCanceled", cause)
				}
				return schemas.Payload("null"), tt.answer
			}))
			e := h.assign(task{effects: true})
			<-began
			reply := h.tell(cancelOf(e.TaskID, e.Sequence))
			if !reply.OK || reply.Confirmed != tt.confirmed || reply.InstanceID == "" {
				t.Errorf("reply %+v, want confirmed %v", reply, tt.confirmed)
			}
			brokertest.Eventually(t, "an empty inbox", s.station().inbox.empty)
			if len(look(h, &h.results)) != 0 {
				t.Error("a result of a canceled task was sent")
			}
		})
	}
}

func TestACancelIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.silent = true
	h.serve()
	let, began := make(chan struct{}), make(chan struct{})
	defer close(let)
	h.work(HandlerFunc(func(context.Context, *Task, Emit) (schemas.Payload, error) {
		close(began)
		<-let
		return nil, nil
	}), func(cfg *Config) { cfg.CancelWait = 50 * time.Millisecond })
	e := h.assign(task{})
	<-began
	if reply := h.tell(cancelOf(e.TaskID, 0)); !reply.OK || reply.Confirmed {
		t.Errorf("reply %+v, want ok and not confirmed", reply)
	}
}

func TestACancelOfWhatHasNotBegunIsConfirmed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.silent = true
	h.onBegin = func(int, schemas.Begin) reaction { return reaction{ignore: true} }
	h.serve()
	handler := newScript()
	s := h.work(handler, func(cfg *Config) {
		cfg.ExcessWait, cfg.RequestTimeout = time.Minute, 10*time.Second
		cfg.Agents[0].Registration.Capabilities[0].MaxConcurrency = 1
	})
	beginning, waits := h.assign(task{effects: true}), h.assign(task{})
	brokertest.Eventually(t, "two tasks held, one asked for", func() bool {
		return len(look(h, &h.begins)) == 1 && len(s.station().inbox.sequences()) == 2
	})
	if reply := h.tell(cancelOf(waits.TaskID, waits.Sequence)); !reply.Confirmed {
		t.Errorf("reply %+v for a task that waits, want confirmed", reply)
	}
	if reply := h.tell(cancelOf(beginning.TaskID, beginning.Sequence)); !reply.Confirmed {
		t.Errorf("reply %+v for a task that asks to begin, want confirmed", reply)
	}
	brokertest.Eventually(t, "an empty inbox", s.station().inbox.empty)
	if len(handler.calls) != 0 {
		t.Error("a canceled task began")
	}
}

func TestACancelOvertakesItsAssignment(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.silent = true
	h.serve()
	handler := newScript()
	h.work(handler)
	id := schemas.NewTaskID()
	h.tell(cancelOf(id, 1<<30))
	h.assign(task{id: id})
	other := h.assign(task{}) // behind it
	handler.answer <- nil
	if got := handler.called(t).ID(); got != other.TaskID {
		t.Errorf("%s runs, which was canceled", got)
	}
	h.awaitDone(other.TaskID)
}

func TestALateCancelOfAnOlderAttemptHarmsNoNewerOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	handler := newScript()
	h.work(handler)
	old := h.assign(task{})
	handler.called(t)
	h.assign(task{id: old.TaskID, previous: old.Sequence})
	handler.called(t)
	h.tell(cancelOf(old.TaskID, old.Sequence))
	handler.answer <- nil
	h.awaitDone(old.TaskID)
}

func TestOtherWordsOfADispatcher(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	handler := newScript()
	s := h.work(handler)
	running := h.assign(task{})
	handler.called(t)
	if reply := h.tell(schemas.Control{Do: schemas.DoPing}); !reply.OK || reply.InstanceID == "" {
		t.Errorf("ping: %+v", reply)
	}
	h.tell(schemas.Control{Do: schemas.DoDrain})
	brokertest.Eventually(t, "a heartbeat that says draining", func() bool { return h.lastBeat().State == schemas.AgentDraining })
	refused := h.assign(task{})
	brokertest.Eventually(t, "a release", func() bool { return slices.Equal(h.released(), []string{refused.TaskID}) })
	if free, total := s.station().inbox.free(); len(free) != 0 || total != 0 {
		t.Errorf("a draining agent has %v free", free)
	}
	handler.answer <- nil
	h.awaitDone(running.TaskID)

	h.tell(schemas.Control{Do: schemas.DoResume})
	brokertest.Eventually(t, "a heartbeat that says online", func() bool { return h.lastBeat().State == schemas.AgentOnline })
	handler.answer <- nil
	h.awaitDone(h.assign(task{}).TaskID)
}

func TestNotYoursIsBelievedOnlyOfWhatTheDispatcherKnows(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		step     step
		sequence uint64
		applied  uint64
		stops    bool
	}{
		{"what runs is stopped", running, 10, 10, true},
		{"what waits is forgotten", waiting, 10, 12, true},
		{"a dispatcher who has not read so far does not know", running, 10, 9, false},
		{"another sequence is another assignment", running, 11, 20, false},
		{"a begin on its way decides by itself", beginning, 10, 20, false},
		{"and so does a result", finishing, 10, 20, false},
		{"and a release", releasing, 10, 20, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newInbox(registrationOf(1), bounds{held: 10, bytes: 1000, excess: time.Hour})
			b.open(false)
			a := held(10, time.Now())
			b.hold(a)
			if a.step = tt.step; tt.step != waiting {
				b.waiting = nil
			}
			b.notYours([]uint64{tt.sequence}, tt.applied)
			if stopped := a.ctx.Err() != nil; stopped != tt.stops {
				t.Errorf("stopped is %v, want %v", stopped, tt.stops)
			}
		})
	}
}
