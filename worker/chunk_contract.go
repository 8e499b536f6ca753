package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/align"
	"github.com/agentreach/agent-reach/schemas/contract"
	"github.com/agentreach/agent-reach/schemas/redact"
)

// errBrokeContract ends the context of a handler whose agent emitted what its capability does not allow.
var errBrokeContract = errors.New("a chunk broke the capability's contract")

// chunkRules are the schemas of chunks, by capability, where the dictionary or the agent has one, as the last registration was
// answered.
type chunkRules struct {
	schemas atomic.Pointer[map[string]chunkRule]
}

// chunkRule is what a chunk has to fit, in the capability's words and in the agent's own. A nil schema accepts everything.
type chunkRule struct{ ours, theirs *contract.Schema }

// learn takes what a registration was answered, and what it said itself. The dictionary holds only what compiles.
func (c *chunkRules) learn(ours map[string]jsontext.Value, offers []schemas.Offer) error {
	var problem error
	compiled := make(map[string]chunkRule)
	for i := range offers {
		id := offers[i].ID
		rule, err := compileChunks(ours[id], offers[i].ChunkSchema)
		if err != nil {
			problem = fmt.Errorf("chunk schema of %s: %w", id, err)
		}
		if rule != (chunkRule{}) {
			compiled[id] = rule
		}
	}
	c.schemas.Store(&compiled)
	return problem
}

func compileChunks(ours, theirs []byte) (rule chunkRule, err error) {
	if ours != nil {
		rule.ours, err = contract.Compile(ours)
	}
	if theirs != nil && err == nil {
		rule.theirs, err = contract.Compile(theirs)
	}
	return rule, err
}

// of is empty, and accepts everything, for a capability without a schema of its chunks.
func (c *chunkRules) of(capability string) chunkRule {
	if rules := c.schemas.Load(); rules != nil {
		return (*rules)[capability]
	}
	return chunkRule{}
}

// chunkGuard is a Handler whose chunks are checked, and said in the capability's words, before anybody sees them. With the first that
// breaks the contract the agent is told to stop, and the attempt has failed, whatever it says later.
type chunkGuard struct {
	Handler
	rules *chunkRules
	words *words
}

// Handle is that of the handler below.
func (g *chunkGuard) Handle(ctx context.Context, task *Task, emit Emit) (schemas.Payload, error) {
	capability := task.Message.Capability
	rule, pair := g.rules.of(capability), g.words.of(capability)
	if rule == (chunkRule{}) && !pair.Chunks() {
		return g.Handler.Handle(ctx, task, emit)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	guarded := &guardedEmit{Emit: emit, capability: capability, rule: rule, words: pair, stop: cancel}
	result, err := g.Handler.Handle(ctx, task, guarded)
	if broken := guarded.violation(); broken != nil {
		return nil, &Failure{Err: broken, Ran: schemas.RanYes}
	}
	return result, err
}

// guardedEmit passes on chunks that fit, in the capability's words.
type guardedEmit struct {
	Emit
	capability string
	rule       chunkRule
	words      *align.Pair
	stop       context.CancelCauseFunc

	mu     sync.Mutex
	count  int64
	broken *schemas.Error
}

// Chunk refuses a chunk that does not fit, and all after it.
func (g *guardedEmit) Chunk(ctx context.Context, data schemas.Payload) error {
	said := g.words.Chunk(data)
	if g.refuse(data, said) != nil {
		g.stop(errBrokeContract)
		return errBrokeContract
	}
	return g.Emit.Chunk(ctx, said)
}

// refuse holds a chunk, in the agent's words and in ours, against the schemas of each.
func (g *guardedEmit) refuse(data, said schemas.Payload) *schemas.Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broken != nil {
		return g.broken
	}
	g.count++
	if g.broken = g.rule.theirs.CheckChunk(g.capability, data); g.broken == nil {
		g.broken = g.rule.ours.CheckChunk(g.capability, said)
	}
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
