package broker_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestFollowHearsWhatIsStoredInOrder(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn := b.Connect(t, undisturbed)
	heard := make(chan broker.Entry, 1000)
	feed, err := conn.Ledger().Follow(func(e broker.Entry) { heard <- e })
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	writer := b.Conn(t).Ledger()
	const tasks = 100
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range tasks / 4 {
				write(t, writer, after(write(t, writer, queued()), schemas.PhaseAssigned, "laptop-1"))
			}
		})
	}
	all.Wait()
	for want := uint64(1); want <= 2*tasks; want++ {
		got := receive(t, "the next event", heard)
		if got.Sequence != want {
			t.Fatalf("heard %d, want %d", got.Sequence, want)
		}
		stored, err := writer.At(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stored, got); diff != "" {
			t.Fatalf("the feed says otherwise than the ledger (-ledger +feed):\n%s", diff)
		}
	}
}

func TestFollowAssignedHearsItsOwnAgentAlone(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Connect(t, undisturbed)
	heard := make(chan broker.Entry, 100)
	feed, err := conn.FollowAssigned("laptop-1", func(e broker.Entry) { heard <- e })
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	ledger := conn.Ledger()
	other := write(t, ledger, after(write(t, ledger, queued()), schemas.PhaseAssigned, "laptop-2"))
	write(t, ledger, after(other, schemas.PhaseBegun, "laptop-1"))
	mine := write(t, ledger, after(write(t, ledger, queued()), schemas.PhaseAssigned, "laptop-1"))
	got := receive(t, "the assignment", heard)
	if got.Sequence != mine.Sequence || got.TaskID != mine.TaskID {
		t.Errorf("heard %+v, want sequence %d", got, mine.Sequence)
	}
	if _, err := conn.FollowAssigned(broker.Any, func(broker.Entry) {}); err == nil {
		t.Error("one may follow all agents' assignments")
	}
}

func TestDisturbWrapsEveryFeed(t *testing.T) {
	t.Parallel()
	var events atomic.Int32
	conn := brokertest.New(t).Connect(t, func(cfg *broker.Config) {
		cfg.Disturb = func(next func(broker.Entry)) func(broker.Entry) {
			return func(e broker.Entry) {
				events.Add(1)
				next(e)
				next(e)
			}
		}
	})
	heard := make(chan broker.Entry, 10)
	all, err := conn.Ledger().Follow(func(e broker.Entry) { heard <- e })
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	own, err := conn.FollowAssigned("laptop-1", func(e broker.Entry) { heard <- e })
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	e := queued()
	e.Phase, e.Agent = schemas.PhaseAssigned, "laptop-1"
	write(t, conn.Ledger(), e)
	for range 4 {
		receive(t, "each event twice", heard)
	}
	if events.Load() != 2 {
		t.Errorf("%d events were disturbed, want 2", events.Load())
	}
}

// TestCloseWaitsForTheHandler: once Close has returned, no handler runs.
func TestCloseWaitsForTheHandler(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Connect(t, undisturbed)
	entered, leave := make(chan struct{}), make(chan struct{})
	var running atomic.Bool
	feed, err := conn.Ledger().Follow(func(broker.Entry) {
		running.Store(true)
		close(entered)
		<-leave
		running.Store(false)
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, conn.Ledger(), queued())
	receive(t, "the handler", entered)
	closed := make(chan struct{})
	go func() {
		feed.Close()
		if running.Load() {
			t.Error("the handler still runs")
		}
		close(closed)
	}()
	select {
	case <-closed:
		t.Error("Close did not wait")
	default:
	}
	close(leave)
	receive(t, "Close", closed)
	feed.Close() // again does nothing
}
