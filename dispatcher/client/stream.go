package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// Fresh is where a reader begins that has no chunk yet. Of a task that has already ended it hears the end alone; whoever names a
// chunk, or 0, gets those that are still kept before that.
const Fresh = -1

// replayLife is how long after the end of a task its chunks may still be kept.
const replayLife = time.Minute

// Event is one thing that happens to a task. Exactly one of its fields is set; the last event is a Task that has ended.
type Event struct {
	Task     *schemas.Task // its state, phase, agent or attempt is another than before
	Progress *schemas.Progress
	Chunk    *schemas.Chunk
	Notice   *schemas.Notice
}

// Stream is what happens to one task, for one reader. It is used by one goroutine at a time, and has to be closed.
//
// Chunks are read from the agent's worker itself; how the task stands is asked of a dispatcher once a second where nothing else is
// heard, and its result is listened for. A stream survives the death of dispatchers and agents, and outages of the broker.
type Stream struct {
	client *Client
	taskID string
	after  int64
	reader *broker.ChunkReader // nil where no chunks are to come
	ear    *ear                // nil once the end was heard

	task     *schemas.Task
	told     standing
	looked   *schemas.Progress // was looked at
	progress string            // was told
	ended    bool
	over     bool
}

// standing is what is an event when it changes.
type standing struct {
	state   schemas.State
	phase   schemas.Phase
	agentID string
	attempt int
}

func standingOf(t *schemas.Task) standing { return standing{t.State, t.Phase, t.AgentID, t.Attempt} }

// Follow begins to read along with a task, after a chunk, or Fresh. The task runs the same, whoever reads or leaves.
func (c *Client) Follow(ctx context.Context, taskID string, after int64) (*Stream, error) {
	if err := schemas.CheckTaskID(taskID); err != nil {
		return nil, schemas.AsError(err)
	}
	ear, err := c.ears.open(context.WithoutCancel(ctx), taskID)
	if err != nil {
		return nil, err
	}
	s := &Stream{client: c, taskID: taskID, after: max(after, 0), ear: ear}
	if err := s.begin(ctx, after); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stream) begin(ctx context.Context, after int64) error {
	task, err := s.client.bare(ctx, s.taskID)
	if err != nil {
		return err
	}
	s.see(task)
	if s.ended && (after == Fresh || task.Chunks <= s.after || time.Since(task.FinishedAt.Time) > replayLife) {
		return nil
	}
	reader, err := s.client.conn.ReadChunks(s.taskID, s.after)
	if err != nil {
		return subscribeError(err)
	}
	s.reader = reader
	s.steer()
	return nil
}

// Next waits for the next event. Asking for it acknowledges the one before: a reader that is slow to ask slows down the agent, within
// bounds. After the last event the error is io.EOF.
func (s *Stream) Next(ctx context.Context) (Event, error) {
	var quiet *time.Ticker
	for {
		event, found := s.next()
		switch {
		case found && s.over:
			return s.last(ctx)
		case found:
			return event, nil
		case s.over:
			return Event{}, io.EOF
		}
		if quiet == nil { // most often, the next event is there
			quiet = time.NewTicker(s.client.look)
			defer quiet.Stop()
		}
		if err := s.await(ctx, quiet.C); err != nil {
			return Event{}, err
		}
	}
}

// last is the event that ends the stream: the task, with its result. Where that cannot be had now, it is asked for again.
func (s *Stream) last(ctx context.Context) (Event, error) {
	task, err := s.client.whole(ctx, s.task, nil)
	s.over, s.task = err == nil, task
	if err != nil {
		return Event{}, err
	}
	return Event{Task: task}, nil
}

// await returns when it is worth looking for an event again.
func (s *Stream) await(ctx context.Context, quiet <-chan time.Time) error {
	var ready <-chan struct{}
	if s.reader != nil {
		ready = s.reader.Ready()
	}
	select {
	case <-ready:
		if !s.reader.Strangers() {
			return nil
		}
	case <-s.heard():
		if task := s.shut(); task != nil {
			s.see(task)
			s.steer()
			return nil
		}
	case <-s.doubt():
	case <-quiet:
	case <-ctx.Done():
		return canceled()
	}
	return s.look(ctx)
}

// heard is closed once the result was heard, and doubt is rung when it may have been missed.
func (s *Stream) heard() <-chan struct{} {
	if s.ear == nil {
		return nil
	}
	return s.ear.ctx.Done()
}

func (s *Stream) doubt() <-chan struct{} {
	if s.ear == nil {
		return nil
	}
	return s.ear.doubt
}

// shut stops listening for the result, and gives it if it was heard.
func (s *Stream) shut() *schemas.Task {
	if s.ear == nil {
		return nil
	}
	task := s.client.ears.shut(s.ear)
	s.ear = nil
	return task
}

// look asks how the task stands. That nobody answers does not end the stream: somebody will.
func (s *Stream) look(ctx context.Context) error {
	if s.ended {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, 2*s.client.look) // chunks wait meanwhile
	defer cancel()
	task, err := s.client.bare(asking, s.taskID)
	switch {
	case err == nil:
		s.see(task)
		s.steer()
	case ctx.Err() != nil:
		return canceled()
	case schemas.AsError(err).Code != schemas.Unavailable:
		return err
	}
	return nil
}

// see takes in how the task stands. A task that has ended stays as it ended.
func (s *Stream) see(task *schemas.Task) {
	if s.ended || s.task != nil && task.Revision < s.task.Revision {
		return
	}
	s.task, s.ended = task, task.State.Terminal()
}

// steer reads from the agent that has the task, or that has ended it.
func (s *Stream) steer() {
	if s.reader == nil {
		return
	}
	if s.task.AgentID != "" {
		s.reader.From(s.task.AgentID)
	}
	if s.ended {
		s.reader.End(s.task.Chunks)
	}
}

// next is the next event that is at hand: how the task stands comes before the chunks that it has led to, and its end comes last.
func (s *Stream) next() (Event, bool) {
	if s.over {
		return Event{}, false
	}
	if !s.ended && standingOf(s.task) != s.told {
		s.told = standingOf(s.task)
		return Event{Task: s.task}, true
	}
	if p := s.task.Progress; !s.ended && p != nil && p != s.looked {
		s.looked = p
		if text := string(schemas.MustEncode(p)); text != s.progress {
			s.progress = text
			return Event{Progress: p}, true
		}
	}
	if s.reader != nil {
		if piece, found := s.reader.Next(); found {
			return Event{Chunk: piece.Chunk, Notice: piece.Notice}, true
		}
	}
	if !s.ended || s.reader != nil && !s.reader.Complete() {
		return Event{}, false
	}
	s.over = true
	return Event{Task: s.task}, true
}

// Task is the task as it is known: as it ended, once the stream has.
func (s *Stream) Task() *schemas.Task { return s.task }

// Close ends the stream. The task goes on.
func (s *Stream) Close() {
	s.over = true
	s.shut()
	if s.reader != nil {
		s.reader.Close()
	}
}

// Chunks gives the chunks alone. The body of the loop is the time that one takes. A chunk of a higher attempt than the one before
// says that another agent has begun again: what came before no longer counts. The loop ends with the task; its last error, if there
// is one, is why the task has no result. Whoever cannot keep up, and whoever comes too late, gets no more chunks before that: Task has
// the whole result in any case.
func (s *Stream) Chunks(ctx context.Context) iter.Seq2[*schemas.Chunk, error] {
	return func(yield func(*schemas.Chunk, error) bool) {
		for {
			event, err := s.Next(ctx)
			switch {
			case errors.Is(err, io.EOF):
				if s.task.State != schemas.StateCompleted {
					yield(nil, failure(s.task))
				}
				return
			case err != nil:
				yield(nil, err)
				return
			case event.Chunk != nil && !yield(event.Chunk, nil):
				return
			}
		}
	}
}

// Chunks gives the chunks of a task, as Stream.Chunks does, from the first one on.
func (c *Client) Chunks(ctx context.Context, taskID string) iter.Seq2[*schemas.Chunk, error] {
	return func(yield func(*schemas.Chunk, error) bool) {
		stream, err := c.Follow(ctx, taskID, 0)
		if err != nil {
			yield(nil, err)
			return
		}
		defer stream.Close()
		stream.Chunks(ctx)(yield)
	}
}
