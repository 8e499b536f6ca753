package broker

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/broker/window"
	"github.com/agentreach/agent-reach/schemas"
)

// ChunkReader is the stream of a task from the side of one reader. It gives each chunk once and in order; asking for the next one
// acknowledges the one before. Only chunks of the agent that From has named count: who may run a task is the ledger's to say, and
// any agent may publish under its own name.
//
// The broker's goroutine puts in what arrives; a goroutine of the reader's own gives word once in a while that it is still there;
// whoever reads takes out. What is decided is decided by a window.Receiver, behind one lock.
type ChunkReader struct {
	conn    *Conn
	taskID  string
	name    string
	form    chunkForm
	chunks  *Subscription
	deafen  func()
	bell    chan struct{} // there is something to take, or to look at
	soon    chan struct{} // there is something to acknowledge
	trouble chan struct{}
	enough  chan struct{} // no chunk that comes from now on is wanted
	stop    chan struct{}
	stopped sync.WaitGroup
	closing sync.Once

	mu       sync.Mutex
	receiver *window.Receiver
	agent    string // "" before From
	credits  string // the subject of that agent's credit
	acking   bool   // the last chunks are about to be acknowledged
	strange  bool   // another agent has sent something since Strangers was last asked
}

// ReadChunks begins to hear the stream of a task, after chunk number after; 0 is all of it.
func (c *Conn) ReadChunks(taskID string, after int64) (*ChunkReader, error) {
	if taskID == Any {
		return nil, errBadSubject()
	}
	r := &ChunkReader{
		conn: c, taskID: taskID, name: newReaderName(), form: chunkFormOf(taskID), receiver: window.NewReceiver(c.cfg.Chunks.Limits, after, time.Now()),
		bell: make(chan struct{}, 1), soon: make(chan struct{}, 1), trouble: make(chan struct{}, 1), enough: make(chan struct{}, 1),
		stop: make(chan struct{}),
	}
	chunks, err := c.subscribe(SubjectChunk(Any, taskID), r.hear)
	if err != nil {
		return nil, fmt.Errorf("hear the chunks of %s: %w", taskID, err)
	}
	r.chunks = chunks
	r.deafen = c.OnTrouble(func(Trouble) { ring(r.trouble) })
	r.stopped.Go(r.keepTouch)
	return r, nil
}

// From names the agent whose chunks count from now on.
func (r *ChunkReader) From(agentID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if agentID == r.agent {
		return
	}
	r.give(&schemas.Credit{Leave: true})
	r.agent, r.credits = agentID, SubjectCredit(agentID, r.taskID)
	r.give(r.receiver.Join())
}

// Reads reports whether it is this agent's chunks that count.
func (r *ChunkReader) Reads(agentID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.agent == agentID
}

// give says something to the writer; the caller holds the lock. What gets lost is said again with the next beat.
func (r *ChunkReader) give(credit *schemas.Credit) {
	if credit == nil || r.agent == "" {
		return
	}
	credit.Reader = r.name
	_ = r.conn.Publish(r.credits, schemas.MustEncode(credit))
}

// hear takes what arrives.
func (r *ChunkReader) hear(m *nats.Msg) {
	to := m.Header.Get(headerReader)
	if to != "" && to != r.name {
		return
	}
	if r.over() {
		return // it will not be heard for much longer
	}
	var notice *schemas.Notice
	chunk := r.form.read(m.Data)
	if chunk == nil {
		chunk, notice = readPiece(m.Data)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if agentOfChunk(m.Subject) != r.agent {
		r.strange = true
		ring(r.bell)
		return
	}
	switch {
	case notice != nil:
		r.give(r.receiver.Notice(notice, to != "", time.Now()))
	case chunk != nil && chunk.TaskID == r.taskID:
		r.give(r.receiver.Chunk(chunk, len(m.Data), to != "", time.Now()))
	}
	if r.receiver.Over() {
		ring(r.enough)
	}
	ring(r.bell)
}

func (r *ChunkReader) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.receiver.Over()
}

// readPiece reads a chunk or a notice; neither, for what is none.
func readPiece(body []byte) (*schemas.Chunk, *schemas.Notice) {
	var either struct {
		schemas.Chunk
		Notice string `json:"notice,omitzero"`
	}
	if schemas.Accept(body, &either) != nil {
		return nil, nil
	}
	if either.Notice == "" {
		return &either.Chunk, nil
	}
	notice := new(schemas.Notice)
	if schemas.Decode(body, notice) != nil {
		return nil, nil
	}
	return nil, notice
}

// keepTouch gives the writer credit once in a while, whatever happens: a reader that says nothing has gone. One that is to get no more chunks
// hears none, however many its agent goes on to send.
func (r *ChunkReader) keepTouch() {
	cfg := r.conn.cfg.Chunks
	beat := time.NewTicker(cfg.Beat)
	defer beat.Stop()
	ack := time.NewTimer(cfg.AckDelay)
	defer ack.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-r.soon:
			ack.Reset(cfg.AckDelay)
		case <-ack.C:
			r.acknowledge()
		case <-r.trouble:
			r.say((*window.Receiver).Join)
		case <-r.enough:
			r.chunks.Close()
		case now := <-beat.C:
			r.say(func(in *window.Receiver) *schemas.Credit { return in.Beat(cfg.Beat, now) })
			r.giveUp(cfg.Patience, now)
		}
	}
}

// acknowledge says what was consumed. Chunks that come one by one, faster than that, are not waited for one by one.
func (r *ChunkReader) acknowledge() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acking = false
	r.give(r.receiver.Ack())
}

func (r *ChunkReader) say(credit func(*window.Receiver) *schemas.Credit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.give(credit(r.receiver))
}

func (r *ChunkReader) giveUp(patience time.Duration, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.receiver.GiveUp(patience, now) {
		ring(r.bell)
	}
}

// Next gives the next piece, if it is there; the one before counts as consumed. It does not wait.
func (r *ChunkReader) Next() (Piece, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	piece, found, credit, more := r.receiver.Take()
	r.give(credit)
	if more && !r.acking {
		r.acking = true
		ring(r.soon)
	}
	return Piece(piece), found
}

// Ready has something in it when it is worth to call Next, Complete or Strangers again.
func (r *ChunkReader) Ready() <-chan struct{} { return r.bell }

// Strangers reports whether an agent has sent something that From has not named, since it was last asked: the task may have moved.
func (r *ChunkReader) Strangers() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	strange := r.strange
	r.strange = false
	return strange
}

// End says that the task has ended, with the number of its last chunk, 0 where that is not known. Chunks that are still missing are
// waited for, for a short while; then a notice says which they are.
func (r *ChunkReader) End(last int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.receiver.End(last, time.Now()) {
		r.give(r.receiver.Join())
	}
	ring(r.bell)
}

// Complete reports whether the task has ended and everything has been taken.
func (r *ChunkReader) Complete() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.receiver.Complete()
}

// All gives one piece after the other until the stream is complete, which End has to say, or ctx ends. The body of the loop is the
// time that a chunk takes: the next one acknowledges it.
func (r *ChunkReader) All(ctx context.Context) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		for {
			piece, found := r.Next()
			switch {
			case found:
				if !yield(piece, nil) {
					return
				}
				continue
			case r.Complete():
				return
			}
			select {
			case <-r.bell:
			case <-ctx.Done():
				yield(Piece{}, context.Cause(ctx))
				return
			}
		}
	}
}

// Close says goodbye to the writer.
func (r *ChunkReader) Close() {
	r.closing.Do(func() {
		r.deafen()
		r.chunks.Close()
		close(r.stop)
		r.stopped.Wait()
		r.say(func(*window.Receiver) *schemas.Credit { return &schemas.Credit{Leave: true} })
	})
}
