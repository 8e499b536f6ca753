package subprocess

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

// process is a running program. Its stdin, stdout and signals may be used until exited is closed; afterwards stdout can be read to
// its end, and the rest does nothing.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	chat   *chatter
	exited chan struct{} // closed when the program has ended and its group is gone

	mu      sync.Mutex
	reaped  bool // the process number may belong to someone else
	told    bool // SIGTERM was sent
	killed  bool // SIGKILL was sent
	drained sync.WaitGroup
}

// start runs a program in its own group. It has ended for good when wait returns.
func start(command []string, dir string, env []string, log zerolog.Logger) (*process, error) {
	p := &process{
		cmd:    &exec.Cmd{Path: command[0], Args: command, Dir: dir, Env: env, SysProcAttr: ownGroup()},
		chat:   &chatter{log: log},
		exited: make(chan struct{}),
	}
	theirs, err := p.pipes()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	started := make(chan error)
	p.drained.Add(1)
	go p.run(started)
	err = <-started
	closeAll(theirs)
	if err != nil {
		p.release()
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	p.drained.Add(1)
	go func() {
		defer p.drained.Done()
		p.chat.drain(&leftover{file: p.stderr, exited: p.exited})
	}()
	return p, nil
}

// pipes makes the three pipes and returns the program's ends of them.
func (p *process) pipes() (theirs []*os.File, err error) {
	var r, w [3]*os.File
	for i := range r {
		if r[i], w[i], err = os.Pipe(); err != nil {
			closeAll(r[:i])
			closeAll(w[:i])
			return nil, err
		}
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = r[0], w[1], w[2]
	p.stdin, p.stdout, p.stderr = w[0], r[1], r[2]
	return []*os.File{r[0], w[1], w[2]}, nil
}

// run starts the program and waits for its end, on one thread: Linux ends a program together with the thread that started it.
func (p *process) run(started chan<- error) {
	defer p.drained.Done()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	awaitEnd(p.cmd)
	p.reap()
	_ = p.stdin.Close()
	close(p.exited)
	now := time.Now() // wakes a read that waits
	_ = p.stdout.SetReadDeadline(now)
	_ = p.stderr.SetReadDeadline(now)
}

// reap kills what is left of the group, then lets the system forget the program.
func (p *process) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.cmd.Process)
	_ = p.cmd.Wait()
	p.reaped = true
}

// stop asks the whole group to end, and kills it if it has not within after. It returns at once.
func (p *process) stop(after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told || p.reaped {
		return
	}
	p.told = true
	terminateGroup(p.cmd.Process)
	p.drained.Add(1)
	go func() {
		defer p.drained.Done()
		p.killUnlessEnded(after)
	}()
}

func (p *process) killUnlessEnded(after time.Duration) {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-p.exited:
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

// wait returns when the program has ended and nothing of it is left. Its stdout must have been read before.
func (p *process) wait() exit {
	<-p.exited
	p.drained.Wait()
	p.release()
	p.mu.Lock()
	defer p.mu.Unlock()
	return exitOf(p.cmd.ProcessState, p.told, p.killed)
}

func (p *process) release() { closeAll([]*os.File{p.stdin, p.stdout, p.stderr}) }

// output is stdout as it is to be read.
func (p *process) output() io.Reader { return &leftover{file: p.stdout, exited: p.exited} }

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
