package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// stage is where the demo plays: a temporary folder, the processes in it, and what is shown of them.
type stage struct {
	bin, dir string
	out      io.Writer
	environ  []string
	actors   []*actor
}

// actor is a process that runs until the end.
type actor struct {
	name    string
	command *exec.Cmd
	log     *os.File
	ended   chan struct{} // closed when it has ended
}

func newStage(bin string, out io.Writer) (*stage, error) {
	for _, program := range []string{"reach", "summarize", "reviewdiff"} {
		if _, err := os.Stat(filepath.Join(bin, program)); err != nil {
			return nil, fmt.Errorf("%s is not in %s: run `make demo`, which builds it", program, bin)
		}
	}
	dir, err := os.MkdirTemp("", "reach-demo-")
	if err != nil {
		return nil, err
	}
	return &stage{bin: bin, dir: dir, out: out, environ: append(foreignEnviron(), "XDG_STATE_HOME="+dir)}, nil
}

// foreignEnviron is our environment without settings of the house, which would make the demo another one.
func foreignEnviron() []string {
	var environ []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "REACH_") {
			environ = append(environ, pair)
		}
	}
	return environ
}

func (s *stage) say(format string, args ...any) { _, _ = fmt.Fprintf(s.out, format+"\n", args...) }

// tell shows a command as one would type it.
func (s *stage) tell(program string, args []string, end string) {
	words := []string{filepath.Join(s.bin, program)}
	for _, arg := range args {
		words = append(words, quoted(arg))
	}
	s.say("   $ %s%s", strings.Join(words, " "), end)
}

func quoted(arg string) string {
	if arg != "" && !strings.ContainsAny(arg, " \"'$`\\&|;<>()*?") {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

func (s *stage) setenv(name, value string) {
	s.environ = append(s.environ, name+"="+value)
	s.say("   $ export %s=%s", name, value)
}

func (s *stage) command(ctx context.Context, program string, args []string) *exec.Cmd {
	command := exec.CommandContext(ctx, filepath.Join(s.bin, program), args...)
	command.Env = s.environ
	return command
}

// spawn starts a process that runs until the stage is cleared. What it says goes to a log.
func (s *stage) spawn(name, program string, args ...string) error {
	s.tell(program, args, " &")
	log, err := os.Create(s.log(name))
	if err != nil {
		return err
	}
	a := &actor{name: name, command: s.command(context.Background(), program, args), log: log, ended: make(chan struct{})}
	a.command.Stdout, a.command.Stderr = log, log
	if err := a.command.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	go func() {
		defer close(a.ended)
		_ = a.command.Wait() // how it ended is in its log
	}()
	s.actors = append(s.actors, a)
	return nil
}

func (s *stage) log(name string) string {
	return filepath.Join(s.dir, strings.ReplaceAll(name, " ", "-")+".log")
}

// said is what a process has said so far.
func (s *stage) said(name string) string {
	content, err := os.ReadFile(s.log(name))
	if err != nil {
		return ""
	}
	return string(content)
}

// run runs a command to its end and shows what it says.
func (s *stage) run(ctx context.Context, program string, args ...string) (string, error) {
	s.tell(program, args, "")
	out, err := s.quietly(ctx, program, args...)
	for line := range strings.Lines(out) {
		s.say("%s", strings.TrimRight("   "+shortened(line), " \n"))
	}
	return out, err
}

const longest = 600

// shortened cuts a line that would fill the screen.
func shortened(line string) string {
	runes := []rune(line)
	if len(runes) <= longest {
		return line
	}
	return string(runes[:longest]) + fmt.Sprintf("… (%d characters)", len(runes))
}

// quietly runs a command to its end.
func (s *stage) quietly(ctx context.Context, program string, args ...string) (string, error) {
	out, err := s.command(ctx, program, args).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(string(failed.Stderr)))
	}
	return string(out), err
}

// payload writes a payload into a file, and gives its path.
func (s *stage) payload(name string, members map[string]any) (string, error) {
	payload, err := json.Marshal(members)
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.dir, name)
	return path, os.WriteFile(path, payload, 0o600)
}

// until waits for something to be so. A process that has ended is a reason to give up.
func (s *stage) until(ctx context.Context, what string, so func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		case <-tick.C:
		}
		if gone := s.gone(); gone != "" {
			return fmt.Errorf("waiting until %s: %s has ended", what, gone)
		}
	}
	return nil
}

func (s *stage) gone() string {
	for _, a := range s.actors {
		select {
		case <-a.ended:
			return a.name
		default:
		}
	}
	return ""
}

// clear ends every process, the last one first, and removes the folder.
func (s *stage) clear() error {
	var problems []error
	for i := len(s.actors) - 1; i >= 0; i-- {
		problems = append(problems, s.actors[i].end())
	}
	return errors.Join(append(problems, os.RemoveAll(s.dir))...)
}

// stopTime is how long a process may take to end by itself.
const stopTime = 10 * time.Second

func (a *actor) end() error {
	defer func() { _ = a.log.Close() }()
	_ = a.command.Process.Signal(os.Interrupt) // an error says that it has ended
	select {
	case <-a.ended:
		return nil
	case <-time.After(stopTime):
	}
	_ = a.command.Process.Kill()
	<-a.ended
	return fmt.Errorf("%s did not stop within %v and was killed", a.name, stopTime)
}

const tailBytes = 2000

// showLogs shows the end of what each process said.
func (s *stage) showLogs(w io.Writer) {
	for _, a := range s.actors {
		said := s.said(a.name)
		if len(said) > tailBytes {
			said = "…" + said[len(said)-tailBytes:]
		}
		_, _ = fmt.Fprintf(w, "\n--- the log of %s\n%s", a.name, said)
	}
}
