// Package websocket makes an agent that listens on a WebSocket into a worker.Handler. One connection carries all tasks, side by
// side, each message naming its task. It is made when it is first needed, kept, watched by pings, and made again with growing
// delays when it is lost.
//
// The messages are those of a long-lived subprocess, one JSON object each. To the agent:
//
//	{"task_id":"…","capability":"…","attempt":1,"deadline":"…","traceparent":"…","payload":…}
//	{"cancel":"…"}             stop that task
//	{"resume":"…","next":18}   after a reconnect: go on with that task, from its 18th chunk
//
// and from it, each with its task_id:
//
//	{"task_id":"…","chunk":…,"n":17}   n counts from 1; it is needed of agents that resume
//	{"task_id":"…","progress":{"fraction":0.4,"message":"…"}}
//	{"task_id":"…","result":…}
//	{"task_id":"…","error":{"code":"…","message":"…","details":{}}}
//	{"task_id":"…","lost":true}        what is to be resumed is not known here any more
//
// What the loss of a connection means for its tasks: those of which nothing went out go to the next connection. The others may
// have done anything, and fail so, unless the agent resumes. A close code may say more; closes has the table. Before a task that
// may not be repeated the agent has to answer a ping, so that few tasks go into a connection that is dead without anyone knowing.
//
// A connection has three goroutines: its reader hands each message to the Handle call whose task it names, its writer is the only
// one to send messages, its watcher pings. While a Handle call does not take what is there for it, nothing is read for others
// either, and the agent waits; that time is not held against it. Close waits for all of them.
package websocket

import (
	"context"
	"fmt"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/calls"
	"github.com/agentreach/agent-reach/worker/adapter/internal/keeper"
)

// Agent is one agent behind a WebSocket.
type Agent struct {
	cfg    Config
	keeper *keeper.Keeper[*socket]
	calls  *calls.Calls
}

var _ worker.Handler = (*Agent)(nil)

// New checks cfg; it does not connect.
func New(cfg Config) (*Agent, error) {
	cfg = cfg.withDefaults()
	dialer, err := newDialer(cfg)
	if err != nil {
		return nil, fmt.Errorf("websocket agent: %w", err)
	}
	a := &Agent{cfg: cfg, calls: calls.New(), keeper: keeper.New(keeper.Config[*socket]{
		Dial: dialer.dial, After: cfg.ReconnectAfter, Max: cfg.ReconnectMax,
	})}
	return a, nil
}

// Handle sends the task and passes on what the agent says of it. When ctx ends, the agent is told to stop and has CancelWait to
// acknowledge it.
func (a *Agent) Handle(ctx context.Context, task *worker.Task, emit worker.Emit) (schemas.Payload, error) {
	ctx, done, ok := a.calls.Begin(ctx)
	if !ok {
		return nil, answer.Unreached("the worker's agent is closed")
	}
	defer done()
	result, failure := a.talk(ctx, task, emit)
	if failure != nil {
		return nil, failure
	}
	return result, nil
}

// Health tells whether the agent can take a task: it is connected, if need be now, and answers a ping.
func (a *Agent) Health(ctx context.Context) error {
	s, failure := a.keeper.Live(ctx)
	if failure != nil {
		return fmt.Errorf("check health: %w", failure.Err)
	}
	if err := s.answers(ctx); err != nil {
		return fmt.Errorf("check health: %w", err)
	}
	return nil
}

// Close stops what runs, as a cancel does, and waits until all of it has ended. Handle refuses every task from then on.
func (a *Agent) Close() {
	a.calls.Close()
	a.keeper.Close()
}
