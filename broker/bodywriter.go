package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"

	"golang.org/x/sync/errgroup"

	"github.com/agentreach/agent-reach/schemas"
)

// partsAtOnce is how many parts of one body are on their way at once: what a body costs in memory is so many parts, and one.
const partsAtOnce = 4

// PutPart brings one part of a body to where it is kept. It may be called by several goroutines at once, and owns data.
type PutPart func(ctx context.Context, id string, part int, data []byte) error

// BodyWriter cuts what is written to it into parts and puts them. Write waits while too many are on their way. It is used by one
// goroutine, and has to be closed.
type BodyWriter struct {
	ref    schemas.BodyRef
	put    PutPart
	ctx    context.Context // ends when a part was not put
	group  *errgroup.Group
	digest hash.Hash
	buffer []byte
	parts  int
}

// NewBodyWriter begins a body with parts of a size. ctx is that of all its puts.
func NewBodyWriter(ctx context.Context, partBytes int, put PutPart) *BodyWriter {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	return &BodyWriter{
		ref: schemas.BodyRef{ID: newWrite() + newWrite(), PartBytes: partBytes}, put: put, ctx: ctx, group: group, digest: sha256.New(),
	}
}

// ID is the name of the body.
func (w *BodyWriter) ID() string { return w.ref.ID }

// Write takes all of data, unless a part could not be put: Close says why.
func (w *BodyWriter) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		if w.ctx.Err() != nil {
			return 0, context.Cause(w.ctx)
		}
		if w.buffer == nil {
			w.buffer = make([]byte, 0, w.ref.PartBytes)
		}
		n := min(len(rest), w.ref.PartBytes-len(w.buffer))
		w.buffer = append(w.buffer, rest[:n]...)
		if rest = rest[n:]; len(w.buffer) == w.ref.PartBytes {
			w.flush()
		}
	}
	return len(data), nil
}

func (w *BodyWriter) flush() {
	part, data := w.parts, w.buffer
	w.parts, w.buffer = part+1, nil
	w.ref.Bytes += int64(len(data))
	_, _ = w.digest.Write(data) // never fails
	w.group.Go(func() error { return w.put(w.ctx, w.ref.ID, part, data) })
}

// Close puts the rest and waits for all parts. The reference is good only without an error.
func (w *BodyWriter) Close() (*schemas.BodyRef, error) {
	if len(w.buffer) > 0 {
		w.flush()
	}
	if err := w.group.Wait(); err != nil {
		return nil, err
	}
	if w.ref.Bytes == 0 {
		return nil, errors.New("write body: it is empty")
	}
	w.ref.SHA256 = hex.EncodeToString(w.digest.Sum(nil))
	ref := w.ref
	return &ref, nil
}
