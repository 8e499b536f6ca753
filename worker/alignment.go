package worker

import (
	"context"
	"sync/atomic"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/align"
)

// words translate between the words of capabilities and an agent's own, as the last registration was answered.
type words struct {
	pairs atomic.Pointer[map[string]*align.Pair] // by capability
}

// learn takes what a registration was answered.
func (w *words) learn(alignments map[string]*schemas.Alignment) {
	pairs := make(map[string]*align.Pair, len(alignments))
	for capability, alignment := range alignments {
		pairs[capability] = align.New(alignment)
	}
	w.pairs.Store(&pairs)
}

// of is nil, which changes nothing, for a capability that the agent spells alike.
func (w *words) of(capability string) *align.Pair {
	if pairs := w.pairs.Load(); pairs != nil {
		return (*pairs)[capability]
	}
	return nil
}

// translator is a Handler that is given each task in the agent's words. What it answers is in the agent's words, too.
type translator struct {
	Handler
	words *words
}

// Handle leaves the task that it is given as it is.
func (t *translator) Handle(ctx context.Context, task *Task, emit Emit) (schemas.Payload, error) {
	pair := t.words.of(task.Message.Capability)
	if pair == nil {
		return t.Handler.Handle(ctx, task, emit)
	}
	translated, message := *task, *task.Message
	message.Payload = pair.Payload(message.Payload)
	translated.Message = &message
	return t.Handler.Handle(ctx, &translated, emit)
}
