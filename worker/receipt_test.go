package worker

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestReceiptsNameWhatIsHeld(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	let := make(chan struct{})
	half := 0.5
	h.work(HandlerFunc(func(_ context.Context, task *Task, emit Emit) (schemas.Payload, error) {
		emit.Progress(schemas.Progress{Fraction: &half, Message: "reading"})
		<-let
		return task.Message.Payload, nil
	}))
	e := h.assign(task{})
	var receipts []schemas.Receipt // that tell of its progress; the very first may be older
	brokertest.Eventually(t, "three receipts", func() bool {
		receipts = slices.DeleteFunc(look(h, &h.receipts), func(r schemas.Receipt) bool { return r.Tasks[0].Progress == nil })
		return len(receipts) >= 3
	})
	close(let)
	h.awaitDone(e.TaskID)
	first := receipts[0].Tasks[0]

	if first.TaskID != e.TaskID || first.Sequence != e.Sequence || first.Attempt != 1 || !first.Running {
		t.Errorf("the receipt names %+v", first)
	}
	if first.Progress == nil || *first.Progress.Fraction != half || first.Progress.Message != "reading" {
		t.Errorf("progress is %+v", first.Progress)
	}
	if len(first.Hops) != 2 || first.Hops[0].Hop != schemas.HopReceived || first.Hops[1].Hop != schemas.HopAdapterRequest {
		t.Errorf("hops are %+v", first.Hops)
	}
}

func TestAQuickTaskNeedsNoReceipt(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	h.work(echo, func(cfg *Config) { cfg.ReceiptAfter = time.Hour })
	for range 10 {
		h.awaitDone(h.assign(task{}).TaskID)
	}
	if got := look(h, &h.receipts); len(got) != 0 {
		t.Errorf("%d receipts", len(got))
	}
}

func TestWhenReceiptsAreDue(t *testing.T) {
	t.Parallel()
	const after, interval = 500 * time.Millisecond, 15 * time.Second
	start := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	b := newInbox(registrationOf(1), bounds{held: 10, bytes: 1000, excess: time.Hour})
	b.open(false)
	hold := func(sequence uint64, at time.Time) *assignment {
		a := held(sequence, at)
		if !b.hold(a) {
			t.Fatalf("%d was not taken", sequence)
		}
		return a
	}
	expect := func(at time.Duration, wantAgain time.Duration, want ...uint64) {
		t.Helper()
		list, again := b.receipt(start.Add(at), after, interval)
		var got []uint64
		for _, task := range list {
			got = append(got, task.Sequence)
		}
		if len(got) != len(want) || again != wantAgain {
			t.Errorf("at %v: named %v, again in %v; want %v, %v", at, got, again, want, wantAgain)
			return
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("at %v: named %v, want %v", at, got, want)
			}
		}
	}

	expect(0, 0)
	first := hold(1, start)
	hold(2, start.Add(300*time.Millisecond))
	expect(400*time.Millisecond, 100*time.Millisecond)
	started, _, _ := b.next(start)
	if len(started) != 1 || started[0] != first {
		t.Fatalf("started %d", len(started))
	}
	b.run(first, 1, start)
	expect(500*time.Millisecond, 300*time.Millisecond, 1)
	expect(900*time.Millisecond, 14600*time.Millisecond, 2)
	expect(10*time.Second, 5500*time.Millisecond)
	expect(15500*time.Millisecond, interval, 1)
	b.forget(first)
	expect(16*time.Second, 0)
}

func TestProgressIsToldWhileItIsNews(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	told, let := make(chan string), make(chan struct{})
	h.work(HandlerFunc(func(_ context.Context, task *Task, emit Emit) (schemas.Payload, error) {
		for message := range told {
			emit.Progress(schemas.Progress{Message: message})
		}
		<-let
		return task.Message.Payload, nil
	}), func(cfg *Config) { cfg.ReceiptInterval = time.Hour })
	e := h.assign(task{})
	messages := []string{"reading", "thinking", "writing"}
	for _, message := range messages {
		told <- message
		brokertest.Eventually(t, "a receipt that says "+message, func() bool {
			receipts := look(h, &h.receipts)
			if len(receipts) == 0 {
				return false
			}
			said := receipts[len(receipts)-1].Tasks[0].Progress
			return said != nil && said.Message == message
		})
	}
	if got := look(h, &h.receipts); len(got) > 1+len(messages) { // the very first may be older than any news
		t.Errorf("%d receipts, though there was news %d times", len(got), len(messages))
	}
	close(told)
	close(let)
	h.awaitDone(e.TaskID)
}

func TestWhatIsNewIsDueSoon(t *testing.T) {
	t.Parallel()
	const after, interval = 500 * time.Millisecond, 15 * time.Second
	start := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	tests := []struct {
		name string
		a    assignment
		news bool
		due  time.Duration
		ever bool
	}{
		{"what has just arrived is named after a while", assignment{arrived: start}, false, after, true},
		{"what runs is named at each interval", assignment{listed: start, step: running}, false, interval, true},
		{"what runs and has made progress is named sooner", assignment{listed: start, step: running}, true, after, true},
		{"what waits is named once", assignment{listed: start, step: waiting}, false, interval, false},
		{"what was given up is not named, whatever it says", assignment{listed: start, step: running, givenUp: true}, true, after, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rung := 0
			tt.a.account = newAccount("laptop-1", 100, time.Now, func() { rung++ })
			if tt.news {
				tt.a.account.Progress(schemas.Progress{Message: "reading"})
				tt.a.account.Progress(schemas.Progress{Message: "writing"})
				if rung != 1 {
					t.Errorf("the bell was rung %d times for news that nobody has taken, want once", rung)
				}
			}
			due, ever := tt.a.due(after, interval)
			if !due.Equal(start.Add(tt.due)) || ever != tt.ever {
				t.Errorf("due in %v, ever %v; want %v, %v", due.Sub(start), ever, tt.due, tt.ever)
			}
		})
	}
}
