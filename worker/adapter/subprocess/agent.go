// Package subprocess makes a program into a worker.Handler: JSON lines on its stdin and stdout, its stderr as its log. A program
// that knows nothing of us is served too, if it reads its input and prints one JSON value.
//
// There are two forms. Per task, each task has a process of its own. Kept alive, one child serves many tasks at once and is started
// again with growing delays when it dies. In both, a program runs as internal/process has it: in its own group, without our
// secrets, told to stop by SIGTERM and killed KillAfter later.
//
// Each process has four goroutines: one starts it and waits for it, one reads its stdout and is the only one to do so, one writes
// its stdin, one drains its stderr. Per task, Handle itself is the reader. Kept alive, the reader hands each line to the Handle
// call whose task it names; the tasks in a child are known to its call table alone, behind one lock. Close waits for all of them.
package subprocess

import (
	"context"
	"fmt"
	"os"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/calls"
	"github.com/agentreach/agent-reach/worker/adapter/internal/process"
)

// Agent is one program.
type Agent struct {
	cfg     Config
	command []string // the program found, and its arguments
	keeper  *keeper  // nil when each task has its own process
	calls   *calls.Calls
}

var _ worker.Handler = (*Agent)(nil)

// New checks cfg and finds the program; it starts nothing.
func New(cfg Config) (*Agent, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("subprocess agent: %w", err)
	}
	program, err := process.Find(cfg.Command[0], cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("subprocess agent: %w", err)
	}
	a := &Agent{cfg: cfg, calls: calls.New(), command: append([]string{program}, cfg.Command[1:]...)}
	if cfg.KeepAlive {
		a.keeper = &keeper{cfg: cfg, command: a.command}
	}
	return a, nil
}

// Handle runs one task: in a process of its own, or in the child that is kept alive.
func (a *Agent) Handle(ctx context.Context, task *worker.Task, emit worker.Emit) (schemas.Payload, error) {
	ctx, done, ok := a.calls.Begin(ctx)
	if !ok {
		return nil, answer.Unreached("the worker's agent is closed")
	}
	defer done()
	var result schemas.Payload
	var failure *worker.Failure
	if a.keeper != nil {
		result, failure = a.keeper.handle(ctx, task, emit)
	} else {
		result, failure = a.perTask(ctx, task, emit)
	}
	if failure != nil {
		return nil, failure
	}
	return result, nil
}

// Health tells whether the agent can take a task: the child lives (it is started if need be), or the program is there to start.
func (a *Agent) Health(ctx context.Context) error {
	if a.keeper != nil {
		if _, failure := a.keeper.live(ctx); failure != nil {
			return failure.Err
		}
		return nil
	}
	if _, err := os.Stat(a.command[0]); err != nil {
		return fmt.Errorf("check health: %w", err)
	}
	return nil
}

// Close stops what runs, as a cancel does, and waits until all of it has ended. Handle refuses every task from then on.
func (a *Agent) Close() {
	a.calls.Close()
	if a.keeper != nil {
		a.keeper.close()
	}
}
