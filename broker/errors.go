package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/schemas"
)

// What a caller may have to tell apart. They come wrapped.
var (
	// ErrNotFound says that nothing is stored there.
	ErrNotFound = errors.New("not found")
	// ErrExists says that a key was there already.
	ErrExists = errors.New("the key exists")
	// ErrConflict says that a key has another revision than expected.
	ErrConflict = errors.New("the revision is another")
	// ErrUnknownOutcome says that the time ended before it was known whether the message is stored.
	ErrUnknownOutcome = errors.New("it is not known whether this was stored")
	// ErrNoResponders says that nobody serves the subject of a request.
	ErrNoResponders = errors.New("nobody answers there")
	// ErrDisconnected says that there is no connection to the broker, or that it was lost before the answer came.
	ErrDisconnected = errors.New("not connected to the broker")
	// ErrNotNow says that the broker could not do it just then, while a cluster has no leader, say: later it may.
	ErrNotNow = errors.New("the broker cannot do that now")
)

// errUnsent is ErrDisconnected where the message certainly never left.
var errUnsent = fmt.Errorf("%w", ErrDisconnected)

// Conflict says that a write was refused because the task's last message is another than expected. Last is that message, read from
// the leader; the zero Entry if the task is gone. Stored is not 0 if the entry was stored nevertheless, by a try whose answer was
// lost, and others have gone on from it since: it happened, and its sequence is worth nothing any more.
type Conflict struct {
	Last   Entry
	Stored uint64
}

// Error names the sequence that is there.
func (c *Conflict) Error() string {
	if c.Last.Sequence == 0 {
		return "the task is not in the ledger"
	}
	return fmt.Sprintf("the task has moved on: it is %s at sequence %d", c.Last.Phase, c.Last.Sequence)
}

// errBadSubject answers every use of a subject that its builder left empty because a name in it was not one.
func errBadSubject() error {
	return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadName, "a name in the subject is not a legal name")
}

// errTooLarge says how large a message may be. Its size is that of the body and the headers.
func errTooLarge(size int, limit int64) error {
	return schemas.NewError(schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge,
		"the message of %d bytes is larger than the broker takes (%d bytes with its headers)", size, limit).
		With("size_bytes", size).With("limit_bytes", limit)
}

// natsError is err in the words of this package. ctx is the one that err may come from.
func (c *Conn) natsError(ctx context.Context, err error, size int) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrNoResponders):
		return ErrNoResponders
	case errors.Is(err, nats.ErrMaxPayload):
		return errTooLarge(size, c.nc.MaxPayload())
	case errors.Is(err, nats.ErrBadSubject):
		return errBadSubject()
	case errors.Is(err, nats.ErrReconnectBufExceeded):
		return errUnsent
	case disconnected(err):
		return ErrDisconnected
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

func disconnected(err error) bool {
	for _, one := range []error{
		nats.ErrConnectionClosed, nats.ErrDisconnected, nats.ErrConnectionDraining, nats.ErrConnectionReconnecting,
		nats.ErrStaleConnection,
	} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
