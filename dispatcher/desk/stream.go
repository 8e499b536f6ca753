package desk

import (
	"context"
	"errors"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// reasonWindowFull says that readers are behind.
const reasonWindowFull = "WINDOW_FULL"

// stream is the chunks of one job. turn is held by whoever looks at the rest.
type stream struct {
	turn   chan struct{}
	writer *broker.ChunkWriter // nil before the first
	last   int64               // the number, within the attempt, of the last chunk that was taken
}

func newStream() stream { return stream{turn: make(chan struct{}, 1)} }

// end ends the stream, and gives the number of the last chunk as readers know it, 0 if there was none, or nobody knows, and how many had
// to wait for their readers.
func (s *stream) end() (last, stalls int64) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.writer == nil {
		return 0, 0
	}
	s.writer.End()
	return s.writer.Last(), s.writer.Stalls()
}

// Chunk passes on a piece of a result. Its number counts from 1 within the attempt: one that came before is taken as it is known, one
// after a gap is refused. While readers are behind by a whole window it waits, and is then refused with WINDOW_FULL, to be sent again.
func (d *Desk) Chunk(ctx context.Context, token uint64, chunk *schemas.Chunk) (*schemas.Heard, error) {
	p, err := d.place(ctx, chunk.AgentID, chunk.InstanceID)
	if err != nil {
		return nil, err
	}
	j, err := p.adopted(ctx, chunk.TaskID, token)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.ChunkWait)
	defer cancel()
	last, err := p.write(ctx, j, chunk)
	if err != nil {
		return nil, err
	}
	return p.told(last), nil
}

// write sends a chunk to its readers, and gives the number of the last that was taken.
func (p *place) write(ctx context.Context, j *job, chunk *schemas.Chunk) (int64, error) {
	s := &j.stream
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return 0, windowFull()
	}
	if s.writer == nil {
		if err := p.openStream(j, chunk.N); err != nil {
			return 0, err
		}
	}
	switch {
	case chunk.N <= s.last:
		return s.last, nil
	case chunk.N > s.last+1:
		return 0, schemas.NewError(schemas.OutOfRange, "CHUNK_MISSING", "chunk %d comes next", s.last+1).
			With("field", "/n").With("expected", s.last+1)
	}
	err := s.writer.Write(ctx, p.words[j.message.Capability].Chunk(chunk.Data))
	switch {
	case errors.Is(err, broker.ErrStreamEnded):
		return 0, overtaken()
	case err != nil && ctx.Err() != nil:
		return 0, windowFull()
	case err != nil:
		return 0, schemas.AsError(err)
	}
	s.last = chunk.N
	return s.last, nil
}

func windowFull() *schemas.Error {
	e := schemas.NewError(schemas.ResourceExhausted, reasonWindowFull, "the readers are behind; send the same chunk again")
	e.RetryAfterMS = 1000
	return e
}

// openStream begins the stream of a job, at its first chunk, or, where another desk had the ones before, at the next.
func (p *place) openStream(j *job, n int64) error {
	writers, err := p.writers()
	if err != nil {
		return err
	}
	message := *j.message
	if n > 1 && j.adopted {
		assignment := *message.Assignment
		assignment.NextChunk = max(assignment.NextChunk, 1) + n - 1
		message.Assignment = &assignment
		j.stream.last = n - 1
	}
	j.stream.writer = writers.Open(&message)
	return nil
}

func (p *place) writers() (*broker.ChunkWriters, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, unreachable()
	}
	if p.chunks == nil {
		chunks, err := p.desk.conn.WriteChunks(p.agentID)
		if err != nil {
			return nil, unreachable()
		}
		p.chunks = chunks
	}
	return p.chunks, nil
}
