package window

import (
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Piece is one thing that a reader is given: a chunk or a notice.
type Piece struct {
	Chunk  *schemas.Chunk
	Notice *schemas.Notice
}

// Receiver decides for one reader: which chunks it takes, in order, and what credit it gives. It takes what lies within its reach; all
// else it asks for again once there is room. A chunk counts as consumed when the next one is asked for.
type Receiver struct {
	limits Limits
	window Window // what has arrived; acknowledged is what the writer was told
	queue  []Piece

	attempt  int   // of the chunks that have arrived; 0 before the first
	first    int64 // of this attempt, where a notice has said so
	given    int64 // the number of the chunk that was given last
	consumed int64
	asked    int64 // the number that was asked for last
	lacking  bool  // a chunk had to be refused
	over     bool  // no more chunks come
	ended    bool  // the task has ended
	last     int64 // the number of its last chunk; 0 where nobody knows
	heard    time.Time
}

// NewReceiver begins after a chunk; 0 is at the beginning.
func NewReceiver(l Limits, after int64, now time.Time) *Receiver {
	l = l.WithDefaults()
	return &Receiver{limits: l, window: newWindow(l, after), given: after, consumed: after, heard: now}
}

// Next is the number of the chunk that is to arrive next.
func (r *Receiver) Next() int64 { return r.window.Sent() + 1 }

// Attempt is that of the last chunk or notice; 0 if there was none.
func (r *Receiver) Attempt() int { return r.attempt }

// Chunk takes a chunk of so many bytes, or does not. mine says that it was sent to this reader alone, as the answer to its credit.
// The credit, if there is one, is to be given at once.
func (r *Receiver) Chunk(c *schemas.Chunk, size int, mine bool, now time.Time) *schemas.Credit {
	if r.over || c.Attempt < r.attempt || c.N < r.Next() {
		return nil
	}
	if c.N > r.Next() || !r.follows(c, mine) {
		return r.ask()
	}
	if !r.window.Reaches(size) {
		r.lacking = true
		return nil
	}
	r.attempt, r.heard = c.Attempt, now
	r.window.Send(size)
	r.queue = append(r.queue, Piece{Chunk: c})
	return nil
}

// follows reports whether the next number belongs to the same attempt as the one before. Where this reader cannot know, the writer
// tells it, by a notice or by sending the chunk to it alone.
func (r *Receiver) follows(c *schemas.Chunk, mine bool) bool {
	return mine || c.Attempt == r.attempt || r.attempt == 0 && c.Attempt == 1
}

// ask is the credit that asks for the next chunk, unless that was asked for just before.
func (r *Receiver) ask() *schemas.Credit {
	r.lacking = true
	if r.asked == r.Next() {
		return nil
	}
	return r.credit()
}

// credit acknowledges what was consumed, and asks for what is lacking.
func (r *Receiver) credit() *schemas.Credit {
	r.window.Ack(r.consumed)
	c := &schemas.Credit{Ack: r.consumed}
	if r.lacking && r.asked != r.Next() {
		c.Resume = r.Next()
		r.asked, r.lacking = r.Next(), false
	}
	return c
}

// Notice takes a notice. mine says that it was sent to this reader alone.
func (r *Receiver) Notice(n *schemas.Notice, mine bool, now time.Time) *schemas.Credit {
	if r.over || n.Attempt < r.attempt && n.Attempt != 0 {
		return nil
	}
	r.heard = now
	switch n.Notice {
	case schemas.NoticeRestarted:
		return r.restarted(n)
	case schemas.NoticeModeChanged, schemas.NoticeGap:
		r.finish(n)
	}
	return nil
}

// restarted drops what has not been given out, and goes on with the new attempt. While its first number is not known, the writer is
// told how far this reader has come.
func (r *Receiver) restarted(n *schemas.Notice) *schemas.Credit {
	switch {
	case n.Next == 0:
		return r.position()
	case n.Attempt == r.attempt && n.Next == r.first:
		return nil // said before
	case n.Next < r.Next():
		// Numbers that were given out before would come again, and mean something else.
		r.finish(&schemas.Notice{Notice: schemas.NoticeModeChanged, Attempt: n.Attempt, Mode: schemas.ModeAggregate})
		return &schemas.Credit{Leave: true}
	}
	r.attempt, r.first = n.Attempt, n.Next
	r.queue = append(r.queue[:0], Piece{Notice: n})
	r.given, r.consumed = n.Next-1, n.Next-1
	r.window.Restart(n.Next - 1)
	r.asked, r.lacking = 0, false
	return nil
}

// position is the credit that says where this reader is and wants to go on.
func (r *Receiver) position() *schemas.Credit {
	r.lacking, r.asked = true, 0
	return r.credit()
}

// finish ends the chunks with a notice.
func (r *Receiver) finish(n *schemas.Notice) {
	r.over = true
	r.queue = append(r.queue, Piece{Notice: n})
}

// Join is the first credit to a writer, or to a new one.
func (r *Receiver) Join() *schemas.Credit {
	if r.over {
		return nil
	}
	return r.position()
}

// Take gives the next piece; the one before counts as consumed. The credit, if there is one, is to be given at once. soon says that
// there is more to acknowledge, and nothing to take at the moment.
func (r *Receiver) Take() (piece Piece, found bool, credit *schemas.Credit, soon bool) {
	r.consumed = r.given
	pending := r.consumed - r.window.Acked()
	if pending >= max(1, int64(r.limits.Chunks/2)) && !r.over {
		credit, pending = r.credit(), 0
	}
	if len(r.queue) == 0 {
		return Piece{}, false, credit, pending > 0 && !r.over
	}
	piece = r.queue[0]
	r.queue[0] = Piece{}
	r.queue = r.queue[1:]
	if piece.Chunk != nil {
		r.given = piece.Chunk.N
	}
	return piece, true, credit, false
}

// Ack acknowledges what was consumed; nil if that was done.
func (r *Receiver) Ack() *schemas.Credit {
	if r.over || r.consumed == r.window.Acked() {
		return nil
	}
	return r.credit()
}

// Beat is the credit that says that this reader is still there. After silence it asks for the next chunk: it may have got lost.
func (r *Receiver) Beat(silence time.Duration, now time.Time) *schemas.Credit {
	if r.over {
		return nil
	}
	if len(r.queue) == 0 && now.Sub(r.heard) >= silence {
		return r.position()
	}
	c := r.credit()
	if c.Ack == 0 && c.Resume == 0 {
		return r.position() // there is no other way to say that nothing was consumed yet
	}
	return c
}

// End says that the task has ended, and which number its last chunk had; 0 is not known. It reports whether chunks are missing.
func (r *Receiver) End(last int64, now time.Time) (missing bool) {
	if !r.ended {
		r.ended, r.last, r.heard = true, last, now
	}
	return !r.over && r.Next() <= r.last
}

// Over reports whether no chunk that comes from now on is taken: a notice has said that there are no more.
func (r *Receiver) Over() bool { return r.over }

// Complete reports whether the task has ended and all its chunks have been taken.
func (r *Receiver) Complete() bool {
	return len(r.queue) == 0 && r.ended && (r.over || r.Next() > r.last)
}

// GiveUp stops waiting, some time after the end, for chunks that do not come: a notice says which they are.
func (r *Receiver) GiveUp(patience time.Duration, now time.Time) bool {
	if !r.ended || r.over || r.Next() > r.last || len(r.queue) > 0 || now.Sub(r.heard) < patience {
		return false
	}
	r.finish(&schemas.Notice{Notice: schemas.NoticeGap, Attempt: r.attempt, From: r.Next(), To: r.last})
	return true
}
