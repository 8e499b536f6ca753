//go:build unix

package integration

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
)

// process is a program that can be killed and started again. It has a process group of its own, which ends with the test.
type process struct {
	t       testing.TB
	name    string
	command []string
	env     []string

	mu      sync.Mutex
	running *exec.Cmd // nil while it is dead
	said    *tail     // in its present life
}

func newProcess(t testing.TB, name string, command ...string) *process {
	p := &process{t: t, name: name, command: command, said: new(tail)}
	t.Cleanup(func() {
		p.kill()
		if text := p.said.String(); t.Failed() && text != "" {
			t.Logf("%s said:\n%s", p.name, text)
		}
	})
	return p
}

// start starts the program, and does not wait for more.
func (p *process) start() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	said := new(tail)
	command := exec.Command(p.command[0], p.command[1:]...)
	command.Env = append(cleanEnviron(), p.env...)
	command.Stdout, command.Stderr = said, said
	command.SysProcAttr = ownGroup()
	command.WaitDelay = time.Second // whoever inherited its output does not hold it up
	if err := command.Start(); err != nil {
		p.t.Fatalf("start %s: %v", p.name, err)
	}
	p.running, p.said = command, said
}

// cleanEnviron is our environment without what configures a reach of ours. A reach with the race detector ends without a pause.
func cleanEnviron() []string {
	env := []string{"GORACE=atexit_sleep_ms=0"}
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "REACH_") && !strings.HasPrefix(pair, "GORACE=") {
			env = append(env, pair)
		}
	}
	return env
}

// until waits until the program has said a text.
func (p *process) until(text string) {
	p.t.Helper()
	brokertest.Eventually(p.t, p.name+" says "+text, func() bool { return strings.Contains(p.said.String(), text) })
}

// pid is 0 while the program is dead.
func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return 0
	}
	return p.running.Process.Pid
}

// kill ends the whole group with SIGKILL and returns when the program is gone. Killing the dead does nothing.
func (p *process) kill() { _ = p.end(syscall.SIGKILL) }

// stop asks the program to end and returns when it has. It must end well.
func (p *process) stop() {
	p.t.Helper()
	if err := p.end(syscall.SIGTERM); err != nil {
		p.t.Errorf("%s did not stop properly: %v", p.name, err)
	}
}

// freeze stops the program itself with SIGSTOP, not those that it has started: its connections stay open, and it says nothing.
func (p *process) freeze() { p.signal(syscall.SIGSTOP) }

// thaw lets a frozen program go on.
func (p *process) thaw() { p.signal(syscall.SIGCONT) }

func (p *process) signal(signal syscall.Signal) {
	if pid := p.pid(); pid != 0 {
		_ = syscall.Kill(pid, signal)
	}
}

func (p *process) end(signal syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return nil
	}
	_ = syscall.Kill(-p.running.Process.Pid, signal)
	err := p.running.Wait()
	p.running = nil
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if _, race, found := strings.Cut(p.said.String(), "DATA RACE"); found {
		p.t.Errorf("%s: the race detector has found something:%s", p.name, race)
	}
	return err
}

// tail keeps the first and the last of what is written to it.
type tail struct {
	mu          sync.Mutex
	first, last bytes.Buffer
}

const tailSize = 64 << 10

func (w *tail) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first.Len() < tailSize {
		return w.first.Write(text)
	}
	w.last.Write(text)
	if excess := w.last.Len() - tailSize; excess > 0 {
		w.last.Next(excess)
	}
	return len(text), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.first.String() + w.last.String()
}
