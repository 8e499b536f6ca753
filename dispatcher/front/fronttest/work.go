package fronttest

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

var _ front.Work = (*House)(nil)

// Claim finds nothing to do.
func (h *House) Claim(ctx context.Context, claim *schemas.Claim, wait time.Duration) (*front.Claimed, error) {
	if err := h.enter("Claim"); err != nil {
		return nil, err
	}
	h.mu.Unlock()
	return &front.Claimed{Claimed: schemas.Claimed{Assignments: []schemas.ClaimedTask{}}}, nil
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

// Payload is that of any task.
func (h *House) Payload(_ context.Context, _, _, taskID string, _ uint64) (io.ReadSeekCloser, error) {
	if err := h.enter("Payload"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	payload := []byte(`{}`)
	if t := h.tasks[taskID]; t != nil {
		payload = t.message.Payload
	}
	return inMemory{bytes.NewReader(payload)}, nil
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// TooLarge ends the task.
func (h *House) TooLarge(_ context.Context, taskID string, _ uint64, why *schemas.Error) error {
	if err := h.enter("TooLarge"); err != nil {
		return err
	}
	h.mu.Unlock()
	h.End(taskID, nil, why)
	return nil
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

// FinishFrom is Finish.
func (h *House) FinishFrom(ctx context.Context, result *schemas.Result, made io.ReadSeeker) (*schemas.Answer, error) {
	whole := *result
	var err error
	if whole.Result, err = readWhole(made); err != nil {
		return nil, err
	}
	return h.Finish(ctx, &whole)
}

// readWhole reads twice what may be read several times.
func readWhole(from io.ReadSeeker) (whole []byte, err error) {
	for range 2 {
		if _, err = from.Seek(0, io.SeekStart); err == nil {
			whole, err = io.ReadAll(from)
		}
	}
	return whole, err
}

// Release takes every one back.
func (h *House) Release(_ context.Context, release *schemas.Release) (*schemas.Answer, error) {
	if err := h.enter("Release"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	return &schemas.Answer{Outcome: schemas.OutcomeStored, Sequence: release.Sequence + 1}, nil
}
