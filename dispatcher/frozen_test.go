package dispatcher_test

import (
	"context"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// A dispatcher that was frozen finds that it has heard nobody for long, and what was said meanwhile still waits to be heard.
func TestADispatcherThatWasFrozenJudgesNobody(t *testing.T) {
	t.Parallel()
	cfg, c := quick(), new(clock)
	cfg.Now = c.now
	h := newHouse(t, cfg)
	w := newScripted(h, "laptop-1", offer{"test_run", 1})
	h.submit(work())
	a := w.next()
	a.sequence = w.begin(a).Sequence
	h.any().JudgeFromNow()
	c.pass(2 * cfg.HeartbeatTTL)
	pauseUntil(t.Context(), time.Now().Add(time.Second)) // for whoever would have judged
	r := w.result(a, schemas.StateCompleted)
	r.Result = schemas.Payload(`{"passed":true,"output":"ok"}`)
	if answer := w.finish(r); answer.Outcome != schemas.OutcomeStored {
		t.Errorf("got %+v", answer)
	}
}

// What a heartbeat would be answered is lost where nobody waits for an answer: it does not count as sent.
func TestAHeartbeatThatAsksForNothingHoldsNothingUp(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.ResendAfter = time.Second
	h := newHouse(t, cfg)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	h.submit(echo(`{}`))
	first := w.next() // and forgot it
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for ctx.Err() == nil {
			_ = w.conn.Publish(broker.SubjectHeartbeat(w.agentID), schemas.MustEncode(schemas.Heartbeat{
				AgentID: w.agentID, InstanceID: w.instance, State: schemas.AgentOnline, Time: schemas.At(time.Now()),
			}))
			pauseUntil(ctx, time.Now().Add(20*time.Millisecond))
		}
	}()
	defer func() { stop(); <-stopped }()
	if again := w.again(); again.sequence != first.sequence {
		t.Errorf("got sequence %d, want %d again", again.sequence, first.sequence)
	}
}
