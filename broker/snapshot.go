package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
)

// Sizes of the pieces in which a snapshot travels.
const (
	snapshotPiece  = 128 << 10
	snapshotWindow = 4 << 20          // not acknowledged yet
	snapshotWait   = 30 * time.Second // for one piece, or for one answer
	pieceEnvelope  = 4 << 10          // what a message has beside its piece
)

// snapshot is a stream as it was at one moment: how it is configured, and what it held. Both are kept as the server says them, so
// that what this code does not know is restored as well.
type snapshot struct {
	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state"`
}

// streamState is what we know of a snapshot's state.
type streamState struct {
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	Last     uint64 `json:"last_seq"`
}

// takeSnapshot copies a stream to w, every message's checksum checked. The stream is used on meanwhile; what is stored after the
// snapshot has begun is not part of it.
func (c *Conn) takeSnapshot(ctx context.Context, stream string, w io.Writer) (snapshot, error) {
	inbox := c.nc.NewInbox()
	pieces, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return snapshot{}, c.natsError(ctx, err, 0)
	}
	defer func() { _ = pieces.Unsubscribe() }()
	request, _ := json.Marshal(struct { // text and numbers alone: it cannot fail
		Deliver     string `json:"deliver_subject"`
		NoConsumers bool   `json:"no_consumers"`
		Piece       int    `json:"chunk_size"`
		Window      int    `json:"window_size"`
		Check       bool   `json:"jsck"`
	}{inbox, true, snapshotPiece, snapshotWindow, true})
	var answer struct {
		apiAnswer
		snapshot
	}
	if err := c.callOnce(ctx, apiPrefix+"STREAM.SNAPSHOT."+stream, request, &answer); err != nil {
		return snapshot{}, err
	}
	return answer.snapshot, copyPieces(ctx, pieces, w)
}

// callOnce asks JetStream for what must not be asked twice.
func (c *Conn) callOnce(ctx context.Context, subject string, request []byte, answer interface{ fault() error }) error {
	reply, err := c.roundTrip(ctx, &nats.Msg{Subject: subject, Data: request}, snapshotWait)
	if err != nil {
		return err
	}
	return readAnswer(reply, answer)
}

func readAnswer(reply *nats.Msg, answer interface{ fault() error }) error {
	if err := json.Unmarshal(reply.Data, answer); err != nil {
		return fmt.Errorf("read JetStream's answer: %w", err)
	}
	return answer.fault()
}

// copyPieces writes what arrives until the empty message that ends it.
func copyPieces(ctx context.Context, pieces *nats.Subscription, w io.Writer) error {
	for {
		m, err := nextWithin(ctx, pieces, snapshotWait)
		if err != nil {
			return fmt.Errorf("read the snapshot: %w", err)
		}
		if len(m.Data) == 0 {
			return snapshotEnd(m)
		}
		if _, err := w.Write(m.Data); err != nil {
			return fmt.Errorf("write the snapshot: %w", err)
		}
		if m.Reply == "" {
			continue
		}
		if err := m.Respond(nil); err != nil {
			return fmt.Errorf("read the snapshot: %w", err)
		}
	}
}

func nextWithin(ctx context.Context, pieces *nats.Subscription, limit time.Duration) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return pieces.NextMsgWithContext(ctx)
}

// snapshotEnd is the error that the last message of a snapshot tells, if it does.
func snapshotEnd(m *nats.Msg) error {
	switch status := m.Header.Get(headerStatus); status {
	case "", "204":
		return nil
	default:
		return fmt.Errorf("read the snapshot: the broker broke off: %s %s", status, m.Header.Get("Description"))
	}
}

// putBack makes a stream of a snapshot and what was read of it. There must be none of that name.
func (c *Conn) putBack(ctx context.Context, stream string, s snapshot, r io.Reader) (streamState, error) {
	request, err := json.Marshal(s)
	if err != nil {
		return streamState{}, fmt.Errorf("write the snapshot's configuration: %w", err)
	}
	var place struct {
		apiAnswer
		Deliver string `json:"deliver_subject"`
	}
	if err := c.callOnce(ctx, apiPrefix+"STREAM.RESTORE."+stream, request, &place); err != nil {
		return streamState{}, err
	}
	if err := c.sendPieces(ctx, place.Deliver, r); err != nil {
		return streamState{}, err
	}
	var restored struct {
		apiAnswer
		State streamState `json:"state"`
	}
	err = c.callOnce(ctx, place.Deliver, nil, &restored)
	return restored.State, err
}

// sendPieces sends all that r has, and waits for each piece to be taken.
func (c *Conn) sendPieces(ctx context.Context, subject string, r io.Reader) error {
	piece := make([]byte, min(snapshotPiece, int(c.MaxPayload())-pieceEnvelope))
	for {
		n, err := io.ReadFull(r, piece)
		if n > 0 {
			if err := c.sendPiece(ctx, subject, piece[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the backup: %w", err)
		}
	}
}

func (c *Conn) sendPiece(ctx context.Context, subject string, piece []byte) error {
	reply, err := c.roundTrip(ctx, &nats.Msg{Subject: subject, Data: piece}, snapshotWait)
	if err != nil {
		return err
	}
	if len(reply.Data) == 0 {
		return nil
	}
	var refused apiAnswer
	return readAnswer(reply, &refused)
}
