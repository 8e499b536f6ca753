package worker

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

func registrationOf(concurrency int) *schemas.Registration {
	return &schemas.Registration{AgentID: "laptop-1", Capabilities: []schemas.Offer{{ID: "echo", MaxConcurrency: concurrency}}}
}

// held is an assignment of a task of its own, whose id is that of the sequence.
func held(sequence uint64, at time.Time) *assignment {
	a := &assignment{
		message: &schemas.ReachMessage{
			TaskID: schemas.NewTaskID(), Capability: "echo", Attempt: 1, Assignment: &schemas.Assignment{Idempotent: true},
		},
		first: sequence, sequence: sequence, bytes: 10, arrived: at, account: newAccount("laptop-1", 1000, time.Now, func() {}),
		left: make(chan struct{}),
	}
	a.ctx, a.cancel = context.WithCancelCause(context.Background())
	return a
}

func TestWhatIsSurplus(t *testing.T) {
	t.Parallel()
	const limit = 100 * time.Millisecond
	tests := []struct {
		name           string
		waiting, width int
		mean, oldest   time.Duration
		want           int
		again          time.Duration
	}{
		{"nothing waits", 0, 2, time.Second, 0, 0, 0},
		{"an unknown speed gets the benefit of the doubt", 5, 1, 0, 0, 0, limit},
		{"but only for as long as the limit", 5, 1, 0, limit, 5, 0},
		{"quick tasks start soon enough", 20, 2, 5 * time.Millisecond, 0, 0, limit},
		{"those too far behind go back", 50, 2, 5 * time.Millisecond, 0, 10, limit},
		{"slow tasks all go back", 3, 2, time.Minute, 0, 3, 0},
		{"a task as long as the limit keeps one waiting", 3, 1, limit, 0, 2, limit},
		{"the oldest tells how long is left", 3, 1, time.Millisecond, 60 * time.Millisecond, 0, 40 * time.Millisecond},
		{"a promise that was not kept counts no more", 3, 1, time.Millisecond, limit, 3, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, again := surplus(tt.waiting, tt.width, tt.mean, tt.oldest, limit)
			if n != tt.want || again != tt.again {
				t.Errorf("got %d, again in %v; want %d, %v", n, again, tt.want, tt.again)
			}
		})
	}
}

func TestTheNewestGoBackFirst(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b := newInbox(registrationOf(1), bounds{held: 10, bytes: 1000, excess: 100 * time.Millisecond})
	b.open(false)
	b.speed.note("echo", 40*time.Millisecond)
	for sequence := uint64(1); sequence <= 5; sequence++ {
		b.hold(held(sequence, now))
	}
	start, back, again := b.next(now)
	sequences := func(list []*assignment) (all []uint64) {
		for _, a := range list {
			all = append(all, a.first)
		}
		return all
	}
	if diff := cmp.Diff([]uint64{1}, sequences(start)); diff != "" {
		t.Errorf("started (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{5, 4}, sequences(back)); diff != "" {
		t.Errorf("handed back (-want +got):\n%s", diff)
	}
	if again != 100*time.Millisecond {
		t.Errorf("looks again in %v", again)
	}
	b.drain(true)
	if _, back, _ = b.next(now); len(back) != 2 {
		t.Errorf("a drain hands back %v, want all that wait", sequences(back))
	}
}

func TestALineThatMovesIsKept(t *testing.T) {
	t.Parallel()
	start := time.Now()
	b := newInbox(registrationOf(1), bounds{held: 10, bytes: 1000, excess: 100 * time.Millisecond})
	b.open(false)
	for sequence := uint64(1); sequence <= 3; sequence++ {
		b.hold(held(sequence, start))
	}
	looks := []struct {
		name          string
		at            time.Duration
		ends          bool // of what runs, before
		started, back int
	}{
		{"the first starts", 0, false, 1, 0},
		{"nothing has moved for a moment", 90 * time.Millisecond, false, 0, 0},
		{"the next starts just in time", 99 * time.Millisecond, true, 1, 0},
		{"the last has waited for long, but the line moves", 190 * time.Millisecond, false, 0, 0},
		{"the line stands still", 199 * time.Millisecond, false, 0, 1},
	}
	var running *assignment
	for _, look := range looks {
		if look.ends {
			b.yield(running, time.Microsecond, true, 0)
		}
		started, back, _ := b.next(start.Add(look.at))
		if len(started) != look.started || len(back) != look.back {
			t.Errorf("%s: %d started, %d handed back", look.name, len(started), len(back))
		}
		if len(started) > 0 {
			running = started[0]
		}
	}
}

func TestAWorkerPullsUnlessItIsToldThatNothingWaits(t *testing.T) {
	t.Parallel()
	for _, idle := range []bool{false, true} {
		b := newInbox(registrationOf(1), bounds{held: 10, bytes: 1000, excess: time.Second})
		b.open(false)
		a := held(1, time.Now())
		b.hold(a)
		b.next(time.Now())
		b.yield(a, time.Millisecond, true, 0)
		b.finish(a)
		b.answered(a, schemas.Answer{Outcome: schemas.OutcomeStored, Idle: idle})
		b.forget(a)
		select {
		case <-b.pull:
			if idle {
				t.Error("it pulls though nothing waits")
			}
		default:
			if !idle {
				t.Error("it does not pull though something may wait")
			}
		}
	}
}

func TestWhatTheInboxTakes(t *testing.T) {
	t.Parallel()
	now := time.Now()
	again := func(a *assignment, sequence uint64) *assignment {
		b := held(sequence, now)
		b.message.TaskID = a.message.TaskID
		return b
	}
	first := held(10, now)
	tests := []struct {
		name  string
		given func(b *inbox)
		next  *assignment
		want  bool
	}{
		{"a new one is taken", func(*inbox) {}, held(1, now), true},
		{"a closed inbox takes nothing", func(b *inbox) { b.close(ErrStopping) }, held(2, now), false},
		{"the same sequence is a repeat", func(b *inbox) { b.hold(first) }, again(first, 10), false},
		{"a lower sequence is older", func(b *inbox) { b.hold(again(first, 10)) }, again(first, 9), false},
		{"a higher sequence is a new assignment", func(b *inbox) { b.hold(again(first, 10)) }, again(first, 12), true},
		{"one that ended is a repeat", func(b *inbox) { b.stop(first.taskID(), 10) }, again(first, 10), false},
		{"one after the end is taken", func(b *inbox) { b.stop(first.taskID(), 10) }, again(first, 11), true},
		{"a canceled task never comes back", func(b *inbox) { b.stop(first.taskID(), 0) }, again(first, 1<<40), false},
		{"no room by number", func(b *inbox) { b.hold(held(3, now)); b.hold(held(4, now)) }, held(5, now), false},
		{"no room by bytes", func(b *inbox) { b.bounds.bytes = 5 }, held(6, now), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newInbox(registrationOf(1), bounds{held: 2, bytes: 1000, excess: time.Hour})
			b.open(false)
			tt.given(b)
			if got := b.hold(tt.next); got != tt.want {
				t.Errorf("taken is %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTheMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := newMemory()
	var ids []string
	for i := range 2 * remembered {
		ids = append(ids, schemas.NewTaskID())
		m.add(ids[i], uint64(i+1))
		m.add(ids[i], 1)
	}
	if len(m.last) != remembered || len(m.order) != remembered {
		t.Errorf("it knows %d tasks in %d places", len(m.last), len(m.order))
	}
	newest := uint64(2 * remembered)
	if m.has(ids[0], 1) || !m.has(ids[newest-1], newest) || m.has(ids[newest-1], newest+1) {
		t.Error("it knows the wrong ones")
	}
}

func TestSpeedFollowsTheLastRuns(t *testing.T) {
	t.Parallel()
	s := make(speed)
	s.note("echo", time.Second)
	if s["echo"] != time.Second {
		t.Errorf("after one run: %v", s["echo"])
	}
	for range 100 {
		s.note("echo", time.Millisecond)
	}
	if s["echo"] > 2*time.Millisecond || s["echo"] < time.Millisecond {
		t.Errorf("after many quick runs: %v", s["echo"])
	}
}
