package broker_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// collect reads a range into a list of sequences.
func collect(t *testing.T, l *broker.Ledger, from, to uint64) []uint64 {
	t.Helper()
	var got []uint64
	err := l.Range(within(t, 20*time.Second), from, to, func(e broker.Entry) error {
		got = append(got, e.Sequence)
		return nil
	})
	if err != nil {
		t.Fatalf("range %d to %d: %v", from, to, err)
	}
	return got
}

// bounced writes a task that goes to and fro between two agents: each phase overwrites itself, and leaves a hole.
func bounced(t *testing.T, l *broker.Ledger, times int) {
	t.Helper()
	e := write(t, l, queued())
	for i := range times {
		agent := []string{"laptop-1", "laptop-2"}[i%2]
		e = write(t, l, after(e, schemas.PhaseAssigned, agent))
	}
}

func TestRangeWithHoles(t *testing.T) {
	t.Parallel()
	ledger := brokertest.New(t).Conn(t).Ledger()
	brief := queued()
	brief.TTL = time.Second
	write(t, ledger, queued())         // 1
	write(t, ledger, brief)            // 2 ends
	bounced(t, ledger, 4)              // 3 to 7, of which 4 and 5 are overwritten
	write(t, ledger, otherTask(brief)) // 8 ends: the tail
	brokertest.Eventually(t, "the end of the brief ones", func() bool {
		state, err := ledger.State(t.Context())
		return err == nil && state.Messages == 4
	})
	for _, tt := range []struct {
		name     string
		from, to uint64
		want     []uint64
	}{
		{"all of it", 1, 8, []uint64{1, 3, 6, 7}},
		{"from the beginning", 0, 3, []uint64{1, 3}},
		{"a hole alone", 4, 5, nil},
		{"a hole at both ends", 2, 5, []uint64{3}},
		{"the tail that is gone", 8, 8, nil},
		{"one message", 6, 6, []uint64{6}},
		{"beyond the end", 7, 1 << 60, []uint64{7}},
		{"to the last number there is", 7, ^uint64(0), []uint64{7}},
		{"nothing at all", 5, 4, nil},
	} {
		if diff := cmp.Diff(tt.want, collect(t, ledger, tt.from, tt.to)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestRangeOfManyBatches(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	ledger := conn.Ledger()
	const tasks = 1300
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range tasks / 4 {
				write(t, ledger, queued())
			}
		})
	}
	all.Wait()
	got := collect(t, ledger, 1, tasks)
	if len(got) != tasks || !slices.IsSorted(got) || got[0] != 1 || got[tasks-1] != tasks {
		t.Errorf("got %d entries", len(got))
	}
	if got := collect(t, ledger, 7, tasks-10); len(got) != tasks-16 || !slices.IsSorted(got) || got[0] != 7 {
		t.Errorf("got %d entries of a part", len(got))
	}
}

// TestRangeOfALedgerThatHasForgottenMost has long holes, and more to read at the end than anybody may run ahead.
func TestRangeOfALedgerThatHasForgottenMost(t *testing.T) {
	t.Parallel()
	ledger := brokertest.New(t).Conn(t).Ledger()
	write(t, ledger, queued())
	bounced(t, ledger, 2500) // of which all but three are overwritten
	for range 1500 {
		write(t, ledger, queued())
	}
	got := collect(t, ledger, 1, 1<<60)
	want := []uint64{1, 2, 2501, 2502, 2503}
	if len(got) != 4+1500 || !slices.IsSorted(got) || !slices.Equal(got[:5], want) {
		t.Errorf("got %d entries that start with %v, want %v", len(got), got[:5], want)
	}
	enough, count := errors.New("enough"), 0
	err := ledger.Range(within(t, 20*time.Second), 1, 1<<60, func(broker.Entry) error {
		if count++; count == 700 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || count != 700 {
		t.Errorf("after %d entries it ended with %v", count, err)
	}
}

func TestRangeEndsWithTheCallersError(t *testing.T) {
	t.Parallel()
	ledger := brokertest.New(t).Conn(t).Ledger()
	for range 3 {
		write(t, ledger, queued())
	}
	enough := errors.New("enough")
	count := 0
	err := ledger.Range(t.Context(), 1, 3, func(broker.Entry) error {
		count++
		return enough
	})
	if !errors.Is(err, enough) || count != 1 {
		t.Errorf("got %v after %d", err, count)
	}
}

// TestRangeOverAnOutage stops the broker between two entries; the range goes on where it was.
func TestRangeOverAnOutage(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	ledger := b.Conn(t).Ledger()
	for range 600 { // more than one batch
		write(t, ledger, queued())
	}
	var got []uint64
	err := ledger.Range(within(t, 30*time.Second), 1, 600, func(e broker.Entry) error {
		if e.Sequence == 500 {
			b.Stop()
			b.Start()
		}
		got = append(got, e.Sequence)
		return nil
	})
	if err != nil || len(got) != 600 || !slices.IsSorted(got) {
		t.Errorf("got %d entries: %v", len(got), err)
	}
}

func TestRangeGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	ledger := b.Conn(t).Ledger()
	b.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := ledger.Range(ctx, 1, 10, func(broker.Entry) error { return nil })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// TestTail is what a range does where the replica that it reads from knows of nothing more.
func TestTail(t *testing.T) {
	t.Parallel()
	ledger := brokertest.New(t).Conn(t).Ledger()
	bounced(t, ledger, 6) // 1, 6 and 7, the others are overwritten
	for _, tt := range []struct {
		name     string
		from, to uint64
		want     []uint64
		next     uint64
	}{
		{"the leader has it", 6, 9, []uint64{6}, 7},
		{"the leader has a later one", 2, 9, []uint64{6}, 7},
		{"the leader's next lies beyond the end", 2, 4, nil, 5},
		{"the leader has nothing more", 8, 9, nil, 10},
	} {
		var got []uint64
		next, err := ledger.Tail(t.Context(), tt.from, tt.to, func(e broker.Entry) error {
			got = append(got, e.Sequence)
			return nil
		})
		if err != nil || next != tt.next {
			t.Errorf("%s: goes on at %d (%v), want %d", tt.name, next, err, tt.next)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	ledger := brokertest.New(t).Conn(t).Ledger()
	bounced(t, ledger, 4)
	got, err := ledger.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.First != 1 || got.Last != 5 || got.Messages != 3 || got.Bytes == 0 || got.Created.IsZero() || got.Now.Before(got.Created) {
		t.Errorf("got %+v", got)
	}
}
