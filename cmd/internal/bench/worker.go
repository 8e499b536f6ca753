package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/cmd/internal/bench/floor"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// Capability is what the agents of a benchmark offer.
const Capability = "echo"

// chainDispatcher is the other side that a chain has: as every process, it is this program called for one role.
const chainDispatcher = FloorChain + "-dispatcher"

// Worker is the worker's side of a benchmark: agents that answer with what they are asked.
type Worker struct {
	System string        // Reach, or one of the floors
	URL    string        // of the broker
	Agents int           // of Reach
	Slots  int           // of each agent
	Takes  time.Duration // how long an agent works on a task
	Uneven bool          // the second agent takes twice as long as the first, the third three times as long, and so on
	Logger zerolog.Logger
}

// Run serves until ctx ends, and calls ready once tasks are heard.
func (w Worker) Run(ctx context.Context, ready func()) error {
	switch w.System {
	case Reach:
		return w.serve(ctx, ready)
	case FloorWrites:
		return floor.ServeWrites(ctx, w.URL, w.Agents*w.Slots, ready)
	case FloorRequests:
		return floor.ServeRequests(ctx, w.URL, ready)
	case FloorStream:
		return floor.ServeStreams(ctx, w.URL, ready)
	case FloorChain:
		return floor.ServeChainAgent(ctx, w.URL, ready)
	case chainDispatcher:
		return floor.ServeChain(ctx, w.URL, ready)
	}
	return fmt.Errorf("%q is no system; they are %s, %s, %s, %s and %s", w.System, Reach, FloorWrites, FloorRequests, FloorStream, FloorChain)
}

func (w Worker) serve(ctx context.Context, ready func()) error {
	conn, err := broker.Connect(ctx, broker.Config{URL: w.URL, Name: "bench worker", Logger: w.Logger})
	if err != nil {
		return err
	}
	defer conn.Close()
	serving, err := worker.New(worker.Config{Conn: conn, Agents: w.agents(), Logger: w.Logger.Level(zerolog.WarnLevel)})
	if err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return serving.Run(ctx) })
	all.Go(func() error {
		select {
		case <-serving.Ready():
			ready()
		case <-ctx.Done():
		}
		return nil
	})
	return all.Wait()
}

func (w Worker) agents() []worker.Agent {
	agents := make([]worker.Agent, w.Agents)
	for i := range agents {
		agents[i] = worker.Agent{
			Registration: schemas.Registration{
				AgentID: fmt.Sprintf("bench-%d", i), Version: "1.0.0",
				Capabilities: []schemas.Offer{{ID: Capability, MaxConcurrency: w.Slots}},
			},
			Handler: worker.HandlerFunc(w.echo(i)),
		}
	}
	return agents
}

// echo is what the agent of that number does: it answers with what it is asked, and fails if it is asked for more than it has slots.
func (w Worker) echo(n int) func(context.Context, *worker.Task, worker.Emit) (schemas.Payload, error) {
	takes := w.Takes
	if w.Uneven {
		takes *= time.Duration(n + 1)
	}
	var running atomic.Int64
	return func(ctx context.Context, task *worker.Task, to worker.Emit) (schemas.Payload, error) {
		defer running.Add(-1)
		if now := running.Add(1); now > int64(w.Slots) {
			return nil, fmt.Errorf("agent %d runs %d tasks and has %d slots", n, now, w.Slots)
		}
		if task.Message.ResponseMode == schemas.ModeStream {
			return emit(ctx, task, to)
		}
		return work(ctx, task, takes)
	}
}

func work(ctx context.Context, task *worker.Task, takes time.Duration) (schemas.Payload, error) {
	if takes > 0 {
		working := time.NewTimer(takes)
		defer working.Stop()
		select {
		case <-working.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return task.Message.Payload, nil
}
