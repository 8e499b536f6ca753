package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestAHeartbeatSaysWhatIsHeld(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	handler := newScript()
	h.work(handler, func(cfg *Config) {
		cfg.ExcessWait = time.Minute
		cfg.Agents[0].Registration.Capabilities[0].MaxConcurrency = 1
	})
	running := h.assign(task{})
	handler.called(t)
	waits := h.assign(task{})
	brokertest.Eventually(t, "a heartbeat with one task that runs and one that waits", func() bool {
		last := h.lastBeat()
		return last.InFlight == 1 && last.Queued == 1 && slices.Equal(last.InFlightTasks, []string{running.TaskID}) &&
			slices.Equal(last.Held, []uint64{running.Sequence, waits.Sequence}) && last.State == schemas.AgentOnline &&
			slices.Equal(last.Capabilities, []string{"echo"}) && last.Version == "1.2.0" && !last.Time.IsZero()
	})
	handler.answer <- nil
	handler.answer <- nil
}

func TestAnAgentThatIsNotWellLeavesRouting(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	var ill atomic.Bool
	s := h.work(echo, func(cfg *Config) {
		cfg.Agents[0].Health = func(context.Context) error {
			if ill.Load() {
				return errors.New("the model is not loaded")
			}
			return nil
		}
	})
	serves := func(want ...string) func() bool {
		return func() bool {
			last := h.lastBeat()
			return last.AgentID != "" && slices.Equal(last.Capabilities, want)
		}
	}
	brokertest.Eventually(t, "a heartbeat with the capability", serves("echo"))
	ill.Store(true)
	brokertest.Eventually(t, "a heartbeat without", serves())
	if got := h.lastBeat().Trouble; got != "the model is not loaded" {
		t.Errorf("it says %q, want what its health check said", got)
	}
	if s.station().inbox.hungry() {
		t.Error("an agent that is not well asks for work")
	}
	ill.Store(false)
	brokertest.Eventually(t, "a heartbeat with it again", serves("echo"))
	if got := h.lastBeat().Trouble; got != "" {
		t.Errorf("it is well again, and says %q", got)
	}
}

func TestAHealthCheckThatHangsOrPanicsIsNotWell(t *testing.T) {
	t.Parallel()
	for name, health := range map[string]func(context.Context) error{
		"hangs":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"panics": func(context.Context) error { panic("no") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t).serve()
			h.work(echo, func(cfg *Config) { cfg.Agents[0].Health = health; cfg.HealthTimeout = 20 * time.Millisecond })
			brokertest.Eventually(t, "a heartbeat without capabilities", func() bool {
				beats := look(h, &h.beats)
				return len(beats) > 0 && len(beats[0].Capabilities) == 0
			})
			if reply := h.tell(schemas.Control{Do: schemas.DoProbe}); reply.OK || reply.Error == nil || reply.Error.Reason != "UNHEALTHY" {
				t.Errorf("a probe is answered %+v", reply)
			}
		})
	}
}

func TestADispatcherSetsAShorterPace(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.onRegister = func(_ int, r schemas.Registration) (schemas.Registered, *schemas.Error) {
		return schemas.Registered{AgentID: r.AgentID, State: schemas.AgentOnline, HeartbeatIntervalMS: 30}, nil
	}
	h.serve()
	h.work(echo, func(cfg *Config) { cfg.HeartbeatInterval = time.Hour })
	brokertest.Eventually(t, "four heartbeats", func() bool { return len(look(h, &h.beats)) >= 4 })
}

func TestAForgottenAgentRegistersAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.onBeat = func(n int, _ schemas.Heartbeat) *schemas.Error {
		if n > 1 && len(look(h, &h.registrations)) == 1 {
			return failed(schemas.NotFound)
		}
		return nil
	}
	h.serve()
	handler := newScript()
	h.work(handler)
	e := h.assign(task{})
	handler.called(t)
	brokertest.Eventually(t, "a second registration", func() bool { return len(look(h, &h.registrations)) > 1 })
	handler.answer <- nil
	h.awaitDone(e.TaskID)
	both := look(h, &h.registrations)
	if diff := cmp.Diff(both[0].InstanceID, both[1].InstanceID); diff != "" {
		t.Errorf("the process changed its name: %s", diff)
	}
}

func TestADisplacedWorkerDropsAllAndComesBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var displaced atomic.Bool
	h.silent = true
	h.onBeat = func(int, schemas.Heartbeat) *schemas.Error {
		if displaced.Load() {
			return failed(schemas.FailedPrecondition)
		}
		return nil
	}
	h.onRegister = func(n int, r schemas.Registration) (schemas.Registered, *schemas.Error) {
		if n > 1 && n < 4 {
			return schemas.Registered{}, failed(schemas.AlreadyExists)
		}
		displaced.Store(false)
		return schemas.Registered{AgentID: r.AgentID, State: schemas.AgentOnline}, nil
	}
	h.serve()
	causes := make(chan error, 1)
	began := make(chan struct{})
	var calls atomic.Int64
	s := h.work(HandlerFunc(func(ctx context.Context, task *Task, _ Emit) (schemas.Payload, error) {
		if calls.Add(1) > 1 {
			return task.Message.Payload, nil
		}
		close(began)
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil, ctx.Err()
	}))
	e := h.assign(task{})
	<-began
	displaced.Store(true)
	if cause := <-causes; !errors.Is(cause, ErrSuperseded) {
		t.Errorf("the handler ended with %v, want ErrSuperseded", cause)
	}
	brokertest.Eventually(t, "the registration that is taken", func() bool { return len(look(h, &h.registrations)) >= 4 })
	brokertest.Eventually(t, "an empty inbox", s.station().inbox.empty)
	h.mu.Lock()
	h.silent = false
	h.mu.Unlock()
	h.awaitDone(e.TaskID) // it is still this agent's, and comes again
}

func TestRegistering(t *testing.T) {
	t.Parallel()
	t.Run("a worker waits for a dispatcher", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		s := h.start(echo)
		h.serve()
		select {
		case <-s.Ready():
		case <-time.After(20 * time.Second):
			t.Fatal("the worker is not ready")
		}
	})
	t.Run("a worker waits until another process has gone", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		h.onRegister = func(n int, r schemas.Registration) (schemas.Registered, *schemas.Error) {
			if n < 3 {
				return schemas.Registered{}, failed(schemas.AlreadyExists)
			}
			return schemas.Registered{AgentID: r.AgentID, State: schemas.AgentOnline}, nil
		}
		h.serve()
		h.work(echo)
	})
	t.Run("a worker that waits ends when told", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		s := h.start(echo)
		if err := s.end(); err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
	for _, code := range []schemas.Code{schemas.InvalidArgument, schemas.FailedPrecondition} {
		t.Run(fmt.Sprintf("a registration refused with %s ends the worker", code), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.onRegister = func(_ int, r schemas.Registration) (schemas.Registered, *schemas.Error) {
				if r.AgentID == "laptop-2" {
					return schemas.Registered{}, failed(code)
				}
				return schemas.Registered{AgentID: r.AgentID, State: schemas.AgentOnline}, nil
			}
			h.serve()
			s := h.start(echo, func(cfg *Config) {
				second := cfg.Agents[0]
				second.Registration.AgentID = "laptop-2"
				cfg.Agents = append(cfg.Agents, second)
			})
			err := <-s.done
			s.done = nil
			if got := codeOf(err); got != code {
				t.Errorf("Run returned %v, want %s", err, code)
			}
		})
	}
	t.Run("an agent that drained before drains on", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		h.onRegister = func(_ int, r schemas.Registration) (schemas.Registered, *schemas.Error) {
			return schemas.Registered{AgentID: r.AgentID, State: schemas.AgentDraining}, nil
		}
		h.serve()
		h.work(echo)
		e := h.assign(task{})
		brokertest.Eventually(t, "a release", func() bool {
			r := look(h, &h.releases)
			return len(r) > 0 && r[0].TaskID == e.TaskID
		})
	})
}

func TestSeveralAgentsInOneProcess(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	h.work(echo, func(cfg *Config) {
		second := cfg.Agents[0]
		second.Registration.AgentID = "laptop-2"
		second.Handler = HandlerFunc(func(context.Context, *Task, Emit) (schemas.Payload, error) {
			return schemas.Payload(`"two"`), nil
		})
		cfg.Agents = append(cfg.Agents, second)
	})
	one, two := h.assign(task{payload: `"one"`}), h.assign(task{agent: "laptop-2"})
	for id, want := range map[string]string{one.TaskID: `"one"`, two.TaskID: `"two"`} {
		if r := h.awaitResult(id); string(r.Result) != want {
			t.Errorf("the result is %s, want %s", []byte(r.Result), want)
		}
	}
	if n := h.processes(); n != 2 {
		t.Errorf("%d instances for two agents", n)
	}
}
