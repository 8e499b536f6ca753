package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
	"github.com/agentreach/agent-reach/schemas/redact"
)

// errBrokeContract ends the context of a handler whose agent emitted what its capability does not allow.
var errBrokeContract = errors.New("a chunk broke the capability's contract")

// chunkRules are the schemas of chunks, by capability, where the dictionary has one, as the last registration was answered.
type chunkRules struct {
	schemas atomic.Pointer[map[string]*contract.Schema]
}

// learn takes what a registration was answered. The dictionary holds only what compiles.
func (c *chunkRules) learn(raw map[string]jsontext.Value) error {
	var problem error
	compiled := make(map[string]*contract.Schema, len(raw))
	for capability, schema := range raw {
		rule, err := contract.Compile(schema)
		if err != nil {
			problem = fmt.Errorf("chunk schema of %s: %w", capability, err)
			continue
		}
		compiled[capability] = rule
	}
	c.schemas.Store(&compiled)
	return problem
}

// of is nil, which accepts everything, for a capability without a schema of its chunks.
func (c *chunkRules) of(capability string) *contract.Schema {
	if rules := c.schemas.Load(); rules != nil {
		return (*rules)[capability]
	}
	return nil
}

// chunkGuard is a Handler whose chunks are checked before anybody sees them. With the first that breaks the contract the agent is
// told to stop, and the attempt has failed, whatever it says later.
type chunkGuard struct {
	Handler
	rules *chunkRules
}

// Handle is that of the handler below.
func (g *chunkGuard) Handle(ctx context.Context, task *Task, emit Emit) (schemas.Payload, error) {
	rule := g.rules.of(task.Message.Capability)
	if rule == nil {
		return g.Handler.Handle(ctx, task, emit)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	guarded := &guardedEmit{Emit: emit, capability: task.Message.Capability, rule: rule, stop: cancel}
	result, err := g.Handler.Handle(ctx, task, guarded)
	if broken := guarded.violation(); broken != nil {
		return nil, &Failure{Err: broken, Ran: schemas.RanYes}
	}
	return result, err
}

// guardedEmit passes on chunks that fit.
type guardedEmit struct {
	Emit
	capability string
	rule       *contract.Schema
	stop       context.CancelCauseFunc

	mu     sync.Mutex
	count  int64
	broken *schemas.Error
}

// Chunk refuses a chunk that does not fit, and all after it.
func (g *guardedEmit) Chunk(ctx context.Context, data schemas.Payload) error {
	if g.refuse(data) != nil {
		g.stop(errBrokeContract)
		return errBrokeContract
	}
	return g.Emit.Chunk(ctx, data)
}

func (g *guardedEmit) refuse(data schemas.Payload) *schemas.Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broken != nil {
		return g.broken
	}
	g.count++
	g.broken = g.rule.CheckChunk(g.capability, data)
	if g.broken != nil {
		g.broken.With("origin", "agent").With("chunk", g.count)
		g.note(data)
	}
	return g.broken
}

// note keeps the beginning of a chunk that was refused, masked, for whoever follows the trace.
func (g *guardedEmit) note(data schemas.Payload) {
	if to, ok := g.Emit.(interface{ refused(detail any) }); ok {
		to.refused(map[string]any{"accepted": false, "chunk": g.count, "excerpt": redact.Excerpt(data, 0)})
	}
}

func (g *guardedEmit) violation() *schemas.Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.broken
}
