package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/schemas"
)

// Blobs are the bodies, payloads and results, that are too large for a message of the ledger: one stream with a message for each part.
// Each part has a time to live of its own, so that a body is forgotten with its task and nobody has to see to it. A body is written
// once, under a random id, before the message that refers to it; it never changes.
type Blobs struct{ conn *Conn }

// Blobs gives the bodies.
func (c *Conn) Blobs() *Blobs { return &Blobs{conn: c} }

// Shelf is where a body is kept: OfTask, for as long as a task is, or Staged, for a short while.
type Shelf struct{ prefix string }

// OfTask is where the bodies of a task are kept.
func OfTask(taskID string) Shelf { return shelf("reach.body", taskID, schemas.CheckTaskID) }

// Staged is where a tenant's callers put the payload of a message that they are about to submit.
func Staged(tenant string) Shelf { return shelf("reach.staged", tenant, schemas.CheckTenant) }

func shelf(prefix, name string, check func(string) error) Shelf {
	if name == Any {
		return Shelf{}
	}
	return Shelf{joined(prefix, name, check)}
}

// body is the subject of a body less the number of a part; empty if a name in it is not legal.
func (s Shelf) body(id string) string {
	if s.prefix == "" || !schemas.IsToken(id) {
		return ""
	}
	return s.prefix + "." + id
}

func (s Shelf) part(id string, part int) string {
	body := s.body(id)
	if body == "" {
		return ""
	}
	return body + "." + strconv.Itoa(part)
}

const (
	maxPartBytes = 256 << 10
	partRoom     = 8 << 10 // what a message has beside a part
)

// PartBytes is how large the parts of a body are that is moved over this connection.
func (c *Conn) PartBytes() int {
	return int(min(maxPartBytes, max(c.MaxPayload()/2, c.MaxPayload()-partRoom)))
}

// Put stores one part, for ttl; the same part again does no harm. Its errors are those of Ledger.Write.
func (b *Blobs) Put(ctx context.Context, shelf Shelf, id string, part int, data []byte, ttl time.Duration) error {
	subject := shelf.part(id, part)
	if subject == "" {
		return errBadSubject()
	}
	header := nats.Header{headerTTL: {strconv.FormatInt(int64(wholeSeconds(ttl)/time.Second), 10)}}
	_, err := b.conn.store(ctx, put{stream: bodiesStream, subject: subject, write: newWrite(), header: header, body: data})
	if err != nil {
		return fmt.Errorf("store part %d of body %s: %w", part, id, err)
	}
	return nil
}

// Part reads one part, for certain. ErrNotFound if it is not there, or no longer.
func (b *Blobs) Part(ctx context.Context, shelf Shelf, id string, part int) ([]byte, error) {
	subject := shelf.part(id, part)
	if subject == "" {
		return nil, errBadSubject()
	}
	found, err := b.conn.directGet(ctx, bodiesStream, query{LastBySubject: subject})
	if errors.Is(err, ErrNotFound) { // a replica may not have it yet
		found, err = b.conn.askLeader(ctx, bodiesStream, query{LastBySubject: subject})
	}
	if err != nil {
		return nil, fmt.Errorf("read part %d of body %s: %w", part, id, err)
	}
	return found.data, nil
}

// Writer stores what is written to it as a body that is kept for ttl.
func (b *Blobs) Writer(ctx context.Context, shelf Shelf, ttl time.Duration) *BodyWriter {
	return NewBodyWriter(ctx, b.conn.PartBytes(), func(ctx context.Context, id string, part int, data []byte) error {
		return b.Put(ctx, shelf, id, part, data, ttl)
	})
}

// Reader reads a body. ctx is that of all its reads.
func (b *Blobs) Reader(ctx context.Context, shelf Shelf, ref *schemas.BodyRef) *BodyReader {
	return NewBodyReader(ctx, ref, func(ctx context.Context, part int) ([]byte, error) { return b.Part(ctx, shelf, ref.ID, part) })
}

// Write stores all of r as a body that is kept for ttl. What was stored of one that could not be is dropped.
func (b *Blobs) Write(ctx context.Context, shelf Shelf, r io.Reader, ttl time.Duration) (*schemas.BodyRef, error) {
	w := b.Writer(ctx, shelf, ttl)
	_, err := io.Copy(w, r)
	ref, closing := w.Close()
	if err = errors.Join(err, closing); err != nil {
		b.Drop(shelf, w.ID())
		return nil, err
	}
	return ref, nil
}

// dropTimeout bounds the attempt to forget a body early.
const dropTimeout = 5 * time.Second

// Drop forgets a body before its time. Where that fails it goes at its time.
func (b *Blobs) Drop(shelf Shelf, id string) {
	body := shelf.body(id)
	if body == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
	defer cancel()
	if err := b.conn.callAPI(ctx, "STREAM.PURGE."+bodiesStream, []byte(`{"filter":"`+body+`.*"}`), new(apiAnswer)); err != nil {
		b.conn.log.Debug().Err(err).Msg("a body is not dropped; it goes at its time")
	}
}

// Bytes is how much all bodies take, parts and what is kept beside them.
func (b *Blobs) Bytes(ctx context.Context) (int64, error) {
	var answer struct {
		apiAnswer
		State struct {
			Bytes int64 `json:"bytes"`
		} `json:"state"`
	}
	if err := b.conn.callAPI(ctx, "STREAM.INFO."+bodiesStream, nil, &answer); err != nil {
		return 0, fmt.Errorf("read how much the bodies take: %w", err)
	}
	return answer.State.Bytes, nil
}
