package broker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestWriteComesBackAsItWas(t *testing.T) {
	t.Parallel()
	ledger := brokertest.New(t).Conn(t).Ledger()
	want := queued()
	want.TTL, want.Write = time.Hour-500*time.Millisecond, "abcDEF-_09"
	stored := write(t, ledger, want)
	want.TTL, want.Sequence = time.Hour, 1
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("what Write returned (-want +got):\n%s", diff)
	}
	for name, read := range map[string]func(context.Context, string) (broker.Entry, error){
		"Last": ledger.Last, "LastAtLeader": ledger.LastAtLeader,
		"LastOfPhase": func(ctx context.Context, task string) (broker.Entry, error) {
			return ledger.LastOfPhase(ctx, task, schemas.PhaseQueued)
		},
		"At": func(ctx context.Context, _ string) (broker.Entry, error) { return ledger.At(ctx, 1) },
	} {
		got, err := read(t.Context(), want.TaskID)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(broker.Entry{}, "At")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if age := time.Since(got.At); age < 0 || age > time.Minute {
			t.Errorf("%s: stored %s ago", name, age)
		}
	}
}

func TestReadsOfNothing(t *testing.T) {
	t.Parallel()
	ledger := brokertest.New(t).Conn(t).Ledger()
	task := schemas.NewTaskID()
	_, last := ledger.Last(t.Context(), task)
	_, leader := ledger.LastAtLeader(t.Context(), task)
	_, phase := ledger.LastOfPhase(t.Context(), task, schemas.PhaseDone)
	_, at := ledger.At(t.Context(), 7)
	_, zero := ledger.At(t.Context(), 0)
	for i, err := range []error{last, leader, phase, at, zero} {
		if !errors.Is(err, broker.ErrNotFound) {
			t.Errorf("read %d: got %v, want ErrNotFound", i, err)
		}
	}
	_, err := ledger.Last(t.Context(), "*")
	wantCode(t, err, schemas.InvalidArgument, schemas.ReasonBadName)
}

func TestTheOneRule(t *testing.T) {
	t.Parallel()
	ledger := brokertest.New(t).Conn(t).Ledger()
	first := write(t, ledger, queued())

	again := first
	again.Previous, again.Write, again.Sequence = 0, "", 0
	_, err := ledger.Write(t.Context(), again)
	if last := wantConflict(t, err).Last; last.Sequence != first.Sequence || last.Write != first.Write {
		t.Errorf("a second submit met %+v", last)
	}

	assigned := write(t, ledger, after(first, schemas.PhaseAssigned, "laptop-1"))
	_, err = ledger.Write(t.Context(), after(first, schemas.PhaseDone, "laptop-2"))
	if last := wantConflict(t, err).Last; last.Sequence != assigned.Sequence || last.Agent != "laptop-1" {
		t.Errorf("a zombie met %+v", last)
	}

	done := write(t, ledger, after(assigned, schemas.PhaseDone, "laptop-1"))
	if done.Previous != assigned.Sequence {
		t.Errorf("done expected %d, want %d", done.Previous, assigned.Sequence)
	}
	ghost := queued()
	ghost.Previous = 4711
	_, err = ledger.Write(t.Context(), ghost)
	if last := wantConflict(t, err).Last; last.Sequence != 0 {
		t.Errorf("a task that is not there met %+v", last)
	}
}

func TestRepeatWithTheSameWriteIsOneMessage(t *testing.T) {
	t.Parallel()
	ledger := brokertest.New(t).Conn(t).Ledger()
	e := queued()
	e.Write = "abc"
	first := write(t, ledger, e)
	second := write(t, ledger, e)
	if first.Sequence != second.Sequence {
		t.Errorf("stored at %d and at %d", first.Sequence, second.Sequence)
	}
}

// TestTwoRacers lets two writers, each on a connection of its own, race for the next phase of hundreds of tasks.
func TestTwoRacers(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	home := b.Conn(t).Ledger()
	racers := []*broker.Ledger{b.Conn(t).Ledger(), b.Conn(t).Ledger()}
	for i := range 300 {
		task := write(t, home, queued())
		won := make([]broker.Entry, len(racers))
		lost := make([]error, len(racers))
		var race sync.WaitGroup
		for r, ledger := range racers {
			race.Go(func() {
				agent := fmt.Sprintf("agent-%d", r)
				won[r], lost[r] = ledger.Write(t.Context(), after(task, schemas.PhaseAssigned, agent))
			})
		}
		race.Wait()
		winner, loser := 0, 1
		if lost[0] != nil {
			winner, loser = 1, 0
		}
		if lost[winner] != nil {
			t.Fatalf("task %d: both lost: %v", i, lost)
		}
		if last := wantConflict(t, lost[loser]).Last; last.Sequence != won[winner].Sequence || last.Write != won[winner].Write {
			t.Fatalf("task %d: the loser met %+v, the winner wrote %+v", i, last, won[winner])
		}
	}
}

func TestWriteRefusesBadNames(t *testing.T) {
	t.Parallel()
	ledger := brokertest.New(t).Conn(t).Ledger()
	for name, spoil := range map[string]func(*broker.Entry){
		"a task that is a wildcard":    func(e *broker.Entry) { e.TaskID = "*" },
		"no task":                      func(e *broker.Entry) { e.TaskID = "" },
		"an unknown phase":             func(e *broker.Entry) { e.Phase = "aggregating" },
		"a capability with a dot":      func(e *broker.Entry) { e.Capability = "a.b" },
		"an agent with a space":        func(e *broker.Entry) { e.Agent = "a b" },
		"no agent at all":              func(e *broker.Entry) { e.Agent = "" },
		"a write that breaks a header": func(e *broker.Entry) { e.Write = "a\r\nNats-Rollup: all" },
	} {
		e := queued()
		spoil(&e)
		if _, err := ledger.Write(t.Context(), e); err == nil {
			t.Errorf("%s: written", name)
		} else {
			wantCode(t, err, schemas.InvalidArgument, schemas.ReasonBadName)
		}
	}
	if state, _ := ledger.State(t.Context()); state.Messages != 0 {
		t.Errorf("%d messages stored", state.Messages)
	}
}

func TestWriteOfTooMuch(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	e := queued()
	e.Body = bytes.Repeat([]byte("x"), int(conn.MaxPayload()))
	_, err := conn.Ledger().Write(t.Context(), e)
	wantCode(t, err, schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge)
	if schemas.AsError(err).Retryable {
		t.Error("too large counts as retryable")
	}
}

func TestLostAcknowledgementOnce(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	home := b.Conn(t).Ledger()
	proxy := brokertest.Proxy(t, b.URL())
	ledger := through(t, b, proxy).Ledger()
	proxy.SwallowAcks(1, "REACH")
	stored := write(t, ledger, queued())
	if proxy.Swallowed() != 1 {
		t.Fatalf("%d acknowledgements were lost", proxy.Swallowed())
	}
	state, err := home.State(t.Context())
	if err != nil || state.Messages != 1 || state.Last != stored.Sequence {
		t.Errorf("the ledger has %+v (%v), Write said %d", state, err, stored.Sequence)
	}
}

// TestLostAcknowledgementAndOthersWentOn: the answer to the first try is lost and someone else moves the task before the second.
func TestLostAcknowledgementAndOthersWentOn(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	home := b.Conn(t).Ledger()
	proxy := brokertest.Proxy(t, b.URL())
	ledger := b.Connect(t, func(cfg *broker.Config) { cfg.URL, cfg.TryTimeout = proxy.URL(), time.Minute }).Ledger()
	proxy.SwallowAcks(1, "REACH")
	e := queued()
	written := make(chan error, 1)
	go func() {
		_, err := ledger.Write(context.Background(), e)
		written <- err
	}()
	brokertest.Eventually(t, "the acknowledgement is lost", func() bool { return proxy.Swallowed() == 1 })
	first, err := home.LastAtLeader(t.Context(), e.TaskID)
	if err != nil {
		t.Fatal(err)
	}
	write(t, home, after(first, schemas.PhaseAssigned, "laptop-1"))
	proxy.Cut() // and not before: nothing is tried again while the task stands where it stood
	conflict := wantConflict(t, receive(t, "the end of the write", written))
	if conflict.Stored != 1 || conflict.Last.Previous != 1 || conflict.Last.Phase != schemas.PhaseAssigned {
		t.Errorf("got %+v, want what was stored at 1 and went on from there", conflict)
	}
}

// TestTwoBodiesOfOneWrite: the second one finds the first there, and is told what that says.
func TestTwoBodiesOfOneWrite(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	one, other := b.Conn(t).Ledger(), b.Conn(t).Ledger()
	e := queued()
	e.Write = "mine"
	first := write(t, one, e)
	e.Body = []byte(`{"another":"body"}`)
	second := write(t, other, e)
	if second.Sequence != first.Sequence || string(second.Body) != string(first.Body) {
		t.Errorf("got %d %s, want %d %s", second.Sequence, second.Body, first.Sequence, first.Body)
	}
}

func TestLostAnswersAlways(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	home := b.Conn(t).Ledger()
	proxy := brokertest.Proxy(t, b.URL())
	ledger := through(t, b, proxy).Ledger()
	proxy.SwallowReplies(brokertest.Always, "REACH")
	e := queued()
	e.Write = "mine"
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	if _, err := ledger.Write(ctx, e); !errors.Is(err, broker.ErrUnknownOutcome) {
		t.Fatalf("got %v, want ErrUnknownOutcome", err)
	}
	brokertest.Eventually(t, "one message in the ledger", func() bool {
		state, err := home.State(t.Context())
		return err == nil && state.Messages == 1 && state.Last == 1
	})
	proxy.SwallowReplies(0)
	if stored := write(t, ledger, e); stored.Sequence != 1 {
		t.Errorf("the repeat found %d, want 1", stored.Sequence)
	}
}

// through connects by way of a proxy, with short tries.
func through(t *testing.T, b *brokertest.Broker, proxy *brokertest.Relay) *broker.Conn {
	t.Helper()
	return b.Connect(t, func(cfg *broker.Config) { cfg.URL, cfg.TryTimeout = proxy.URL(), 150*time.Millisecond })
}

// TestOutageInTheMiddleOfWrites: every write is either acknowledged, and then it is there, or refused, and then it is not.
func TestOutageInTheMiddleOfWrites(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	ledger := b.Connect(t, func(cfg *broker.Config) { cfg.TryTimeout = 200 * time.Millisecond }).Ledger()
	const writers = 8
	stop := make(chan struct{})
	acked := make([][]broker.Entry, writers)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for running := true; running; {
				select {
				case <-stop:
					running = false
				default:
				}
				stored, err := ledger.Write(within(t, time.Minute), queued())
				if err != nil {
					t.Errorf("write: %v", err)
					return
				}
				acked[w] = append(acked[w], stored)
			}
		})
	}
	for range 2 {
		mark, err := ledger.State(within(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		brokertest.Eventually(t, "some writes", func() bool {
			state, err := ledger.State(within(t, time.Minute))
			return err == nil && state.Last >= mark.Last+50
		})
		b.Stop()
		b.Start()
	}
	close(stop)
	all.Wait()
	count := uint64(0)
	for _, entries := range acked {
		count += uint64(len(entries))
		for _, want := range entries[max(0, len(entries)-20):] {
			if got, err := ledger.At(t.Context(), want.Sequence); err != nil || got.Write != want.Write {
				t.Fatalf("sequence %d holds %s (%v), want %s", want.Sequence, got.Write, err, want.Write)
			}
		}
	}
	if state, err := ledger.State(t.Context()); err != nil || state.Messages != count {
		t.Errorf("the ledger has %d messages (%v), acknowledged were %d", state.Messages, err, count)
	}
}

func TestWriteWhileTheBrokerIsDown(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn := b.Conn(t)
	b.Stop()
	brokertest.Eventually(t, "the disconnect", func() bool { return !conn.Connected() })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := conn.Ledger().Write(ctx, queued())
	if !errors.Is(err, broker.ErrDisconnected) || errors.Is(err, broker.ErrUnknownOutcome) {
		t.Errorf("got %v, want ErrDisconnected and a known outcome: it never left", err)
	}
	b.Start()
	write(t, conn.Ledger(), queued())
}

func TestEndsOfPhasesInOrder(t *testing.T) {
	t.Parallel()
	ledger := brokertest.New(t).Conn(t).Ledger()
	e := queued()
	e.TTL = 2 * time.Second
	first := write(t, ledger, e)
	next := after(first, schemas.PhaseAssigned, "laptop-1")
	next.TTL = 6 * time.Second
	assigned := write(t, ledger, next)
	end := after(assigned, schemas.PhaseDone, "laptop-1")
	end.TTL = 6 * time.Second
	done := write(t, ledger, end)
	gone := false
	brokertest.Eventually(t, "the end of the record", func() bool {
		last, err := ledger.LastAtLeader(t.Context(), e.TaskID)
		if err == nil && last.Sequence != done.Sequence {
			t.Errorf("the task opened again: %s", last.Phase)
		}
		_, firstErr := ledger.At(t.Context(), first.Sequence)
		gone = gone || errors.Is(firstErr, broker.ErrNotFound) && err == nil
		return errors.Is(err, broker.ErrNotFound)
	})
	if !gone {
		t.Error("the first phase did not end before the last")
	}
	_, err := ledger.Write(t.Context(), after(done, schemas.PhaseQueued, schemas.NoAgent))
	if last := wantConflict(t, err).Last; last.Sequence != 0 {
		t.Errorf("a forgotten task met %+v", last)
	}
}

func TestWriteAfterClose(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	conn.Close()
	begin := time.Now()
	if _, err := conn.Ledger().Write(t.Context(), queued()); !errors.Is(err, broker.ErrDisconnected) {
		t.Errorf("got %v, want ErrDisconnected", err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %s to find out", took)
	}
}

func TestConflictSaysWhereTheTaskStands(t *testing.T) {
	t.Parallel()
	gone := (&broker.Conflict{}).Error()
	moved := (&broker.Conflict{Last: broker.Entry{Phase: schemas.PhaseDone, Sequence: 12}}).Error()
	if !strings.Contains(gone, "not in the ledger") || !strings.Contains(moved, "done at sequence 12") {
		t.Errorf("got %q and %q", gone, moved)
	}
}

func BenchmarkWrite(b *testing.B) {
	ledger := brokertest.New(b).Conn(b).Ledger()
	for b.Loop() {
		if _, err := ledger.Write(context.Background(), queued()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteParallel(b *testing.B) {
	ledger := brokertest.New(b).Conn(b).Ledger()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := ledger.Write(context.Background(), queued()); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
