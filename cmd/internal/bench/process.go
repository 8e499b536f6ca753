package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// stopGrace is how long a process may take to end by itself once it is told to.
const stopGrace = 15 * time.Second

// process is this program, called again for one role.
type process struct {
	role  string
	cmd   *exec.Cmd
	lines chan logLine  // what it logs; closed when it has closed its stderr
	ended chan struct{} // closed when it has ended
}

// logLine is what is read of a line of a process's log.
type logLine struct {
	Level   string `json:"level"`
	Message string `json:"message"`
	NATS    string `json:"nats"`
	Error   string `json:"error"`
}

// maxLines is how many lines are kept of a process that logs more than anybody reads.
const maxLines = 256

// program starts processes.
type program struct {
	path    string
	dir     string // where they run: no configuration file is there
	environ []string
	profile func(role string) string // the file for a processor profile; "" for none
}

// ProfileVariable is the environment variable that has every command of the program write a processor profile into a file.
const ProfileVariable = "REACH_CPUPROFILE"

// start calls the program with the arguments of one of its commands.
func (p *program) start(role string, args ...string) (*process, error) {
	cmd := exec.Command(p.path, args...)
	cmd.Dir, cmd.SysProcAttr = p.dir, detached()
	cmd.Env = append(environment(p.environ), "REACH_LOG_FORMAT=json")
	if file := p.profile(role); file != "" {
		cmd.Env = append(cmd.Env, ProfileVariable+"="+file)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	child := &process{role: role, cmd: cmd, lines: make(chan logLine, maxLines), ended: make(chan struct{})}
	started := make(chan error)
	go child.run(started, stderr)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	return child, nil
}

// environment is environ without our own settings: every run is measured with the defaults.
func environment(environ []string) []string {
	var kept []string
	for _, pair := range environ {
		if !strings.HasPrefix(pair, "REACH_") {
			kept = append(kept, pair)
		}
	}
	return kept
}

// run starts the process, reads its log, and waits for its end. The thread that has started a process stays until then: on Linux a
// process ends with the thread that it came from.
func (p *process) run(started chan<- error, stderr io.Reader) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.ended)
	err := p.cmd.Start()
	started <- err
	if err != nil {
		close(p.lines)
		return
	}
	p.read(stderr)
	_ = p.cmd.Wait() // how it ended is told by whoever waited for it to do something
}

// read keeps what the process says, as long as somebody listens to it.
func (p *process) read(stderr io.Reader) {
	defer close(p.lines)
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		said := logLine{Level: "error", Message: lines.Text()} // a panic, say, or an error of the command line
		_ = schemas.Decode(lines.Bytes(), &said)
		select {
		case p.lines <- said:
		default:
		}
	}
	_, _ = io.Copy(io.Discard, stderr)
}

// says waits until the process logs a message.
func (p *process) says(ctx context.Context, message string) (logLine, error) {
	var troubles []string
	for {
		select {
		case line, open := <-p.lines:
			switch {
			case !open:
				return line, fmt.Errorf("the %s ended before it was up: %s", p.role, strings.Join(troubles, "; "))
			case line.Message == message:
				return line, nil
			case line.Level != "info" && line.Level != "debug":
				troubles = append(troubles, strings.TrimSpace(line.Message+" "+line.Error))
			}
		case <-ctx.Done():
			return logLine{}, fmt.Errorf("wait for the %s: %w", p.role, context.Cause(ctx))
		}
	}
}

// member is the process as a meter knows it.
func (p *process) member() member { return member{p.role, pidOf(p.cmd.Process.Pid)} }

// stop ends the process and waits until it has ended. Once ctx ends it gets no more time to do so by itself: nobody wants what it has
// to put in order.
func (p *process) stop(ctx context.Context) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.kill()
	}
}

// kill ends the process without a word to it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// executable is the program that runs now.
func executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", errors.New("this program does not find itself")
	}
	return path, nil
}
