// Package process runs a program as an agent: in its own process group, with an environment that holds none of our secrets, its
// stdin and stdout as pipes, its stderr as a bounded, masked log. It is told to stop by SIGTERM, and killed with its whole group a
// while later. When it has ended, what is left of its group is killed too: a program that wants to leave something running behind
// must put it into a session of its own. On Linux a program does not outlive a worker that is killed; what it has started itself
// may.
package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

const (
	// pipeGrace is how long a read waits for more once the program has ended: what it wrote is in the pipe by then, and only what
	// escaped its group can still hold the other end.
	pipeGrace = 250 * time.Millisecond
	// maxLeftover is what is still read after the end: no pipe holds more.
	maxLeftover = 1 << 20
)

// Process is a running program. Its stdin, stdout and signals may be used until Exited is closed; afterwards stdout can be read to
// its end, and the rest does nothing.
type Process struct {
	Stdin  *os.File
	Chat   *Chatter
	Exited chan struct{} // closed when the program has ended and its group is gone

	cmd    *exec.Cmd
	stdout *os.File
	stderr *os.File

	mu      sync.Mutex
	reaped  bool // the process number may belong to someone else
	told    bool // SIGTERM was sent
	killed  bool // SIGKILL was sent
	drained sync.WaitGroup
}

// Start runs a program in its own group. It has ended for good when Wait returns.
func Start(command []string, dir string, env []string, log zerolog.Logger) (*Process, error) {
	p := &Process{
		cmd:    &exec.Cmd{Path: command[0], Args: command, Dir: dir, Env: env, SysProcAttr: ownGroup()},
		Chat:   &Chatter{log: log},
		Exited: make(chan struct{}),
	}
	theirs, err := p.pipes()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	started := make(chan error)
	p.drained.Go(func() { p.run(started) })
	err = <-started
	closeAll(theirs)
	if err != nil {
		p.release()
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	p.Go(func() { p.Chat.drain(&leftover{file: p.stderr, exited: p.Exited}) })
	return p, nil
}

// Go runs what serves the program while it runs; Wait waits for that, too.
func (p *Process) Go(serve func()) { p.drained.Go(serve) }

// pipes makes the three pipes and returns the program's ends of them.
func (p *Process) pipes() (theirs []*os.File, err error) {
	var r, w [3]*os.File
	for i := range r {
		if r[i], w[i], err = os.Pipe(); err != nil {
			closeAll(r[:i])
			closeAll(w[:i])
			return nil, err
		}
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = r[0], w[1], w[2]
	p.Stdin, p.stdout, p.stderr = w[0], r[1], r[2]
	return []*os.File{r[0], w[1], w[2]}, nil
}

// run starts the program and waits for its end, on one thread: Linux ends a program together with the thread that started it.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	awaitEnd(p.cmd)
	p.reap()
	_ = p.Stdin.Close()
	close(p.Exited)
	now := time.Now() // wakes a read that waits
	_ = p.stdout.SetReadDeadline(now)
	_ = p.stderr.SetReadDeadline(now)
}

// reap kills what is left of the group, then lets the system forget the program.
func (p *Process) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.cmd.Process)
	_ = p.cmd.Wait()
	p.reaped = true
}

// Stop asks the whole group to end, and kills it if it has not within after. It returns at once.
func (p *Process) Stop(after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told || p.reaped {
		return
	}
	p.told = true
	terminateGroup(p.cmd.Process)
	p.drained.Go(func() { p.killUnlessEnded(after) })
}

func (p *Process) killUnlessEnded(after time.Duration) {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-p.Exited:
		return
	case <-timer.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		p.killed = true
		killGroup(p.cmd.Process)
	}
}

// Wait returns when the program has ended and nothing of it is left. Its stdout must have been read before.
func (p *Process) Wait() Exit {
	<-p.Exited
	p.drained.Wait()
	p.release()
	p.mu.Lock()
	defer p.mu.Unlock()
	return exitOf(p.cmd.ProcessState, p.told, p.killed)
}

func (p *Process) release() { closeAll([]*os.File{p.Stdin, p.stdout, p.stderr}) }

// Output is stdout as it is to be read.
func (p *Process) Output() io.Reader { return &leftover{file: p.stdout, exited: p.Exited} }

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// leftover reads a pipe. Once the program has ended it takes what is there and waits for no more: what escaped the group may hold
// the other end for ever.
type leftover struct {
	file   *os.File
	exited <-chan struct{}
	taken  int
}

// Read is io.EOF also where nothing more is to be expected.
func (l *leftover) Read(b []byte) (int, error) {
	for {
		ended := closed(l.exited)
		if ended {
			if l.taken >= maxLeftover {
				return 0, io.EOF
			}
			_ = l.file.SetReadDeadline(time.Now().Add(pipeGrace))
		}
		n, err := l.file.Read(b)
		if ended {
			l.taken += n
		}
		switch {
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return n, err
		case ended:
			return n, io.EOF
		} // the end came while this read waited: look once more
	}
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
