package brokertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/embedded"
)

// Process is a broker in a child process: what happens to it happens to a whole machine, and nothing is put in order first.
// Its methods may be called from any goroutine of the test.
type Process struct {
	t   testing.TB
	cfg embedded.Config

	mu      sync.Mutex
	command *exec.Cmd // nil while dead
	said    *tail     // its standard error, over all its lives
}

// Child starts a fresh broker in a child process, on a random port, with an empty directory. TestMain must call Main.
func Child(t testing.TB, opts ...Option) *Process {
	t.Helper()
	p := newProcess(t, freshConfig(t, opts))
	p.Restart()
	return p
}

func newProcess(t testing.TB, cfg embedded.Config) *Process {
	t.Helper()
	if !hooked.Load() {
		t.Fatal("a broker in a child process needs TestMain to call brokertest.Main")
	}
	p := &Process{t: t, cfg: cfg, said: &tail{}}
	t.Cleanup(p.end)
	return p
}

// URL of the broker; the same in all its lives.
func (p *Process) URL() string { return "nats://" + p.cfg.Listen }

// Kill ends the process with SIGKILL and returns when it is gone. Killing the dead does nothing.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kill()
}

func (p *Process) kill() {
	if p.command == nil {
		return
	}
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
	p.command = nil
}

// Lives reports whether the process runs, frozen or not.
func (p *Process) Lives() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.command != nil
}

// Stop freezes the process with SIGSTOP: its connections stay open and nothing answers. Where the system tells, it returns once that is so.
func (p *Process) Stop() {
	p.t.Helper()
	pid := p.signal(syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for pid != 0 && !frozen(pid) && pause(ctx) {
	}
}

// frozen reports whether no thread of a process runs, as far as the system tells: a stop takes a moment where the machine is busy.
func frozen(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return !slices.ContainsFunc(threads, func(file string) bool {
		state, err := os.ReadFile(file)
		return err == nil && !bytes.Contains(state, []byte(") T "))
	})
}

// Continue lets a frozen process go on.
func (p *Process) Continue() { p.signal(syscall.SIGCONT) }

// signal gives the process that was sent it; 0 if there is none.
func (p *Process) signal(signal syscall.Signal) (pid int) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command == nil {
		p.t.Errorf("send %s to broker %s: it is dead", signal, p.URL())
		return 0
	}
	if err := p.command.Process.Signal(signal); err != nil {
		p.t.Errorf("send %s to broker %s: %v", signal, p.URL(), err)
		return 0
	}
	return p.command.Process.Pid
}

// Restart starts the broker again on the same port and directory, killing it first if it lives, and returns when it is ready.
func (p *Process) Restart() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kill()
	ready := p.spawn()
	p.await(ready)
}

// spawn starts the process and returns the pipe on which it will say that it is ready.
func (p *Process) spawn() (ready *os.File) {
	p.t.Helper()
	command, ready, err := childCommand(p.cfg, p.said)
	if err != nil {
		p.t.Fatalf("start broker process: %v", err)
	}
	p.command = command
	return ready
}

// childCommand runs this test binary as a broker. Its standard input stays open as long as we live. It gets a process group
// of its own, so that the kernel ends it should we die while it is frozen.
func childCommand(cfg embedded.Config, said io.Writer) (_ *exec.Cmd, ready *os.File, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("write configuration: %w", err)
	}
	ready, stdout, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer stdout.Close()
	command := exec.Command(self)
	command.Env = append(os.Environ(), childVariable+"="+string(text))
	command.Stdout, command.Stderr = stdout, said
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := command.StdinPipe(); err != nil {
		ready.Close()
		return nil, nil, err
	}
	if err := command.Start(); err != nil {
		ready.Close()
		return nil, nil, err
	}
	return command, ready, nil
}

func (p *Process) await(ready *os.File) {
	p.t.Helper()
	defer ready.Close()
	_ = ready.SetReadDeadline(time.Now().Add(patience))
	if _, err := bufio.NewReader(ready).ReadString('\n'); err != nil {
		p.kill()
		p.t.Fatalf("broker process %s did not become ready: %v\n%s", p.URL(), err, p.said)
	}
}

// end is the cleanup: what the broker had to complain about is part of a failed test's log.
func (p *Process) end() {
	p.Kill()
	if text := p.said.String(); p.t.Failed() && text != "" {
		p.t.Logf("broker %s said:\n%s", p.URL(), text)
	}
}

// tail keeps the last part of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 16 << 10

func (w *tail) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text...)
	if excess := len(w.text) - tailSize; excess > 0 {
		w.text = append(w.text[:0], w.text[excess:]...)
	}
	return len(text), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.TrimSpace(string(w.text))
}
