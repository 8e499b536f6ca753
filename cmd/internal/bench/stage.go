package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/cmd/internal/bench/floor"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

// stage is one system with its processes and its callers.
type stage struct {
	program     *program
	url         string // of the broker
	data        string
	broker      *process
	dispatchers []*process
	worker      *process
	callers     []caller
	closers     []func() // of the callers
}

// raise starts a broker in a folder of its own.
func (b *bench) raise(ctx context.Context, name string) (*stage, error) {
	dir, err := os.MkdirTemp("", "reach-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	s := &stage{data: dir, program: &program{
		path: b.path, dir: dir, environ: b.options.Environ, profile: func(role string) string { return b.profileFile(name, role) },
	}}
	if err := s.startBroker(ctx); err != nil {
		s.close(ctx)
		return nil, err
	}
	return s, nil
}

// profileFile is where the profile of a process goes; "" if none is wanted.
func (b *bench) profileFile(name, role string) string {
	if b.options.ProfileDir == "" {
		return ""
	}
	b.profiles++
	return filepath.Join(b.options.ProfileDir, fmt.Sprintf("%s-%s-%d.pprof", name, role, b.profiles))
}

func (s *stage) startBroker(ctx context.Context) (err error) {
	s.broker, err = s.program.start(roleBroker, "broker", "--data", filepath.Join(s.data, "broker"), "--nats", "127.0.0.1:0")
	if err != nil {
		return err
	}
	line, err := s.broker.says(ctx, "broker up")
	s.url = line.NATS
	return err
}

func (s *stage) startDispatchers(ctx context.Context, n int) error {
	return s.startAsDispatchers(ctx, n, "dispatcher up", "dispatcher", "--nats", s.url)
}

func (s *stage) startChainDispatcher(ctx context.Context) error {
	return s.startAsDispatchers(ctx, 1, WorkerUp, "bench", "worker", "--server", s.url, "--system", chainDispatcher)
}

func (s *stage) startAsDispatchers(ctx context.Context, n int, up string, args ...string) error {
	for range n {
		d, err := s.program.start(roleDispatcher, args...)
		if err != nil {
			return err
		}
		s.dispatchers = append(s.dispatchers, d)
	}
	for _, d := range s.dispatchers {
		if _, err := d.says(ctx, up); err != nil {
			return err
		}
	}
	return nil
}

// crew is the worker's side of a stage.
type crew struct {
	system string
	agents int
	slots  int // of each agent
	takes  time.Duration
	uneven bool // the second agent takes twice as long, and so on
}

func (s *stage) startWorker(ctx context.Context, c crew) (err error) {
	s.worker, err = s.program.start(roleWorker, "bench", "worker", "--server", s.url, "--system", c.system,
		"--agents", strconv.Itoa(c.agents), "--slots", strconv.Itoa(c.slots), "--takes", c.takes.String(), "--uneven="+strconv.FormatBool(c.uneven))
	if err != nil {
		return err
	}
	_, err = s.worker.says(ctx, WorkerUp)
	return err
}

// WorkerUp is what a worker logs once it hears tasks.
const WorkerUp = "bench worker up"

// connect makes the callers of a scenario, each with a connection of its own.
func (s *stage) connect(ctx context.Context, of scenario) error {
	for i := range of.callers {
		c, closer, err := s.newCaller(ctx, of, i)
		if err != nil {
			return err
		}
		s.callers = append(s.callers, c)
		s.closers = append(s.closers, closer)
	}
	return nil
}

func (s *stage) newCaller(ctx context.Context, of scenario, n int) (caller, func(), error) {
	switch of.system {
	case FloorWrites:
		w, err := floor.NewWrites(s.url, strconv.Itoa(n))
		if err != nil {
			return nil, nil, err
		}
		return plain{w.Call}, w.Close, nil
	case FloorRequests:
		r, err := floor.NewRequests(s.url)
		if err != nil {
			return nil, nil, err
		}
		return plain{r.Call}, r.Close, nil
	case FloorStream:
		st, err := floor.NewStream(s.url)
		if err != nil {
			return nil, nil, err
		}
		return reader{read: st.Read}, st.Close, nil
	case FloorChain:
		c, err := floor.NewChain(s.url, of.outstanding == 1)
		if err != nil {
			return nil, nil, err
		}
		return plain{c.Call}, c.Close, nil
	}
	c, err := client.Connect(ctx, client.Config{URL: s.url, Name: "bench caller", Logger: zerolog.Nop()})
	if err != nil {
		return nil, nil, err
	}
	return reacher{c}, c.Close, nil
}

// clients are the callers' SDKs, of a stage of Reach.
func (s *stage) clients() []*client.Client {
	var clients []*client.Client
	for _, c := range s.callers {
		clients = append(clients, c.(reacher).client)
	}
	return clients
}

// members are the processes that are measured.
func (s *stage) members() []member {
	members := []member{{roleCaller, self}, s.broker.member()}
	for _, d := range s.dispatchers {
		members = append(members, d.member())
	}
	if s.worker != nil {
		members = append(members, s.worker.member())
	}
	return members
}

// close ends the callers and the processes, each before what it needs, and removes the folder. It takes moments once ctx has ended.
func (s *stage) close(ctx context.Context) {
	for _, closer := range s.closers {
		closer()
	}
	if s.worker != nil {
		s.worker.stop(ctx)
	}
	for _, d := range s.dispatchers {
		d.stop(ctx)
	}
	if s.broker != nil {
		s.broker.stop(ctx)
	}
	_ = os.RemoveAll(s.data)
}

// reacher calls the product as any Go program would.
type reacher struct{ client *client.Client }

func (r reacher) call(ctx context.Context, payload []byte, done func(error)) {
	go func() {
		_, err := r.client.Do(ctx, &schemas.ReachMessage{Capability: Capability, Payload: payload})
		done(err)
	}()
}

// plain calls a floor.
type plain struct {
	do func(context.Context, []byte) error
}

func (p plain) call(ctx context.Context, payload []byte, done func(error)) {
	go func() { done(p.do(ctx, payload)) }()
}
