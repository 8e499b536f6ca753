package fronttest

import (
	"context"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

var _ front.Work = (*House)(nil)

// Claim finds nothing to do.
func (h *House) Claim(ctx context.Context, claim *schemas.Claim, wait time.Duration) (*schemas.Claimed, error) {
	if err := h.enter("Claim"); err != nil {
		return nil, err
	}
	h.mu.Unlock()
	return &schemas.Claimed{Assignments: []schemas.ClaimedTask{}}, nil
}

// Heartbeat hears it.
func (h *House) Heartbeat(context.Context, *schemas.Heartbeat) (*schemas.Heard, error) {
	return h.hear("Heartbeat", 0)
}

// Receipt hears it.
func (h *House) Receipt(context.Context, *schemas.Receipt) (*schemas.Heard, error) {
	return h.hear("Receipt", 0)
}

// Chunk takes every one.
func (h *House) Chunk(_ context.Context, _ uint64, chunk *schemas.Chunk) (*schemas.Heard, error) {
	return h.hear("Chunk", chunk.N)
}

func (h *House) hear(call string, ack int64) (*schemas.Heard, error) {
	if err := h.enter(call); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	return &schemas.Heard{Ack: ack}, nil
}

// Finish ends the task, whoever has it.
func (h *House) Finish(_ context.Context, result *schemas.Result) (*schemas.Answer, error) {
	if err := h.enter("Finish"); err != nil {
		return nil, err
	}
	h.mu.Unlock()
	h.End(result.TaskID, result.Result, result.Error)
	return &schemas.Answer{Outcome: schemas.OutcomeStored, Sequence: result.Sequence + 1}, nil
}

// Release takes every one back.
func (h *House) Release(_ context.Context, release *schemas.Release) (*schemas.Answer, error) {
	if err := h.enter("Release"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	return &schemas.Answer{Outcome: schemas.OutcomeStored, Sequence: release.Sequence + 1}, nil
}
