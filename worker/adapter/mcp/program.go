package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentreach/agent-reach/worker/adapter/internal/process"
)

// program is a server that is a program on this machine. Each session has its own.
type program struct {
	cfg     Config
	command []string // the program found, and its arguments
}

func newProgram(cfg Config) (*program, error) {
	found, err := process.Find(cfg.Command[0], cfg.Dir)
	if err != nil {
		return nil, err
	}
	return &program{cfg: cfg, command: append([]string{found}, cfg.Command[1:]...)}, nil
}

// startError is a program that the system did not start.
type startError struct{ error }

// why is what the system said, without the path.
func (e *startError) why() error {
	var path *os.PathError
	if errors.As(e.error, &path) {
		return path.Err
	}
	return e.error
}

// partingError is a program that did not greet, with how it ended and what it said instead.
type partingError struct {
	error
	exit  process.Exit
	words string
}

// Unwrap is what went wrong.
func (e *partingError) Unwrap() error { return e.error }

// why is how the program ended, with the last line that it said. One that we had to end had greeted nobody until then.
func (e *partingError) why() string {
	how := "closed its stdout"
	switch {
	case e.exit.Told:
	case e.exit.Signaled:
		how = fmt.Sprintf("died of signal %d", e.exit.Code-128)
	default:
		how = fmt.Sprintf("exited with %d", e.exit.Code)
	}
	if e.words == "" {
		return how + " before it had greeted, and said nothing on stderr: it has to be an MCP server on stdin and stdout; run its command by hand"
	}
	lines := strings.Split(e.words, "\n")
	return fmt.Sprintf("%s before it had greeted; the last that it said: %s", how, lines[len(lines)-1])
}

func (p *program) connect(ctx context.Context, t *traffic) (*session, error) {
	env := process.Environment(os.Environ(), p.cfg.Env, nil)
	running, err := process.Start(p.command, p.cfg.Dir, env, p.cfg.Logger)
	if err != nil {
		return nil, &startError{err}
	}
	pipes := newPipes(p.cfg, running)
	s, err := greet(ctx, pipes, t)
	if err != nil {
		_ = pipes.Close()
		return nil, &partingError{err, running.Wait(), running.Chat.LastWords()}
	}
	s.parting = running.Chat.LastWords
	return s, nil
}

func (p *program) close() {}

// String is the program's name, without its arguments.
func (p *program) String() string { return filepath.Base(p.command[0]) }

// pipes are stdin and stdout of a program as a transport and its one connection: a message a line. What is no message goes to the
// program's log.
type pipes struct {
	p      *process.Process
	kill   time.Duration
	lines  *process.Lines
	writes chan *write
	close  sync.Once
	ended  chan struct{} // closed when the program is gone for good
}

// write is one message on its way to stdin.
type write struct {
	line []byte
	call *call
	done chan error
}

// mark notes whether any of a call went out. While it is being written, that is not known.
func (w *write) mark(sent bool) {
	if w.call != nil {
		w.call.sent.Store(sent)
	}
}

func newPipes(cfg Config, p *process.Process) *pipes {
	c := &pipes{
		p: p, kill: cfg.KillAfter, lines: process.NewLines(p.Output(), cfg.MaxResult),
		writes: make(chan *write), ended: make(chan struct{}),
	}
	p.Go(c.writeAll)
	return c
}

// Connect gives the one connection.
func (c *pipes) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID is empty: the pipes are the session.
func (c *pipes) SessionID() string { return "" }

// Read is the next message. A line that is none is passed over.
func (c *pipes) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, tooLong, err := c.lines.Next()
		switch {
		case err != nil:
			return nil, err
		case tooLong:
			return nil, &overlong{beginning: line, ended: c.lines.Rest()}
		}
		message, err := jsonrpc.DecodeMessage(line)
		if err == nil {
			return message, nil
		}
		c.p.Chat.Note(process.Stdout, line)
	}
}

// Write hands a message to the writer. A message that ctx takes back while it waits is not written.
func (c *pipes) Write(ctx context.Context, message jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	w := &write{line: append(line, '\n'), call: callOf(ctx), done: make(chan error, 1)}
	select {
	case c.writes <- w:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.p.Exited:
		return os.ErrClosed
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-c.p.Exited:
		return os.ErrClosed
	}
}

func (c *pipes) writeAll() {
	for {
		select {
		case <-c.p.Exited:
			return
		case w := <-c.writes:
			w.mark(true)
			n, err := c.p.Stdin.Write(w.line)
			w.mark(n > 0)
			w.done <- err
		}
	}
}

// Close ends the program: by closing its stdin, by asking it, and by force.
func (c *pipes) Close() error {
	c.close.Do(func() {
		defer close(c.ended)
		_ = c.p.Stdin.Close()
		patience := time.NewTimer(c.kill)
		defer patience.Stop()
		select {
		case <-c.p.Exited:
		case <-patience.C:
			c.p.Stop(c.kill)
		}
		c.p.Wait()
	})
	<-c.ended
	return nil
}
