// Package grpc makes a method of a gRPC server into a worker.Handler: any unary or server-streaming one, described by reflection of
// the server or by a descriptor set, or the Run of our own small service (reachpb).
//
// With a method of any kind, the payload becomes the request and the response becomes the result by the JSON mapping of Protocol
// Buffers: fields are taken in snake_case and camelCase and given in snake_case; 64-bit integers are taken as numbers and texts,
// and given as texts unless the configuration wants numbers; what the type of a field cannot hold is refused, but a double takes
// the nearest it has. The messages of a stream are chunks, and the result is all of them, or the last. With our own service JSON
// travels as text, and nothing of that applies.
//
// The deadline of the call is the run limit; a cancel ends the call, and is never confirmed. A status says what HTTP's would; if
// it comes from the library and not from the server, whether the request went out decides. Before a task that may not be repeated
// the server has to answer a health check, so that few tasks go into a connection that is dead without anyone knowing.
//
// An Agent has one connection, kept and made again by the library, whose goroutines end with Close.
package grpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/reason"
)

// Agent is one gRPC server.
type Agent struct {
	cfg     Config
	conn    *rpc.ClientConn
	lines   *lines // below conn
	methods *methods
	busy    atomic.Int64 // calls that run a task
}

var _ worker.Handler = (*Agent)(nil)

// New checks cfg and reads the descriptor set, if there is one; it does not connect.
func New(cfg Config) (*Agent, error) {
	a, err := newAgent(cfg.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("grpc agent: %w", err)
	}
	return a, nil
}

func newAgent(cfg Config) (*Agent, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	below := newLines()
	conn, err := connect(cfg, below)
	if err != nil {
		return nil, errors.New("the target is not an address that gRPC knows")
	}
	methods, err := newMethods(cfg, conn)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &Agent{cfg: cfg, conn: conn, lines: below, methods: methods}, nil
}

// Handle calls the method of the task's capability.
func (a *Agent) Handle(ctx context.Context, task *worker.Task, emit worker.Emit) (schemas.Payload, error) {
	result, failure := a.handle(ctx, task, emit)
	if failure != nil {
		return nil, failure
	}
	return result, nil
}

func (a *Agent) handle(ctx context.Context, task *worker.Task, emit worker.Emit) (schemas.Payload, *worker.Failure) {
	c := &call{agent: a, task: task, emit: emit}
	defer c.done()
	name := a.cfg.methodFor(task.Message.Capability)
	if name == "" {
		return c.run(ctx)
	}
	m, failure := a.methods.find(ctx, name)
	if failure != nil {
		return nil, failure
	}
	return c.invoke(ctx, m)
}

// there makes sure that the server answers, before it is sent a task that may not be repeated: a connection can be dead without
// anyone knowing. Any answer will do, also that there is no health service.
func (a *Agent) there(ctx context.Context, task *worker.Task) *worker.Failure {
	if assignment := task.Message.Assignment; assignment != nil && assignment.Idempotent {
		return nil
	}
	const looks = 2 // one that finds the connection dead, and one on the next
	for n := 1; ; n++ {
		err := a.look(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return answer.Ended(ctx, schemas.RanNo, false)
		case status.Code(err) == codes.DeadlineExceeded && a.silent():
			n-- // it is at work, and may come to it later
		case n == looks:
			return a.cfg.cannotConnect(err)
		}
	}
}

// look asks the server for any answer, and waits as long as for a connection.
func (a *Agent) look(ctx context.Context) error {
	var f fate
	ctx, stop := context.WithTimeout(ctx, a.cfg.ConnectTimeout)
	defer stop()
	_, err := grpc_health_v1.NewHealthClient(a.conn).Check(withFate(ctx, &f), new(grpc_health_v1.HealthCheckRequest))
	if f.answered.Load() {
		return nil
	}
	return err
}

// silent is what becomes of a connection over which no answer came in time: where the server has nothing of ours to do, which may keep it
// from answering, it is taken for dead, and the next call gets another one. It reports whether the server is at work.
func (a *Agent) silent() (atWork bool) {
	if a.busy.Load() > 0 {
		return true
	}
	a.lines.cut()
	return false
}

// cannotConnect is a task of which nothing went out, and why.
func (c *Config) cannotConnect(err error) *worker.Failure {
	return answer.Unreached("cannot reach %s: %s", c.Target, why(err))
}

// why is what the library says of a connection that it could not make, without the words around it.
func why(err error) string {
	text := status.Convert(err).Message()
	if _, desc, found := strings.Cut(text, `desc = "`); found {
		text = desc
	}
	return reason.Of(errors.New(strings.TrimSuffix(strings.TrimPrefix(text, "transport: "), `"`)))
}

// Health asks the server by the standard health service. One that does not have it has answered, and is taken to be well.
func (a *Agent) Health(ctx context.Context) error {
	var f fate
	request := &grpc_health_v1.HealthCheckRequest{Service: a.cfg.HealthService}
	response, err := grpc_health_v1.NewHealthClient(a.conn).Check(withFate(ctx, &f), request)
	switch {
	case status.Code(err) == codes.Unimplemented:
		return nil
	case err != nil && !f.answered.Load():
		if ctx.Err() != nil {
			a.silent()
		}
		return fmt.Errorf("check health: cannot reach %s: %s", a.cfg.Target, why(err))
	case err != nil:
		return fmt.Errorf("check health: the server answered %s", spelled(status.Code(err)))
	case response.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING:
		return fmt.Errorf("check health: the server says %s", response.GetStatus())
	}
	return nil
}

// Close ends the connection. Call it when no Handle runs any more.
func (a *Agent) Close() { _ = a.conn.Close() }

// spelled is a code as gRPC's documents spell it.
func spelled(code codes.Code) schemas.Code {
	if int(code) > 0 && int(code) <= len(schemas.Codes) {
		return schemas.Codes[code-1]
	}
	return schemas.Code(strings.ToUpper(code.String()))
}
