package mqttfront

import (
	"context"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/align"
)

// chunksAhead is how many chunks of a task a device may send before they are acknowledged. What it sends beyond is dropped: it sends it
// again.
const chunksAhead = 16

const (
	maxStreams = 64      // of one device at once
	maxLate    = 1 << 16 // chunks that went another way before a stream comes here
)

// stream passes on the chunks of one attempt, in the order of their numbers, which count from 1 with each attempt. Its goroutine waits
// for the readers, so that a device which waits for its acknowledgements is no faster than they are. The numbers are the session's.
type stream struct {
	attempt int
	writer  *broker.ChunkWriter
	next    int64 // the number that is awaited
	ahead   chan schemas.Payload
	ended   bool
	words   *align.Pair   // of the device's chunks
	passed  chan struct{} // closed when all of ahead has been passed on
}

// chunk takes one chunk of a task from the device.
func (s *session) chunk(body []byte) {
	about := schemas.DeviceAnswer{About: verbChunk}
	var c schemas.Chunk
	err := schemas.Accept(body, &c)
	if err == nil {
		err = schemas.CheckTaskID(c.TaskID)
	}
	if about.TaskID = c.TaskID; err == nil && (c.N < 1 || c.N > schemas.MaxChunk || c.Data == nil) {
		err = schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue, "n takes a number from 1, and data any JSON value").With("field", "/n")
	}
	if err != nil {
		s.b.fail(s.name, about, err)
		return
	}
	one := s.streamOf(&c)
	if one == nil {
		return // the device is not served now: it sends it again
	}
	switch {
	case c.N < one.next:
		about.N = one.next - 1
		s.b.answer(s.name, about)
	case c.N == one.next && !one.ended:
		select {
		case one.ahead <- one.words.Chunk(c.Data):
			one.next++
		default:
		}
	}
}

// streamOf is the stream that a chunk belongs to. One that begins in its midst, because another dispatcher had it before, counts what
// went that way.
func (s *session) streamOf(c *schemas.Chunk) *stream {
	a := s.attendance
	if a == nil {
		return nil
	}
	attempt := max(1, c.Attempt)
	if old := a.streams[c.TaskID]; old != nil {
		if old.attempt >= attempt {
			return old
		}
		old.end()
	}
	if len(a.streams) >= maxStreams {
		a.dropStreams()
	}
	if c.N > maxLate || len(a.streams) >= maxStreams {
		return nil
	}
	if a.chunks == nil {
		chunks, err := s.b.conn.WriteChunks(s.name)
		if err != nil {
			s.b.log.Warn().Err(err).Str("device", s.name).Msg("a device's stream cannot be passed on")
			return nil
		}
		a.chunks = chunks
	}
	m := &schemas.ReachMessage{TaskID: c.TaskID, Attempt: attempt}
	if p := a.hand.given[c.TaskID]; p != nil {
		m = p.message
	}
	one := &stream{
		attempt: attempt, writer: a.chunks.Open(m), next: c.N, ahead: make(chan schemas.Payload, chunksAhead), passed: make(chan struct{}),
	}
	if len(a.words) > 0 {
		one.words = a.words[s.capability(c.TaskID)]
	}
	a.streams[c.TaskID] = one
	taskID, before := c.TaskID, c.N-1
	s.b.sessions.Go(func() {
		defer close(one.passed)
		s.pass(s.b.life, taskID, one.writer, one.ahead, before)
	})
	return one
}

// dropStreams ends the streams of tasks that the device has not been given.
func (a *attendance) dropStreams() {
	for taskID, one := range a.streams {
		if a.hand.given[taskID] == nil {
			delete(a.streams, taskID)
			one.end()
		}
	}
}

// pass writes chunks as fast as their readers allow, and acknowledges them to the device.
func (s *session) pass(ctx context.Context, taskID string, writer *broker.ChunkWriter, ahead <-chan schemas.Payload, before int64) {
	defer writer.End()
	for range before {
		if writer.Skip(ctx) != nil {
			return
		}
	}
	for n := before + 1; ; n++ {
		select {
		case data, more := <-ahead:
			if !more {
				return
			}
			if writer.Write(ctx, data) != nil {
				return
			}
			s.b.answer(s.name, schemas.DeviceAnswer{About: verbChunk, TaskID: taskID, N: n})
		case <-ctx.Done():
			return
		}
	}
}

// end takes no more chunks: what was taken in is still passed on.
func (o *stream) end() {
	if !o.ended {
		o.ended = true
		close(o.ahead)
	}
}

// last ends the stream, gives its readers a while to take what is left, and tells the number of its last chunk, in the task's own count.
func (o *stream) last(patience time.Duration) int64 {
	o.end()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-o.passed:
	case <-timer.C:
	}
	return o.writer.Last()
}
