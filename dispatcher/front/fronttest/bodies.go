package fronttest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/agentreach/agent-reach/schemas"
)

// staged names a payload that is put part by part.
type staged struct{ tenant, body string }

// LargeAbove makes results beyond a size part from their tasks: they come in parts of that size.
func (h *House) LargeAbove(bytes int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inline = bytes
}

// Stage keeps a part of a payload.
func (h *House) Stage(_ context.Context, tenant string, p schemas.BodyPart, data []byte) error {
	if err := h.enter("Stage"); err != nil {
		return err
	}
	defer h.mu.Unlock()
	key := staged{tenant, p.Body}
	if h.staged[key] == nil {
		h.staged[key] = make(map[int][]byte)
	}
	h.staged[key][p.Part] = bytes.Clone(data)
	return nil
}

// unstaged is a message with the payload that was staged for it.
func (h *House) unstaged(tenant string, m *schemas.ReachMessage) (*schemas.ReachMessage, error) {
	if m.PayloadRef == nil {
		return m, nil
	}
	var payload []byte
	for part := range m.PayloadRef.Parts() {
		payload = append(payload, h.staged[staged{tenant, m.PayloadRef.ID}][part]...)
	}
	if sha256Of(payload) != m.PayloadRef.SHA256 {
		return nil, schemas.NewError(schemas.FailedPrecondition, "BODY_MISSING", "put the parts first")
	}
	whole := *m
	whole.Payload, whole.PayloadRef = payload, nil
	return &whole, nil
}

func sha256Of(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// partResult takes a large result out of its task.
func (h *House) partResult(t *held) {
	if size := len(t.task.Result); h.inline > 0 && size > h.inline {
		t.result = t.task.Result
		t.task.ResultRef = &schemas.BodyRef{ID: "result", Bytes: int64(size), PartBytes: h.inline, SHA256: sha256Of(t.result)}
		t.task.Result = nil
	}
}

// Result opens the result of a task.
func (h *House) Result(_ context.Context, tenant, taskID string) (*schemas.Task, io.ReadSeekCloser, error) {
	if err := h.enter("Result"); err != nil {
		return nil, nil, err
	}
	defer h.mu.Unlock()
	t, err := h.find(tenant, taskID)
	if err != nil {
		return nil, nil, err
	}
	if t.task.State != schemas.StateCompleted {
		return nil, nil, cmp.Or(t.task.Error, schemas.NewError(schemas.FailedPrecondition, "NOT_ENDED", "it has no result yet"))
	}
	task, result := t.task, t.result
	if task.ResultRef == nil {
		result = task.Result
	}
	return &task, open{bytes.NewReader(result)}, nil
}

type open struct{ *bytes.Reader }

func (open) Close() error { return nil }

// ResultPart is a part of a large result.
func (h *House) ResultPart(_ context.Context, tenant, taskID string, part int) ([]byte, error) {
	if err := h.enter("ResultPart"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	t, err := h.find(tenant, taskID)
	if err != nil {
		return nil, err
	}
	ref := t.task.ResultRef
	if ref == nil || part >= ref.Parts() {
		return nil, schemas.NewError(schemas.NotFound, "BODY_MISSING", "there is no such part")
	}
	from := part * ref.PartBytes
	return bytes.Clone(t.result[from : from+ref.PartLen(part)]), nil
}
