package broker

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/schemas"
)

// Bucket holds records of one type by key, each with a revision that grows with every change.
type Bucket[T any] struct {
	conn *Conn
	name string
}

// Item is one record. Deleted says that the key is gone; Value is then the zero value.
type Item[T any] struct {
	Key      string
	Value    T
	Revision uint64
	Deleted  bool
}

var bucketKey = regexp.MustCompile(`^[a-z0-9_-]{1,128}$`)

func checkKey(key string) error {
	if !bucketKey.MatchString(key) {
		return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadName, "a key takes lower-case letters, digits, _ and -")
	}
	return nil
}

func (b *Bucket[T]) subject(key string) string { return "$KV." + b.name + "." + key }

// Get reads a record from the leader. ErrNotFound if there is none.
func (b *Bucket[T]) Get(ctx context.Context, key string) (Item[T], error) {
	if err := checkKey(key); err != nil {
		return Item[T]{}, err
	}
	s, err := b.read(ctx, key)
	if err != nil {
		return Item[T]{}, err
	}
	item := Item[T]{Key: key, Revision: s.sequence}
	return item, schemas.Decode(s.data, &item.Value)
}

// read is the message of a record, whatever it says.
func (b *Bucket[T]) read(ctx context.Context, key string) (stored, error) {
	s, err := b.conn.askLeader(ctx, bucketStream(b.name), query{LastBySubject: b.subject(key)})
	if err == nil && removed(s.header) {
		err = ErrNotFound
	}
	if err != nil {
		return stored{}, fmt.Errorf("get %s from %s: %w", key, b.name, err)
	}
	return s, nil
}

// removed reports whether a message stands for a key that was deleted or whose time has ended.
func removed(header nats.Header) bool {
	return header.Get(headerBucketRemoval) != "" || header.Get(headerMarkerReason) != ""
}

// Create stores a record under a key that must not be there, for ttl; 0 is for ever. ErrExists if it is there. As with every change
// of a bucket, ErrUnknownOutcome says that ctx ended before it was known whether the change was made.
func (b *Bucket[T]) Create(ctx context.Context, key string, v T, ttl time.Duration) (uint64, error) {
	p, err := b.put(key, v)
	if err != nil {
		return 0, err
	}
	if ttl > 0 {
		p.header[headerTTL] = []string{strconv.FormatInt(int64(wholeSeconds(ttl)/time.Second), 10)}
	}
	return b.createOver(ctx, p)
}

// createOver stores where nothing is, or only a marker.
func (b *Bucket[T]) createOver(ctx context.Context, p put) (uint64, error) {
	for {
		revision, err := b.change(ctx, p, ErrExists)
		var r *refusal
		if !errors.As(err, &r) || !removed(r.last.header) {
			return revision, err
		}
		p.expected = r.last.sequence
	}
}

// Update stores a record in place of the one with that revision. ErrConflict if another is there. The record is kept for ever.
func (b *Bucket[T]) Update(ctx context.Context, key string, v T, revision uint64) (uint64, error) {
	p, err := b.put(key, v)
	if err != nil {
		return 0, err
	}
	p.expected = revision
	return b.change(ctx, p, ErrConflict)
}

// Put stores a record whatever is there. Of two at once the later stays.
func (b *Bucket[T]) Put(ctx context.Context, key string, v T) (uint64, error) {
	p, err := b.put(key, v)
	if err != nil {
		return 0, err
	}
	p.filter = ""
	return b.change(ctx, p, ErrConflict)
}

// Delete removes a record, whatever is there. A key that is not there is no error.
func (b *Bucket[T]) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	subject := b.subject(key)
	_, err := b.change(ctx, put{
		stream: bucketStream(b.name), subject: subject, write: newWrite(), header: removal(),
	}, ErrConflict)
	return err
}

// Absent makes sure that no record is under a key; ErrExists if there is one. Get may be told of a state that others have left behind,
// by a leader that was away and has not noticed that another has taken its place; this asks with a change, and none comes about
// without most of the replicas. What it leaves there for a minute is a marker, which nobody takes for a record.
func (b *Bucket[T]) Absent(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	subject := b.subject(key)
	_, err := b.createOver(ctx, put{
		stream: bucketStream(b.name), subject: subject, filter: subject, write: newWrite(), header: removal(),
	})
	return err
}

// removal is the header of a marker.
func removal() nats.Header {
	return nats.Header{headerBucketRemoval: {"DEL"}, headerTTL: {strconv.FormatInt(int64(markerTTL/time.Second), 10)}}
}

func (b *Bucket[T]) put(key string, v T) (put, error) {
	if err := checkKey(key); err != nil {
		return put{}, err
	}
	body, err := schemas.Encode(v)
	if err != nil {
		return put{}, err
	}
	subject := b.subject(key)
	return put{
		stream: bucketStream(b.name), subject: subject, filter: subject, write: newWrite(), header: nats.Header{}, body: body,
	}, nil
}

// change makes a change. A refusal counts as the error conflict.
func (b *Bucket[T]) change(ctx context.Context, p put, conflict error) (uint64, error) {
	there, err := b.conn.store(ctx, p)
	var r *refusal
	if errors.As(err, &r) {
		err = errors.Join(conflict, r)
	}
	if err != nil {
		return 0, fmt.Errorf("change %s: %w", p.subject, err)
	}
	return there.sequence, nil
}
