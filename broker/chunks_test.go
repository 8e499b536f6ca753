package broker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/broker/window"
	"github.com/agentreach/agent-reach/schemas"
)

func TestChunksArriveOnceAndInOrder(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	r := s.reader(s.conn(), 0)
	s.knows(1)
	go func() {
		s.writeAll(s.open(), 3000)
		r.End(3000)
	}()
	wantHeard(t, numbers(1, 3000), s.readAll(r, 0))
}

func TestAWriterStopsAtTheWindow(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	r := s.reader(s.conn(), 0)
	w := s.open()
	brokertest.Eventually(t, "the writer knows the reader", func() bool {
		return errors.Is(w.Write(within(t, 50*time.Millisecond), schemas.Payload("1")), context.DeadlineExceeded) && w.Stalls() > 0
	})
	stopped, stalls := w.Last(), w.Stalls()
	reason := errors.New("canceled")
	ctx, cancel := context.WithCancelCause(context.Background())
	written := make(chan error, 1)
	go func() { written <- w.Write(ctx, schemas.Payload("1")) }()
	brokertest.Eventually(t, "another chunk that waits", func() bool { return w.Stalls() > stalls })
	cancel(reason)
	if err := receive(t, "its end", written); !errors.Is(err, reason) || w.Last() != stopped {
		t.Errorf("write: %v, at chunk %d", err, w.Last())
	}
	for range 16 {
		brokertest.Eventually(t, "a chunk", func() bool { _, found := r.Next(); return found })
	}
	if err := w.Write(within(t, time.Minute), schemas.Payload("1")); err != nil {
		t.Errorf("after a credit: %v", err)
	}
	r.Close()
	brokertest.Eventually(t, "no chunk that waits though nobody is there for whom", func() bool {
		stalls := w.Stalls() // those before credit came, and the one before the reader was known to have left
		for range 100 {
			if err := w.Write(within(t, time.Minute), schemas.Payload("1")); err != nil {
				t.Fatalf("after the reader has left: %v", err)
			}
		}
		return w.Stalls() == stalls
	})
	w.End()
	if err := w.Write(within(t, time.Second), schemas.Payload("1")); !errors.Is(err, broker.ErrStreamEnded) {
		t.Errorf("after the end: %v", err)
	}
}

func TestAReaderThatWasThereFirst(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	r := s.reader(s.conn(), 0)
	s.knows(1)
	w := s.open()
	for range 16 {
		if err := w.Write(within(t, time.Minute), schemas.Payload("1")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Write(within(t, 50*time.Millisecond), schemas.Payload("1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the reader does not count: %v", err)
	}
	r.Close()
}

func TestAReaderThatVanishes(t *testing.T) {
	t.Parallel()
	s := newStudio(t, func(c *broker.ChunkConfig) { c.Limits.Silence = time.Second })
	ghost := s.conn()
	say := func() {
		if err := ghost.Publish(broker.SubjectCredit("a1", s.message.TaskID), []byte(`{"reader":"ghost","resume":1}`)); err != nil {
			t.Fatal(err)
		}
	}
	brokertest.Eventually(t, "the writer knows its reader", func() bool {
		say()
		return s.writers.Known(s.message.TaskID) == 1
	})
	w := s.open()
	var writing sync.WaitGroup
	writing.Go(func() { s.writeAll(w, 100) })
	brokertest.Eventually(t, "the writer waits for the reader", func() bool {
		if w.Stalls() > 0 {
			return true
		}
		say()
		return false
	})
	writing.Wait() // and not for ever
	if w.Last() != 100 {
		t.Errorf("%d chunks", w.Last())
	}
}

func TestReadersEachAtTheirOwnPace(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	fast, slow := s.reader(s.conn(), 0), s.reader(s.conn(), 0)
	s.knows(2)
	var all sync.WaitGroup
	all.Go(func() {
		s.writeAll(s.open(), 400)
		fast.End(400)
		slow.End(400)
	})
	all.Go(func() { wantHeard(t, numbers(1, 400), s.readAll(fast, 0)) })
	all.Go(func() { wantHeard(t, numbers(1, 400), s.readAll(slow, time.Millisecond)) })
	all.Wait()
}

func TestAReaderThatFallsOutOfTheReplay(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	fast, slow := s.reader(s.conn(), 0), s.reader(s.conn(), 0)
	s.knows(2)
	go func() {
		s.writeAll(s.open(), 3000)
		fast.End(3000)
	}()
	wantHeard(t, numbers(1, 3000), s.readAll(fast, 0))
	slow.End(3000)
	got := s.readAll(slow, 0)
	gap := got[len(got)-1]
	wantHeard(t, numbers(1, len(got)-1), got[:len(got)-1])
	if want := fmt.Sprintf("gap 0 %d ", len(got)); !strings.HasPrefix(gap, want) {
		t.Errorf("%s, want %s…", gap, want)
	}
}

func TestLateReaders(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	w := s.open()
	for n := range 500 {
		if err := w.Write(within(t, time.Minute), schemas.Payload(fmt.Sprint(n+1))); err != nil {
			t.Fatal(err)
		}
	}
	early := s.reader(s.conn(), 0)
	got := make(chan heard, 1)
	go func() { got <- s.readAll(early, 0) }()
	s.writeAll(w, 100)
	early.End(600)
	wantHeard(t, numbers(1, 600), <-got)

	// The stream has ended, and is kept for a while.
	late := s.reader(s.conn(), 580)
	late.End(600)
	wantHeard(t, numbers(581, 600), s.readAll(late, 0))
}

func TestAStreamThatIsNoLongerKept(t *testing.T) {
	t.Parallel()
	s := newStudio(t, func(c *broker.ChunkConfig) { c.Linger, c.Patience = 50*time.Millisecond, 200*time.Millisecond })
	conn := s.conn()
	s.writeAll(s.open(), 10)
	brokertest.Eventually(t, "the end of the stream's replay", func() bool {
		pause(100 * time.Millisecond) // in which nobody asks for it
		r := s.reader(conn, 4)
		defer r.Close()
		r.End(10)
		return cmp.Equal(heard{"gap 0 5 10"}, s.readAll(r, 0))
	})
}

func TestASlowReader(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		agent    time.Duration // between two of its chunks
		rest     time.Duration // of the reader
		switched bool
	}{ // what the share is to be is a matter of the window's own tests: how fast a busy machine lets both be is not known
		{"by far slower than its agent gets the result in one piece", 0, 40 * time.Millisecond, true},
		{"as fast as its agent gets all chunks", 10 * time.Millisecond, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStudio(t, func(c *broker.ChunkConfig) { c.Limits.Span = time.Second })
			r := s.reader(s.conn(), 0)
			s.knows(1)
			w := s.open()
			go func() {
				defer func() { r.End(w.Last()) }()
				defer w.End()
				for n := range 200 {
					pause(tt.agent)
					if err := w.Write(within(t, time.Minute), schemas.Payload(fmt.Sprint(n+1))); err != nil {
						t.Errorf("write: %v", err)
					}
				}
			}()
			got := s.readAll(r, tt.rest)
			if !tt.switched {
				wantHeard(t, numbers(1, 200), got)
				return
			}
			if last := got[len(got)-1]; last != "mode_changed 0 0 0" || len(got) > 150 {
				t.Errorf("%d pieces, at last %s", len(got), last)
			}
			wantHeard(t, numbers(1, len(got)-1), got[:len(got)-1])
			stranger := s.conn()
			brokertest.Eventually(t, "what its agent goes on to send costs the reader nothing", func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				_, err := stranger.Request(ctx, broker.SubjectChunk("a1", s.message.TaskID), nil)
				return errors.Is(err, broker.ErrNoResponders)
			})
		})
	}
}

// A reader that is cut off again and again, and comes back each time with the number of the last chunk that it has, gets each chunk
// once.
func TestCutsAndResumes(t *testing.T) {
	t.Parallel()
	const cuts, chunks = 300, 1000 // no more than the replay: the agent does not wait while nobody is there
	s := newStudio(t)
	conns := []*broker.Conn{s.conn(), s.conn(), s.conn()}
	random := rand.New(rand.NewPCG(1, 2))
	s.message.ResponseMode = schemas.ModeStream
	w := s.open()
	var writing sync.WaitGroup
	writing.Go(func() { s.writeAll(w, chunks) })
	var got heard
	for cut := range cuts {
		after := int64(len(got))
		r, err := conns[cut%len(conns)].ReadChunks(s.message.TaskID, after)
		if err != nil {
			t.Fatal(err)
		}
		r.From("a1")
		if cut == cuts-1 {
			r.End(chunks)
		}
		enough := len(got) + 1 + random.IntN(5)
		for piece, err := range r.All(within(t, time.Minute)) {
			if err != nil {
				t.Fatalf("cut %d: %v", cut, err)
			}
			got.add(piece)
			if len(got) >= enough && cut < cuts-1 || piece.Notice != nil {
				break
			}
		}
		r.Close()
	}
	writing.Wait()
	wantHeard(t, numbers(1, chunks), got)
}

func TestAnOutageInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	r := s.reader(s.conn(), 0)
	s.knows(1)
	go func() {
		s.writeAll(s.open(), 300)
		r.End(300)
	}()
	var got heard
	for piece, err := range r.All(within(t, time.Minute)) {
		if err != nil {
			t.Fatal(err)
		}
		got.add(piece)
		if len(got)%100 == 0 && len(got) < 300 {
			s.broker.Stop()
			s.broker.Start()
		}
	}
	wantHeard(t, numbers(1, 300), got)
}

func TestAnotherAgentGoesOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		assignment schemas.Assignment
		early      bool // the reader knows of it before it begins
	}{
		{"where it is known how far the first one came", schemas.Assignment{NextChunk: 31}, false},
		{"where nobody knows but the reader", schemas.Assignment{Restarts: 1}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStudio(t)
			r := s.reader(s.conn(), 0)
			s.knows(1)
			first := s.open()
			go s.writeAll(first, 30)
			var got heard
			for piece, err := range r.All(within(t, time.Minute)) {
				if err != nil {
					t.Fatal(err)
				}
				if got.add(piece); len(got) == 30 {
					break
				}
			}
			s.writers.Close() // its worker has died
			s.times.Limits.Settle = time.Millisecond
			other := s.agent("b2")
			s.message.Attempt, s.message.Assignment = 2, &tt.assignment
			if tt.early {
				r.From("b2")
				brokertest.Eventually(t, "a word of the reader", func() bool { return other.Known(s.message.TaskID) == 1 })
			}
			go func() {
				w := other.Open(&s.message)
				s.writeFrom(w, 31, 20)
				r.End(w.Last())
			}()
			if !tt.early {
				brokertest.Eventually(t, "a word of the other agent", r.Strangers)
				r.From("b2")
			}
			got = append(got, s.readAll(r, 0)...)
			wantHeard(t, append(append(numbers(1, 30), "restarted 31 0 0"), numbers(31, 50)...), got)
		})
	}
}

func TestAReaderThatGoesOnToAcknowledgeStillWantsWhatItHasAskedFor(t *testing.T) {
	t.Parallel()
	s := newStudio(t, func(c *broker.ChunkConfig) { c.Limits.Settle = time.Millisecond })
	reader := s.conn()
	for _, credit := range []string{`{"reader":"one","ack":29,"resume":31}`, `{"reader":"one","ack":29}`, `{"reader":"two"}`} {
		if err := reader.Publish(broker.SubjectCredit("a1", s.message.TaskID), []byte(credit)); err != nil {
			t.Fatal(err)
		}
	}
	s.knows(2)
	s.message.Attempt, s.message.Assignment = 2, &schemas.Assignment{Restarts: 1}
	w := s.open()
	if err := w.Write(within(t, time.Minute), schemas.Payload("31")); err != nil || w.Last() != 31 {
		t.Errorf("%v; the first chunk is number %d, want 31", err, w.Last())
	}
}

func TestStrangersAreNotHeard(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	r := s.reader(s.conn(), 0)
	forged := `{"task_id":"` + s.message.TaskID + `","attempt":9,"n":1,"data":"forged"}`
	for _, agent := range []string{"mallory", "a1"} {
		for _, body := range []string{forged, `{"notice":"mode_changed"`, `[]`, ``, `{"notice":"gap","from":1,"to":99}`} {
			if agent == "a1" && strings.Contains(body, "attempt") || strings.Contains(body, "gap") && agent == "a1" {
				continue
			}
			if err := s.conn().Publish(broker.SubjectChunk(agent, s.message.TaskID), []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.settled()
	s.writeAll(s.open(), 3)
	r.End(3)
	wantHeard(t, numbers(1, 3), s.readAll(r, 0))
}

// What is on the wire is all that a reader in another language needs: chunks on one subject, credit on another.
func TestAReaderOfTheBareWire(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	conn := s.conn()
	arrived := make(chan string, 100)
	sub, err := conn.Subscribe(broker.SubjectChunk("a1", s.message.TaskID), func(_ string, body []byte) { arrived <- string(body) })
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	say := func(credit string) {
		if err := conn.Publish(broker.SubjectCredit("a1", s.message.TaskID), []byte(credit)); err != nil {
			t.Fatal(err)
		}
	}
	say(`{"resume":1}`)
	s.knows(1)
	w := s.open()
	go s.writeAll(w, 40)
	expect := func(from, to int) {
		t.Helper()
		for n := from; n <= to; n++ {
			want := fmt.Sprintf(`{"v":1,"task_id":%q,"attempt":1,"n":%d,"data":%d}`, s.message.TaskID, n, n)
			if got := <-arrived; got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
		}
	}
	expect(1, 16)
	say(`{"ack":8}`)
	expect(17, 24)
	say(`{"resume":20}`)
	expect(20, 24)
	say(`{"ack":24}`)
	expect(25, 40)
}

func TestAChunkThatTheBrokerCannotCarry(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	r := s.reader(s.conn(), 0)
	s.knows(1)
	w := s.open()
	for _, size := range []int{1, 2 << 20, 1} {
		data := schemas.Payload(`"` + strings.Repeat("x", size) + `"`)
		if err := w.Write(within(t, time.Minute), data); err != nil {
			t.Fatal(err)
		}
	}
	w.End()
	r.End(w.Last())
	wantHeard(t, heard{`1="x"`, "gap 0 2 2"}, s.readAll(r, 0))
}

func TestLiteralsGoThroughChunks(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	r := s.reader(s.conn(), 0)
	s.knows(1)
	literals := []string{
		"9007199254740993", "9223372036854775807", "18446744073709551615", "0.1", "1.0", "1e2", "-0",
		"1234567890123456789012345678901234567890", `"\u00e9<b>"`, `{"z":1.0,"a":[-0]}`, "null",
	}
	w := s.open()
	for _, literal := range literals {
		if err := w.Write(within(t, time.Minute), schemas.Payload(literal)); err != nil {
			t.Fatal(err)
		}
	}
	w.End()
	r.End(w.Last())
	var want heard
	for i, literal := range literals {
		want = append(want, fmt.Sprint(i+1, "=", literal))
	}
	wantHeard(t, want, s.readAll(r, 0))
	if err := s.open().Write(within(t, time.Second), schemas.Payload("{")); err == nil {
		t.Error("what is no JSON was sent")
	}
}

// A reader that comes and goes while the agent writes at full speed costs the writer no memory beyond the replay.
func TestAWriterKeepsNoMoreThanTheReplay(t *testing.T) {
	t.Parallel()
	s := newStudio(t, func(c *broker.ChunkConfig) { c.Limits = window.Limits{Bytes: 10_000, Span: time.Minute} })
	w := s.open()
	data := schemas.Payload(`"` + strings.Repeat("x", 1000) + `"`)
	for range 200 {
		if err := w.Write(within(t, time.Minute), data); err != nil {
			t.Fatal(err)
		}
	}
	w.End()
	r := s.reader(s.conn(), 0)
	r.End(200)
	wantHeard(t, heard{"gap 0 1 191"}, s.readAll(r, 0))
}
