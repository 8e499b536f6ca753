// Package mcp makes the tools of an MCP server into a worker.Handler: each tool is a capability, of its own name or another one.
// The server is a program that speaks on stdin and stdout, or an address of streamable HTTP.
//
// A task is a call of its tool: the payload are the arguments, the structured content is the result, or else the texts: as JSON
// if they are, or where the capability's result has room for a text (Expect). Numbers go through as they were written, which is why results are read from the wire and not from the library, which
// would round them. Progress of the tool is progress of the task; a progress notification whose _meta has agentreach/chunk is a
// chunk. A call's _meta names the task (agentreach/task_id) and its trace (traceparent). A cancel is a notification to the
// server, which need not obey, and never confirms.
//
// There is one session, made when it is first needed, kept, and made again when it is lost. A call that a lost session had not
// yet sent, or that a server refuses because it knows no such session, goes to the next one. Close waits for all goroutines.
package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/calls"
	"github.com/agentreach/agent-reach/worker/adapter/internal/keeper"
)

// Agent is one MCP server.
type Agent struct {
	cfg    Config
	tools  map[string]string // capability to tool, where they differ
	texts  map[string]texts  // by capability; set by Expect alone, before Handle
	server server
	keeper *keeper.Keeper[*session]
	calls  *calls.Calls
}

// server is how sessions are made: by starting a program, or by HTTP.
type server interface {
	connect(ctx context.Context, t *traffic) (*session, error)
	close()
	String() string // what it is called in an error
}

var _ worker.Handler = (*Agent)(nil)

// New checks cfg; it starts nothing and connects to nothing.
func New(cfg Config) (*Agent, error) {
	cfg = cfg.withDefaults()
	a := &Agent{cfg: cfg, calls: calls.New()}
	var err error
	if a.tools, err = cfg.check(); err == nil {
		a.server, err = newServer(cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("mcp agent: %w", err)
	}
	a.keeper = keeper.New(keeper.Config[*session]{Dial: a.dial, After: cfg.ReconnectAfter, Max: cfg.ReconnectMax})
	return a, nil
}

func newServer(cfg Config) (server, error) {
	if cfg.Endpoint != "" {
		return newRemote(cfg)
	}
	return newProgram(cfg)
}

// Handle calls the tool of the task's capability. When ctx ends, the server is told, and not waited for.
func (a *Agent) Handle(ctx context.Context, task *worker.Task, emit worker.Emit) (schemas.Payload, error) {
	ctx, done, ok := a.calls.Begin(ctx)
	if !ok {
		return nil, answer.Unreached("the worker's agent is closed")
	}
	defer done()
	result, failure := a.run(ctx, task, emit)
	if failure != nil {
		return nil, failure
	}
	return result, nil
}

// Health tells whether the server answers: it is connected, if need be now, and pinged.
func (a *Agent) Health(ctx context.Context) error {
	s, failure := a.keeper.Live(ctx)
	if failure != nil {
		return fmt.Errorf("check health: %w", failure.Err)
	}
	err := s.client.Ping(ctx, nil)
	var known *jsonrpc.Error
	if err != nil && !errors.As(err, &known) { // a server that knows no ping has answered, too
		return errors.New("check health: the server does not answer a ping")
	}
	return nil
}

// Close stops what runs, as a cancel does, ends the session and the program, and waits until all of it has ended. Handle refuses
// every task from then on.
func (a *Agent) Close() {
	a.calls.Close()
	a.keeper.Close()
	a.server.close()
}
