package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// process is a service that runs.
type process struct {
	service
	command  *exec.Cmd
	log      *os.File
	done     chan struct{} // closed when it has ended
	stopping atomic.Bool
}

// spawn starts a service, its output in a log. It is in a process group of its own, so that Ctrl-C comes to us alone, and the stops
// happen in order.
func spawn(dir string, s service, ended func(name string, how error)) (*process, error) {
	log, err := os.Create(filepath.Join(dir, s.name+".log"))
	if err != nil {
		return nil, err
	}
	p := &process{service: s, command: exec.Command(s.command[0], s.command[1:]...), log: log, done: make(chan struct{})}
	p.command.Dir, p.command.Env = dir, append(cleanEnviron(), "XDG_STATE_HOME="+dir)
	p.command.Stdout, p.command.Stderr = log, log
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	go func() {
		defer close(p.done)
		how := p.command.Wait()
		if !p.stopping.Load() {
			ended(s.name, how)
		}
	}()
	return p, nil
}

// cleanEnviron is our environment without settings of Agent-Reach, which would make the cluster another one.
func cleanEnviron() []string {
	var environ []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "REACH_") {
			environ = append(environ, pair)
		}
	}
	return environ
}

const askEvery = 100 * time.Millisecond

// awaitWell asks the health check until it is content.
func (p *process) awaitWell(ctx context.Context) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		said, err := p.ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.done:
			return errors.New("it has ended")
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), said)
		}
	}
}

func (p *process) ask(ctx context.Context) (said string, err error) {
	if len(p.health) == 0 {
		return "", nil
	}
	command := exec.CommandContext(ctx, p.health[0], p.health[1:]...)
	command.Env = cleanEnviron()
	out, err := command.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// url is what its health check asks, if that is a published port of its own.
func (p *process) url() string {
	for _, word := range p.health {
		for _, port := range p.ports {
			if strings.HasSuffix(word, "://"+port) {
				return word
			}
		}
	}
	return ""
}

const tailBytes = 2000

// tail is the end of its log.
func (p *process) tail() string {
	content, err := os.ReadFile(p.log.Name())
	if err != nil {
		return ""
	}
	return string(content[max(0, len(content)-tailBytes):])
}

// stopTime is how long a process may take to end by itself.
const stopTime = 15 * time.Second

func (p *process) stop() error {
	defer func() { _ = p.log.Close() }()
	p.stopping.Store(true)
	_ = p.command.Process.Signal(syscall.SIGTERM) // an error says that it has ended
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTime):
	}
	_ = p.command.Process.Kill()
	<-p.done
	return fmt.Errorf("%s did not stop within %v and was killed", p.name, stopTime)
}

// freeAddress is an address of the loopback interface that nobody listens on now. Its port is none of those that the kernel gives to
// outgoing connections: it stays free until its process is there.
func freeAddress() (string, error) {
	var listener net.Listener
	var err error
	for range 100 {
		listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err == nil {
			return listener.Addr().String(), listener.Close()
		}
	}
	return "", fmt.Errorf("find a free port: %w", err)
}
