package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// slot is an agent with one slot, and what it does with it.
type slot struct {
	*scripted
	h     *house
	clock *clock
	held  assignment
}

// turn ends what the agent has, and gives it the next task that waits.
func (s *slot) turn() assignment {
	s.h.t.Helper()
	s.complete(s.held)
	s.h.wait(s.held.message.TaskID)
	return s.take()
}

// take is the next task that the agent gets.
func (s *slot) take() assignment {
	s.h.t.Helper()
	got, _ := s.pull("echo", 1)
	if len(got) == 0 {
		got = append(got, s.next()) // the dispatcher was quicker
	}
	s.held = got[0]
	s.isNew(s.held) // what a pull has brought comes by the feed, too
	return s.held
}

func urgent(priority int, payload string) schemas.ReachMessage {
	m := echo(payload)
	m.Priority = &priority
	return m
}

func newSlot(t *testing.T) *slot {
	t.Helper()
	cfg := quick()
	c := new(clock)
	cfg.Now, cfg.BackoffBase, cfg.BackoffCap = c.now, time.Minute, time.Minute
	cfg.ExcessWait, cfg.ResendAfter, cfg.HeartbeatTTL = 1, 1000*time.Hour, 1000*time.Hour // one task at a time, and nobody minds a silence
	h := newHouse(t, cfg)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	h.submit(echo(`"first"`))
	return &slot{scripted: w, h: h, clock: c, held: w.next()}
}

func TestUrgentTasksGetTheNextSlotAndTheOthersTheirShare(t *testing.T) {
	t.Parallel()
	s := newSlot(t)
	for n := range 60 {
		s.h.submit(urgent(1, fmt.Sprintf(`"low %d"`, n)))
	}
	for n := range 3 {
		s.h.submit(urgent(9, fmt.Sprintf(`"high %d"`, n)))
	}
	for n := range 3 {
		if got, want := string(s.turn().message.Payload), fmt.Sprintf(`"high %d"`, n); got != want {
			t.Errorf("slot %d went to %s, want %s", n, got, want)
		}
	}
	low := 0
	for n := range 3 * 16 {
		s.h.submit(urgent(9, fmt.Sprintf(`"flood %d"`, n)))
		if *s.turn().message.Priority == 1 {
			low++
		}
	}
	if low < 2 || low > 4 {
		t.Errorf("under a flood of urgent tasks, %d of 48 slots went to the others, want 3 or so", low)
	}
}

func TestARetryKeepsItsTurn(t *testing.T) {
	t.Parallel()
	s := newSlot(t)
	task := s.h.submit(urgent(5, `"again"`))
	s.turn()
	for n := range 5 {
		s.h.submit(urgent(5, fmt.Sprintf(`"later %d"`, n)))
	}
	s.fail(s.held, schemas.RanNo, schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "refused"))
	if a := s.take(); string(a.message.Payload) != `"later 0"` { // the back-off is another's chance
		t.Fatalf("during the back-off %s ran", a.message.Payload)
	}
	brokertest.Eventually(t, "the retry waits", func() bool {
		s.clock.pass(time.Minute)
		return s.h.task(task.TaskID).Phase == schemas.PhaseQueued && !s.h.any().IsMoving(task.TaskID)
	})
	if position := s.h.task(task.TaskID).Queue.Position; position != 1 {
		t.Errorf("the retry stands at %d", position)
	}
	if a := s.turn(); a.message.TaskID != task.TaskID || a.message.Attempt != 2 {
		t.Errorf("the next slot went to %s, attempt %d", a.message.Payload, a.message.Attempt)
	}
}

func TestWhoWillNotWaitIsRefusedWhereOthersWaitBefore(t *testing.T) {
	t.Parallel()
	s := newSlot(t)
	s.h.submit(urgent(9, `"waits"`))
	m := urgent(1, `"hurry"`)
	m.FailFast = true
	_, err := s.h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
	if e := wantCode(t, err, schemas.ResourceExhausted, schemas.ReasonBusy); e.RetryAfterMS <= 0 {
		t.Error("it is not told when to come back")
	}
	if len(s.h.scrape()) == 0 {
		t.Error("nothing is counted")
	}
}

// A device that is away is asked for in two ways: kindly, and by its name alone.
func TestADeviceThatIsAway(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	newScripted(h, "desk", offer{"echo", 100})
	phone := newScripted(h, "phone", offer{"echo", 4})
	phone.beat(schemas.AgentOffline, nil)
	phone.vanish()
	brokertest.Eventually(t, "its goodbye is heard", func() bool { return h.agentState("phone") == schemas.AgentOffline })
	m := echo(`1`)
	m.PreferAgent = "phone"
	if got := h.submit(m); got.AgentID != "desk" {
		t.Errorf("preferred and away: it went to %q", got.AgentID)
	}
	m.WaitForAgent = true
	waits := h.submit(m)
	if waits.Phase != schemas.PhaseQueued || waits.Queue == nil || waits.Queue.Position != 1 {
		t.Fatalf("waited for: %+v", waits)
	}
	anybody := schemas.ReachMessage{Capability: "text_stats", Payload: schemas.Payload(`{"text":"x"}`)}
	_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &anybody)
	wantCode(t, err, schemas.Unavailable, schemas.ReasonNoAgent)
	anybody.WaitForAgent = true
	if got := h.submit(anybody); got.Phase != schemas.PhaseQueued {
		t.Errorf("whoever comes: %+v", got)
	}
	back := newScripted(h, "phone", offer{"echo", 4})
	got, _ := back.pull("echo", 1)
	if len(got) == 0 {
		got = append(got, back.next())
	}
	if got[0].message.TaskID != waits.TaskID {
		t.Errorf("the phone is back and gets %s", got[0].message.TaskID)
	}
}
