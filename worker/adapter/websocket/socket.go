package websocket

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	ws "github.com/coder/websocket"

	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/gather"
	"github.com/agentreach/agent-reach/worker/adapter/internal/keeper"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
)

const (
	callBuffer = 16       // messages of one task that may wait for its Handle call; then nothing more is read
	fragment   = 64 << 10 // bytes of a frame of ours: between two of them, control frames can go out
	closeGrace = time.Second
)

// socket is one connection and the tasks on it.
type socket struct {
	cfg   Config
	conn  *ws.Conn
	below *line

	writes chan *write
	asks   chan chan<- error // for a ping
	ending chan struct{}     // closed when the reader has ended
	dead   chan struct{}     // closed when no message will come any more
	end    closing           // once dead is closed

	mu       sync.Mutex
	calls    map[string]*call
	answered atomic.Bool  // it has ended a task
	stuck    atomic.Int64 // how often the reader waits, or has waited, for a Handle call; odd while it does
}

// call is one task on a connection, from the side of its Handle call, which alone takes from heard.
type call struct {
	taskID string
	heard  chan heard
	over   chan struct{} // closed when nobody takes from heard any more
	write  *write
}

// heard is one message on its way to its task.
type heard struct {
	line    answer.Line
	raw     []byte
	tooLong bool // only its beginning was kept
}

// write is one message of ours.
type write struct {
	message pieces.Message
	done    chan struct{} // closed when all of it is on its way
	refused bool          // none of it is, nor will be; to be read once the connection is dead
}

func newWrite(message pieces.Message) *write {
	return &write{message: message, done: make(chan struct{})}
}

func newSocket(cfg Config, conn *ws.Conn, below *line) *socket {
	return &socket{
		cfg: cfg, conn: conn, below: below, writes: make(chan *write), asks: make(chan chan<- error),
		ending: make(chan struct{}), dead: make(chan struct{}), calls: make(map[string]*call),
	}
}

// Run serves the connection until it has ended.
func (s *socket) Run() keeper.Loss {
	var others sync.WaitGroup
	others.Go(s.writeAll)
	others.Go(s.watch)
	err := s.readAll()
	close(s.ending)
	s.kill()
	_ = s.conn.CloseNow()
	others.Wait()
	s.end = closingOf(ws.CloseStatus(err), s.inFlight())
	s.cfg.Logger.Warn().Int("close", s.end.code).Msg("the agent's connection is over")
	return keeper.Loss{Worked: s.answered.Load(), Patient: s.end.patient}
}

// Lost tells the tasks.
func (s *socket) Lost() { close(s.dead) }

// kill ends the connection below, whatever is under way on it.
func (s *socket) kill() { _ = s.below.Close() }

// HangUp says goodbye and ends the connection.
func (s *socket) HangUp() {
	impatience := time.AfterFunc(closeGrace, s.kill)
	defer impatience.Stop()
	_ = s.conn.Close(ws.StatusNormalClosure, "")
}

// writeAll sends one message after the other; who waits for its turn can still step back.
func (s *socket) writeAll() {
	for {
		select {
		case <-s.ending:
			return
		case w := <-s.writes:
			before := s.below.written.Load()
			if err := s.send(w.message); err != nil {
				w.refused = s.below.written.Load() == before
				s.kill()
				return
			}
			close(w.done)
		}
	}
}

// send writes one message, in frames that let others through.
func (s *socket) send(message pieces.Message) error {
	ctx := context.Background() // a context that ends would take the connection with it
	if message.Len() <= fragment {
		return s.conn.Write(ctx, ws.MessageText, message.Whole())
	}
	to, err := s.conn.Writer(ctx, ws.MessageText)
	if err != nil {
		return err
	}
	if err := message.Cut(fragment, func(part []byte) error { _, err := to.Write(part); return err }); err != nil {
		return err
	}
	return to.Close()
}

// readAll hands out what the agent says, until there is no more.
func (s *socket) readAll() error {
	for {
		_, from, err := s.conn.Reader(context.Background())
		if err != nil {
			return err
		}
		if err := s.read(from); err != nil {
			return err
		}
	}
}

// read takes in one message, and hands it out.
func (s *socket) read(from io.Reader) error {
	var message gather.Bytes
	defer message.Drop()
	if _, err := io.Copy(&message, io.LimitReader(from, int64(s.cfg.MaxMessage)+1)); err != nil {
		return err
	}
	if message.Len() > s.cfg.MaxMessage {
		return s.tooLong(message.Beginning(), from)
	}
	whole, err := message.Take()
	if err == nil {
		s.route(whole)
	}
	return err
}

// route hands a message to the task that it names. All else is noise, also the late word of a task that has ended.
func (s *socket) route(raw []byte) {
	line := answer.Read(raw)
	call := s.find(line.TaskID)
	if call == nil {
		return
	}
	if line.Kind == answer.Result || line.Kind == answer.Error {
		s.answered.Store(true)
	}
	s.deliver(call, heard{line: line, raw: raw})
}

var errTooLong = errors.New("a message is too long, and belongs to no task or does not end")

// tooLong ends the task that an overlong message belongs to: the one it names, or the only one there is. The rest of it is passed
// over, if it ends soon.
func (s *socket) tooLong(beginning []byte, rest io.Reader) error {
	call := s.find(answer.TaskID(beginning))
	if call == nil {
		call = s.only()
	}
	if call != nil {
		s.deliver(call, heard{tooLong: true})
	}
	passed, err := io.Copy(io.Discard, io.LimitReader(rest, int64(s.cfg.MaxMessage)))
	switch {
	case err != nil:
		return err
	case call == nil || passed == int64(s.cfg.MaxMessage):
		return errTooLong
	}
	return nil
}

func (s *socket) deliver(to *call, message heard) {
	select {
	case to.heard <- message:
		return
	default:
	}
	s.stuck.Add(1)
	defer s.stuck.Add(1)
	select {
	case to.heard <- message:
	case <-to.over:
	}
}

// add enters a task; nil if the connection has it already.
func (s *socket) add(taskID string, message pieces.Message) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, found := s.calls[taskID]; found {
		return nil
	}
	c := &call{taskID: taskID, heard: make(chan heard, callBuffer), over: make(chan struct{}), write: newWrite(message)}
	s.calls[taskID] = c
	return c
}

func (s *socket) remove(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c.taskID)
	close(c.over)
}

func (s *socket) find(taskID string) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[taskID]
}

func (s *socket) only() *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) != 1 {
		return nil
	}
	for _, c := range s.calls {
		return c
	}
	return nil
}

// inFlight is how many tasks the agent has been sent.
func (s *socket) inFlight() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := 0
	for _, c := range s.calls {
		if isClosed(c.write.done) {
			sent++
		}
	}
	return sent
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
