package broker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// studio is a broker with an agent that writes one stream.
type studio struct {
	t       *testing.T
	broker  *brokertest.Broker
	times   broker.ChunkConfig
	writers *broker.ChunkWriters
	message schemas.ReachMessage
}

func newStudio(t *testing.T, change ...func(*broker.ChunkConfig)) *studio {
	t.Helper()
	s := &studio{
		t: t, broker: brokertest.New(t), message: schemas.ReachMessage{TaskID: schemas.NewTaskID(), Attempt: 1},
		times: broker.ChunkConfig{Beat: 50 * time.Millisecond, Patience: time.Minute, Linger: time.Minute},
	}
	s.times.Limits.Span = time.Minute    // agents are instant here: no reader could keep up
	s.times.Limits.Silence = time.Minute // nobody goes without a word
	for _, fn := range change {
		fn(&s.times)
	}
	s.writers = s.agent("a1")
	return s
}

func (s *studio) conn() *broker.Conn {
	return s.broker.Connect(s.t, func(cfg *broker.Config) { cfg.Chunks = s.times })
}

// agent is a worker's connection, and what it writes of an agent's streams.
func (s *studio) agent(id string) *broker.ChunkWriters {
	s.t.Helper()
	w, err := s.conn().WriteChunks(id)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(w.Close)
	return w
}

func (s *studio) open() *broker.ChunkWriter { return s.writers.Open(&s.message) }

// reader reads on a connection of its own.
func (s *studio) reader(conn *broker.Conn, after int64) *broker.ChunkReader {
	s.t.Helper()
	r, err := conn.ReadChunks(s.message.TaskID, after)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(r.Close)
	r.From("a1")
	return r
}

// writeAll writes so many chunks, each its number, and ends the stream.
func (s *studio) writeAll(w *broker.ChunkWriter, count int) {
	s.t.Helper()
	defer w.End()
	for range count {
		if err := w.Write(within(s.t, time.Minute), schemas.Payload(fmt.Sprint(w.Last()+1))); err != nil {
			s.t.Errorf("write: %v", err)
			return
		}
	}
}

// heard is what a reader was given: numbers of chunks, their data where it is not the number, and notices.
type heard []string

func (h *heard) add(p broker.Piece) {
	if n := p.Notice; n != nil {
		*h = append(*h, fmt.Sprint(n.Notice, " ", n.Next, " ", n.From, " ", n.To))
		return
	}
	if data := string(p.Chunk.Data); data != fmt.Sprint(p.Chunk.N) {
		*h = append(*h, fmt.Sprint(p.Chunk.N, "=", data))
		return
	}
	*h = append(*h, fmt.Sprint(p.Chunk.N))
}

// readAll reads to the end, resting after each chunk.
func (s *studio) readAll(r *broker.ChunkReader, rest time.Duration) heard {
	var got heard
	for piece, err := range r.All(within(s.t, time.Minute)) {
		if err != nil {
			s.t.Errorf("read: %v after %d pieces", err, len(got))
			return got
		}
		got.add(piece)
		pause(rest)
	}
	return got
}

func pause(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}

// numbers are the chunks from one to another.
func numbers(from, to int) heard {
	var h heard
	for n := from; n <= to; n++ {
		h = append(h, fmt.Sprint(n))
	}
	return h
}

func wantHeard(t *testing.T, want, got heard) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("heard (-want +got)\n%.2000s", diff)
	}
}

// settled waits until the broker has passed on what was said so far.
func (s *studio) settled() {
	s.t.Helper()
	conn := s.conn()
	heard := make(chan struct{}, 1)
	sub, err := conn.Subscribe("reach.test.settled", func(string, []byte) { heard <- struct{}{} })
	if err != nil {
		s.t.Fatal(err)
	}
	defer sub.Close()
	if err := conn.Publish("reach.test.settled", nil); err != nil {
		s.t.Fatal(err)
	}
	<-heard
}

// knows waits until so many readers have been heard of at the writer's end, whose stream has not begun.
func (s *studio) knows(readers int) {
	s.t.Helper()
	brokertest.Eventually(s.t, "the writer knows its readers", func() bool { return s.writers.Known(s.message.TaskID) == readers })
}

// writeFrom writes chunks whose data counts on from a number, and ends the stream.
func (s *studio) writeFrom(w *broker.ChunkWriter, from, count int) {
	defer w.End()
	for n := range count {
		if err := w.Write(within(s.t, time.Minute), schemas.Payload(fmt.Sprint(from+n))); err != nil {
			s.t.Errorf("write: %v", err)
		}
	}
}
