package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"sync"

	"github.com/agentreach/agent-reach/schemas"
)

// GetPart fetches one part of a body. It may be called by several goroutines at once.
type GetPart func(ctx context.Context, part int) ([]byte, error)

// BodyReader reads a body part by part, some ahead. One that is read from the first byte to the last, without a leap, is held against
// its digest: the last read fails if it is another. It is used by one goroutine, and has to be closed.
type BodyReader struct {
	ref    schemas.BodyRef
	get    GetPart
	ctx    context.Context
	offset int64
	digest hash.Hash // nil once a leap was made

	rest     []byte             // of the part that is read
	ahead    []chan fetchedPart // parts that are on their way, in order
	next     int                // the part to fetch after those
	fetching context.Context    // of those
	cancel   context.CancelFunc // ends those; nil before the first
	flying   sync.WaitGroup
}

type fetchedPart struct {
	data []byte
	err  error
}

var _ io.ReadSeekCloser = (*BodyReader)(nil)

// NewBodyReader reads a body. ctx is that of all its gets.
func NewBodyReader(ctx context.Context, ref *schemas.BodyRef, get GetPart) *BodyReader {
	return &BodyReader{ref: *ref, get: get, ctx: ctx, digest: sha256.New()}
}

// Size is how many bytes the body has.
func (r *BodyReader) Size() int64 { return r.ref.Bytes }

// Read gives what is at hand, and waits only for the first byte.
func (r *BodyReader) Read(into []byte) (int, error) {
	if r.offset >= r.ref.Bytes {
		return 0, io.EOF
	}
	if len(r.rest) == 0 {
		if err := r.advance(); err != nil {
			return 0, err
		}
	}
	n := copy(into, r.rest)
	r.rest = r.rest[n:]
	r.offset += int64(n)
	if r.digest == nil {
		return n, nil
	}
	_, _ = r.digest.Write(into[:n]) // never fails
	if r.offset == r.ref.Bytes && hex.EncodeToString(r.digest.Sum(nil)) != r.ref.SHA256 {
		return 0, errAnotherBody
	}
	return n, nil
}

var errAnotherBody = schemas.NewError(schemas.DataLoss, "BODY_DAMAGED", "a stored body is not the one that was written")

// advance waits for the part at the offset, and keeps some on their way behind it.
func (r *BodyReader) advance() error {
	part, within := r.ref.At(r.offset)
	if r.cancel == nil {
		r.fetching, r.cancel = context.WithCancel(r.ctx)
		r.next = part
	}
	for len(r.ahead) < partsAtOnce && r.next < r.ref.Parts() {
		r.fetch()
	}
	first := <-r.ahead[0]
	r.ahead = r.ahead[1:]
	if first.err != nil {
		return first.err
	}
	r.rest = first.data[within:]
	return nil
}

func (r *BodyReader) fetch() {
	part, arrived := r.next, make(chan fetchedPart, 1)
	r.next++
	r.ahead = append(r.ahead, arrived)
	r.flying.Go(func() {
		data, err := r.get(r.fetching, part)
		if err == nil && len(data) != r.ref.PartLen(part) {
			err = errAnotherBody
		}
		arrived <- fetchedPart{data, err}
	})
}

// Seek goes to a byte. After a leap what is on its way is given up.
func (r *BodyReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.offset
	case io.SeekEnd:
		offset += r.ref.Bytes
	}
	if offset < 0 {
		return 0, errors.New("seek body: before its start")
	}
	if offset == r.offset {
		return offset, nil
	}
	_ = r.Close()
	r.offset, r.digest = offset, nil
	if offset == 0 {
		r.digest = sha256.New()
	}
	return offset, nil
}

// Close gives up what is on its way.
func (r *BodyReader) Close() error {
	if r.cancel != nil {
		r.cancel()
	}
	r.flying.Wait()
	r.rest, r.ahead, r.cancel = nil, nil, nil
	return nil
}
