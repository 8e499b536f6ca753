package subprocess

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
	"github.com/agentreach/agent-reach/worker/adapter/internal/process"
)

// callBuffer is how many lines of one task may wait for its Handle call; then the child's stdout waits, and with it other tasks.
const callBuffer = 16

// child is one long-lived process and the tasks in it. Its reader is the only one to send on a call's lines, its writer the only
// one to write to stdin.
type child struct {
	p    *process.Process
	max  int           // bytes of a line
	kill time.Duration // from SIGTERM to SIGKILL

	writes chan *write
	dead   chan struct{} // closed when no line will come any more
	end    process.Exit  // once dead is closed

	mu       sync.Mutex
	calls    map[string]*call
	answered atomic.Bool // it has ended a task
}

// call is one task in a child, from the side of its Handle call, which alone takes from lines.
type call struct {
	taskID string
	lines  chan answer.Line
	over   chan struct{} // closed when nobody takes from lines any more
	write  *write
}

// write is one line for stdin.
type write struct {
	line    pieces.Message
	done    chan struct{} // closed when all of it is in the pipe
	refused bool          // none of it is, nor will be; to be read once the child is dead
}

func newWrite(line pieces.Message) *write { return &write{line: line, done: make(chan struct{})} }

// run serves the process until it has ended. It leaves the closing of dead to its caller.
func (c *child) run() {
	var writer sync.WaitGroup
	writer.Go(c.writeAll)
	c.readAll()
	c.p.Stop(c.kill) // a child without stdout is of no use
	c.end = c.p.Wait()
	writer.Wait()
}

// writeAll takes one line after the other; who waits for its turn can still step back.
func (c *child) writeAll() {
	for {
		select {
		case <-c.p.Exited:
			return
		case w := <-c.writes:
			if n, err := w.line.WriteLine(c.p.Stdin); err != nil {
				w.refused = n == 0
				c.p.Stop(c.kill) // a child that does not listen is of no use
				return
			}
			close(w.done)
		}
	}
}

func (c *child) readAll() {
	from := process.NewLines(c.p.Output(), c.max)
	for {
		raw, tooLong, err := from.Next()
		switch {
		case err != nil:
			return
		case tooLong:
			known := c.tooLong(raw)
			if !known || !from.Rest() {
				c.p.Stop(c.kill)
				return
			}
		default:
			c.route(raw)
		}
	}
}

// route hands a line to the task that it names. All else is noise, also the late word of a task that has ended.
func (c *child) route(raw []byte) {
	line := answer.Read(raw)
	call := c.find(line.TaskID)
	if line.Kind == answer.Noise || call == nil {
		c.p.Chat.Note(process.Stdout, raw)
		return
	}
	if line.Kind == answer.Result || line.Kind == answer.Error {
		c.answered.Store(true)
	}
	call.deliver(line)
}

// tooLong ends the task that an overlong line belongs to: the one it names, or the only one there is.
func (c *child) tooLong(beginning []byte) bool {
	call := c.find(answer.TaskID(beginning))
	if call == nil {
		call = c.only()
	}
	if call == nil {
		return false
	}
	call.deliver(answer.Line{Kind: overlong})
	return true
}

// overlong marks a line that was not kept, on its way from the reader to the call.
const overlong answer.Kind = -1

func (l *call) deliver(line answer.Line) {
	select {
	case l.lines <- line:
	case <-l.over:
	}
}

// add enters a task; false if the child has it already.
func (c *child) add(taskID string, line pieces.Message) (*call, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, found := c.calls[taskID]; found {
		return nil, false
	}
	l := &call{taskID: taskID, lines: make(chan answer.Line, callBuffer), over: make(chan struct{}), write: newWrite(line)}
	c.calls[taskID] = l
	return l, true
}

func (c *child) remove(l *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, l.taskID)
	close(l.over)
}

func (c *child) find(taskID string) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[taskID]
}

func (c *child) only() *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) != 1 {
		return nil
	}
	for _, l := range c.calls {
		return l
	}
	return nil
}

// isDeaf reports whether the child has not taken the line of l, which is given up, and works on nothing else that it has taken:
// then no later line can reach it.
func (c *child) isDeaf(l *call) bool {
	if closed(l.write.done) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, other := range c.calls {
		if closed(other.write.done) {
			return false
		}
	}
	return true
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
