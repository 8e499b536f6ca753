package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/broker/window"
	"github.com/agentreach/agent-reach/schemas"
)

// ChunkWriter is the stream of one attempt at a task, from the side of the worker that runs it. What is decided is decided by a
// window.Sender; the writer brings it the time and the readers' words, and sends what it says.
type ChunkWriter struct {
	writers *ChunkWriters
	taskID  string
	attempt int
	subject string
	form    chunkForm

	turn chan struct{} // held by the Write that is under way
	bell chan struct{} // a reader has said something
	over chan struct{} // closed once nothing more can be written
	ends sync.Once

	mu      sync.Mutex
	sender  *window.Sender
	endedAt time.Time
	heardAt time.Time // when a reader last took something after the end
	kept    int       // bytes kept for readers after the end
	stalls  int64     // chunks that had to wait for their readers
}

func newChunkWriter(w *ChunkWriters, m *schemas.ReachMessage) *ChunkWriter {
	one := &ChunkWriter{
		writers: w, taskID: m.TaskID, attempt: max(m.Attempt, 1), subject: SubjectChunk(w.agent, m.TaskID), form: chunkFormOf(m.TaskID),
		turn: make(chan struct{}, 1), bell: make(chan struct{}, 1), over: make(chan struct{}),
	}
	start := window.Start{Attempt: one.attempt, Announced: m.ResponseMode == schemas.ModeStream}
	if a := m.Assignment; a != nil {
		start.First, start.Restarts = a.NextChunk, a.Restarts
	}
	sender, sends := window.Open(w.conn.cfg.Chunks.Limits, start, time.Now())
	one.sender = sender
	one.send(sends)
	return one
}

// begin takes what readers said before the stream was there.
func (w *ChunkWriter) begin(early map[string]earlyCredit) {
	for _, c := range early {
		w.credit(c.Credit)
	}
}

// Write sends the next chunk. While the window is full and a reader is there, it waits, at most until ctx ends. A chunk that is too
// large for the broker is counted, and its readers are told that they have missed it.
func (w *ChunkWriter) Write(ctx context.Context, data schemas.Payload) error {
	if err := schemas.ScanWithin(data); err != nil {
		return fmt.Errorf("write chunk: %w", err)
	}
	return w.put(ctx, func(n int64) []byte { return w.form.write(w.attempt, n, data) })
}

// Skip counts a chunk that cannot be sent at all.
func (w *ChunkWriter) Skip(ctx context.Context) error {
	return w.put(ctx, func(int64) []byte { return nil })
}

// put makes the next chunk and sends it once there is room; no body is one that is skipped.
func (w *ChunkWriter) put(ctx context.Context, make func(n int64) []byte) error {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.over:
		return ErrStreamEnded
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var next pending
	for waits := false; ; {
		done, deadline, err := w.try(&next, make)
		if done || err != nil {
			return err
		}
		if !waits && next.n > 0 { // before its first number is known, a stream waits for something else
			waits = true
			w.stalled()
		}
		if err := w.await(ctx, deadline); err != nil {
			return err
		}
	}
}

// pending is a chunk that waits for room.
type pending struct {
	n    int64
	body []byte
}

// try sends the chunk if there is room, else says until when nothing can change but by a reader's word.
func (w *ChunkWriter) try(next *pending, make func(n int64) []byte) (done bool, deadline time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isOver() {
		return false, deadline, ErrStreamEnded
	}
	now := time.Now()
	w.send(w.sender.Tick(now))
	n, begun := w.sender.Next()
	if begun && next.n != n {
		next.n = n
		next.body = make(n)
		if int64(len(next.body)+headerReaderBytes) > w.writers.conn.MaxPayload() {
			next.body = nil
		}
	}
	if !w.sender.Room(len(next.body), now) {
		return false, w.sender.Deadline(), nil
	}
	if next.body == nil {
		w.send(w.sender.Skip(now))
	} else {
		w.send(w.sender.Add(next.body, now))
	}
	return true, deadline, nil
}

func (w *ChunkWriter) stalled() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stalls++
}

// Stalls is how many chunks had to wait because the window of the fastest reader was full: as often, the agent was not read.
func (w *ChunkWriter) Stalls() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stalls
}

// await returns when it is worth another try.
func (w *ChunkWriter) await(ctx context.Context, deadline time.Time) error {
	var alarm <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-w.bell:
	case <-alarm:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.over:
		return ErrStreamEnded
	}
	return nil
}

// send publishes what the sender says; the caller holds the lock, so that it goes out in the order in which it was decided. What an
// outage swallows is sent again after it.
func (w *ChunkWriter) send(sends []window.Send) {
	for _, s := range sends {
		body := s.Body
		if s.Notice != nil {
			body = schemas.MustEncode(s.Notice)
		}
		if err := w.writers.conn.publishTo(w.subject, s.Reader, body); err != nil && !errors.Is(err, ErrDisconnected) {
			w.writers.conn.log.Debug().Err(err).Str("task_id", w.taskID).Msg("chunk not sent")
		}
	}
}

// credit takes what a reader says.
func (w *ChunkWriter) credit(c schemas.Credit) {
	w.mu.Lock()
	w.heardAt = time.Now()
	w.send(w.sender.Credit(c, w.heardAt))
	w.mu.Unlock()
	ring(w.bell)
}

// lost sends again what may not have arrived.
func (w *ChunkWriter) lost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.send(w.sender.Lost(time.Now()))
}

// Last is the number of the last chunk; 0 if there was none.
func (w *ChunkWriter) Last() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sender.Last()
}

// End ends the stream. Its replay is kept for a while, for readers that are behind or come late.
func (w *ChunkWriter) End() {
	w.ends.Do(func() { close(w.over) })
	w.mu.Lock()
	w.endedAt = time.Now()
	w.send(w.sender.End(w.endedAt))
	empty := w.sender.Last() == 0
	w.kept = w.sender.Bytes()
	w.mu.Unlock()
	if empty {
		w.writers.forget(w)
		return
	}
	w.writers.linger(w)
}

// until is when a stream that has ended is no longer kept.
func (w *ChunkWriter) until() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	cfg := w.writers.conn.cfg.Chunks
	until := w.endedAt.Add(cfg.Linger)
	if last := w.heardAt.Add(cfg.Linger); last.After(until) {
		until = last
	}
	if most := w.endedAt.Add(cfg.LingerMax); until.After(most) {
		return most
	}
	return until
}

func (w *ChunkWriter) isOver() bool {
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// close ends the stream without keeping anything.
func (w *ChunkWriter) close() { w.ends.Do(func() { close(w.over) }) }
