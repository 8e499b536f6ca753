package window

import (
	"regexp"
	"slices"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Anonymous is the name by which a reader goes that gives none.
const Anonymous = "-"

// Bounds of a stream's readers and numbers.
const (
	maxReaders = 256
	// jump separates the numbers of an attempt from those that an earlier one may have used and nobody counted.
	jump = 1_000_000_000
)

// Send is a message that is to go out: the body of a chunk or a notice, to one reader, or to all where Reader is empty.
type Send struct {
	Reader string
	Body   []byte
	Notice *schemas.Notice
}

// Start says where a stream begins.
type Start struct {
	Attempt   int
	First     int64 // the number of its first chunk; 0 is 1
	Restarts  int   // how many assignments since First was known may have sent chunks
	Announced bool  // a reader will come
}

// Sender decides for the writer of one attempt's stream. Chunks are numbered one after the other. The window follows the fastest
// reader; those that fall so far behind that it is out of their reach are served from the replay, each within a window of its own; one
// that falls out of the replay too, or is much slower than the agent, gets a notice and no more chunks. With no reader the window is
// open.
type Sender struct {
	limits  Limits
	start   Start
	begun   bool // the first number is known
	opened  time.Time
	replay  Replay
	readers readers
	pace    pace
	waiting bool // for the reader that was announced
}

// Open begins a stream. An attempt that knows its first number begins at once; any other waits for what the readers of the earlier
// one have seen, and tells them that it does.
func Open(l Limits, start Start, now time.Time) (*Sender, []Send) {
	start.First = max(start.First, 1)
	s := &Sender{limits: l.WithDefaults(), start: start, opened: now, waiting: start.Announced, pace: pace{since: now}}
	if start.Restarts == 0 {
		return s, s.begin(now)
	}
	return s, []Send{{Notice: &schemas.Notice{Notice: schemas.NoticeRestarted, Attempt: start.Attempt}}}
}

// begin fixes the first number: the known one, or the next one of the reader that is furthest, or, if there is none that knows, one
// that nobody can have seen.
func (s *Sender) begin(now time.Time) []Send {
	s.begun = true
	first := s.start.First
	if s.start.Restarts > 0 {
		beyond := first + int64(s.start.Restarts)*jump
		if len(s.readers) == 0 {
			first = beyond
		}
		for _, r := range s.readers {
			if next := r.window.Acked() + 1; next <= beyond {
				first = max(first, next)
			}
		}
	}
	s.start.First = first
	s.replay = newReplay(s.limits, first)
	for _, r := range s.readers {
		s.restart(r, now)
	}
	if !s.restarted() {
		return nil
	}
	return []Send{{Notice: s.restartNotice()}}
}

// restarted reports whether there was an earlier attempt that readers may have heard.
func (s *Sender) restarted() bool { return s.start.Attempt > 1 || s.start.First > 1 }

func (s *Sender) restartNotice() *schemas.Notice {
	return &schemas.Notice{Notice: schemas.NoticeRestarted, Attempt: s.start.Attempt, Next: s.start.First}
}

func (s *Sender) restart(r *reader, now time.Time) {
	r.told = true
	r.window.Restart(s.start.First - 1)
	r.full, r.mark = time.Time{}, s.pace.mark(r.window.Acked(), now)
}

// Next is the number of the next chunk; false while it is not known.
func (s *Sender) Next() (int64, bool) { return s.replay.Next(), s.begun }

// Last is the number of the last chunk; 0 if there was none.
func (s *Sender) Last() int64 {
	if s.pace.made == 0 {
		return 0
	}
	return s.last()
}

func (s *Sender) last() int64 { return s.replay.Next() - 1 }

// Bytes is how much is kept for readers.
func (s *Sender) Bytes() int { return s.replay.Bytes() }

// Room reports whether the next chunk may go out. As long as it may not, the agent counts as blocked.
func (s *Sender) Room(size int, now time.Time) bool {
	if s.begun && s.roomFor(size) {
		return true
	}
	s.pace.block(now)
	return false
}

func (s *Sender) roomFor(size int) bool {
	reading := s.readers.reading()
	if len(reading) == 0 {
		return !s.waiting || s.pace.made < int64(s.limits.Chunks)
	}
	return slices.ContainsFunc(reading, func(r *reader) bool { return s.keepsUp(r) && r.window.Room(size) })
}

// keepsUp reports whether everything that there is was sent to a reader.
func (s *Sender) keepsUp(r *reader) bool { return r.window.Sent() >= s.last() }

// Add takes the next chunk, which goes out to all. It does not ask for room.
func (s *Sender) Add(body []byte, now time.Time) []Send {
	s.count(now)
	s.replay.Add(body)
	for _, r := range s.readers.reading() {
		if r.window.Sent() == s.last()-1 && r.window.Reaches(len(body)) {
			r.window.Send(len(body))
		}
		s.noteFull(r, false, now)
	}
	return append([]Send{{Body: body}}, s.Tick(now)...)
}

// Skip counts a chunk that cannot be carried. No reader gets past it.
func (s *Sender) Skip(now time.Time) []Send {
	s.count(now)
	s.replay.Skip()
	return append(s.Tick(now), s.pumpAll()...)
}

func (s *Sender) count(now time.Time) {
	for _, r := range s.readers.reading() {
		if r.mark.made == s.pace.made {
			r.mark = s.pace.mark(r.window.Acked(), now)
		}
	}
	s.pace.unblock(now)
	s.pace.made++
}

// noteFull notes since when a reader takes nothing although it could.
func (s *Sender) noteFull(r *reader, took bool, now time.Time) {
	switch full := !s.keepsUp(r) || !r.window.Room(1); {
	case !full:
		r.full = time.Time{}
	case took || r.full.IsZero():
		r.full = now
	}
}

var legalName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Credit takes what a reader says.
func (s *Sender) Credit(c schemas.Credit, now time.Time) []Send {
	if c.Reader == "" {
		c.Reader = Anonymous
	}
	if !legalName.MatchString(c.Reader) || c.Ack < 0 || c.Resume < 0 || c.Ack > schemas.MaxChunk || c.Resume > schemas.MaxChunk {
		return nil
	}
	if c.Leave {
		s.leave(c.Reader)
		return s.Tick(now)
	}
	r := s.readers.find(c.Reader)
	if r == nil {
		if r = s.join(c, now); r == nil {
			return nil
		}
	}
	r.heard = now
	switch {
	case !r.reading():
		return s.again(r, c, now)
	case s.begun && c.Resume > s.last()+1: // it asks for what there never was
		return append(s.Tick(now), r.end(s.gap(s.last()+1, c.Resume-1)))
	}
	took := s.move(r, c)
	sends := append(s.Tick(now), s.pump(r)...)
	s.noteFull(r, took, now)
	return sends
}

// again repeats to a reader that asks for chunks why it gets no more.
func (s *Sender) again(r *reader, c schemas.Credit, now time.Time) []Send {
	sends := s.Tick(now)
	if c.Resume > 0 {
		sends = append(sends, Send{Reader: r.name, Notice: r.over})
	}
	return sends
}

// join makes a reader of a first credit. One that does not say where to begin has heard what went out to all.
func (s *Sender) join(c schemas.Credit, now time.Time) *reader {
	if len(s.readers) == maxReaders {
		return nil
	}
	s.waiting = false
	at := c.Ack
	if at == 0 {
		at = max(0, c.Resume-1)
	}
	if s.begun {
		at = min(at, s.last())
	}
	r := &reader{name: c.Reader, window: newWindow(s.limits, at), mark: s.pace.mark(at, now)}
	if s.begun && c.Resume == 0 {
		s.believe(r, s.last())
	}
	s.readers = append(s.readers, r)
	return r
}

// believe notes that a reader has chunks that it was not sent within its window.
func (s *Sender) believe(r *reader, last int64) {
	if r.window.Sent()+1 < s.replay.First() {
		r.window.Restart(min(last, s.replay.First()-1))
	}
	for n := r.window.Sent() + 1; n <= last && s.replay.At(n) != nil; n++ {
		r.window.Send(len(s.replay.At(n)))
	}
}

func (s *Sender) leave(name string) {
	s.readers = slices.DeleteFunc(s.readers, func(r *reader) bool { return r.name == name })
}

// move takes a reader to where it says that it is, and reports whether it has taken anything. Before the first number is known,
// where it is is all that is noted.
func (s *Sender) move(r *reader, c schemas.Credit) (took bool) {
	if !s.begun {
		r.window.Restart(max(r.window.Acked(), c.Ack, c.Resume-1))
		return true
	}
	took = r.window.Ack(min(c.Ack, s.last()))
	if c.Resume == 0 {
		return took
	}
	r.told = r.told && c.Resume > s.start.First
	r.window.Back(c.Resume - 1)
	s.believe(r, c.Resume-1)
	return took
}

// pump sends a reader what it lacks and has room for.
func (s *Sender) pump(r *reader) []Send {
	var sends []Send
	if !s.begun || !r.reading() {
		return nil
	}
	if s.restarted() && !r.told && r.window.Sent() < s.start.First {
		r.told = true
		r.window.Restart(s.start.First - 1)
		sends = append(sends, Send{Reader: r.name, Notice: s.restartNotice()})
	}
	for n := r.window.Sent() + 1; n <= s.last(); n++ {
		body := s.replay.At(n)
		if body == nil {
			return append(sends, r.end(s.gap(n, s.replay.First()-1)))
		}
		if !r.window.Room(len(body)) {
			break
		}
		r.window.Send(len(body))
		sends = append(sends, Send{Reader: r.name, Body: body})
	}
	return sends
}

func (s *Sender) gap(from, to int64) schemas.Notice {
	return schemas.Notice{Notice: schemas.NoticeGap, Attempt: s.start.Attempt, From: from, To: to}
}

func (s *Sender) pumpAll() []Send {
	var sends []Send
	for _, r := range s.readers {
		sends = append(sends, s.pump(r)...)
	}
	return sends
}

// Lost says that what was sent may not have arrived: all that is not acknowledged goes out again.
func (s *Sender) Lost(now time.Time) []Send {
	sends := s.Tick(now)
	for _, r := range s.readers.reading() {
		r.window.Back(r.window.Acked())
		r.told = r.told && r.window.Acked() >= s.start.First
	}
	return append(sends, s.pumpAll()...)
}

// Tick notes that time has passed: readers go that were not heard, and those that are too slow get no more chunks.
func (s *Sender) Tick(now time.Time) []Send {
	var sends []Send
	s.readers = slices.DeleteFunc(s.readers, func(r *reader) bool { return now.Sub(r.heard) >= s.limits.Silence })
	s.waiting = s.waiting && now.Sub(s.opened) < s.limits.Announce
	if !s.begun {
		if now.Sub(s.opened) < s.limits.Settle {
			return nil
		}
		sends = s.begin(now)
	}
	for _, r := range s.readers.reading() {
		if s.lags(r, now) {
			sends = append(sends, r.end(schemas.Notice{
				Notice: schemas.NoticeModeChanged, Attempt: s.start.Attempt, Mode: schemas.ModeAggregate,
			}))
		}
	}
	return sends
}

// lags judges a reader. One that has taken all that there is cannot be faster than it is.
func (s *Sender) lags(r *reader, now time.Time) bool {
	if r.window.Acked() >= s.last() {
		r.mark = s.pace.mark(r.window.Acked(), now)
		return false
	}
	switch s.pace.judge(r.mark, r.window.Acked(), s.limits, now) {
	case tooSlow:
		return true
	case fastEnough:
		r.mark = s.pace.mark(r.window.Acked(), now)
	}
	return !r.full.IsZero() && now.Sub(r.full) >= s.limits.Standstill
}

// End says that the stream has ended. Readers that are behind are served for as long as anybody calls Credit.
func (s *Sender) End(now time.Time) []Send {
	s.pace.unblock(now)
	if s.begun {
		return s.Tick(now)
	}
	return append(s.begin(now), s.Tick(now)...)
}

// Deadline is when Tick may change something although nothing else happens; the zero time is never.
func (s *Sender) Deadline() time.Time {
	var next time.Time
	sooner := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if !s.begun {
		sooner(s.opened.Add(s.limits.Settle))
	}
	if s.waiting {
		sooner(s.opened.Add(s.limits.Announce))
	}
	for _, r := range s.readers {
		sooner(r.heard.Add(s.limits.Silence))
		if r.reading() && s.begun && r.window.Acked() < s.last() {
			if !r.full.IsZero() {
				sooner(r.full.Add(s.limits.Standstill))
			}
			if s.pace.made-r.mark.made >= s.limits.SpanChunks {
				sooner(r.mark.at.Add(s.limits.Span))
			}
		}
	}
	return next
}
