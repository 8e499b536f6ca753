package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentreach/agent-reach/schemas"
)

// Watch calls fn with every record that is there, then with every change, one at a time, in order for each key, until ctx or the
// connection ends. ready closes once the records that were there have been delivered. It survives outages: after each it reads all
// records anew and delivers what is new, changed or gone. A record that cannot be read is logged and passed over.
func (b *Bucket[T]) Watch(ctx context.Context, fn func(Item[T])) (ready <-chan struct{}, err error) {
	w := newWatch(b, fn)
	if err := w.open(ctx); err != nil {
		return nil, fmt.Errorf("watch %s: %w", b.name, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(b.conn.ctx, cancel)
	b.conn.watchers.Go(func() {
		defer cancel()
		defer stop()
		w.run(ctx)
	})
	return w.ready, nil
}

// watch is one Watch. It belongs to its goroutine.
type watch[T any] struct {
	conn   *Conn
	bucket *Bucket[T]
	kv     jetstream.KeyValue
	fn     func(Item[T])
	known  map[string]uint64 // the revision last delivered of each key that is there
	ready  chan struct{}
	once   sync.Once
	told   bool // that the watch starts afresh, and all records have not been read since
}

func newWatch[T any](b *Bucket[T], fn func(Item[T])) *watch[T] {
	return &watch[T]{conn: b.conn, bucket: b, fn: fn, known: make(map[string]uint64), ready: make(chan struct{})}
}

func (w *watch[T]) open(ctx context.Context) error {
	ctx, cancel := bounded(ctx, setupTimeout)
	defer cancel()
	return w.conn.insist(ctx, func(ctx context.Context) (err error) {
		w.kv, err = w.conn.js.KeyValue(ctx, w.bucket.name)
		return err
	})
}

func (w *watch[T]) run(ctx context.Context) {
	for again := newBackoff(); ctx.Err() == nil; {
		began := time.Now()
		err := w.follow(ctx)
		if time.Since(began) > longestPause {
			again = newBackoff()
		}
		if pause(ctx, again.delay(isUnclear)) {
			w.tell(err)
		}
	}
}

// tell says once of an outage, however often it is tried, that the watch has to start afresh.
func (w *watch[T]) tell(err error) {
	event := w.conn.log.Info()
	if w.told {
		event = w.conn.log.Debug()
	}
	w.told = true
	event.Err(err).Str("bucket", w.kv.Bucket()).Msg("watch starts afresh")
}

// follow reads all records and then their changes, until the connection is lost.
func (w *watch[T]) follow(ctx context.Context) error {
	ctx, cancel := w.conn.link.guard(ctx)
	defer cancel()
	watcher, err := w.watcher(ctx, cancel)
	if err != nil {
		return err
	}
	defer abandon(watcher)
	seen := make(map[string]bool) // nil once all have been read
	for entry := range watcher.Updates() {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case entry == nil:
			if err := w.complete(ctx, seen); err != nil {
				return err
			}
			seen = nil
		default:
			if seen != nil {
				seen[entry.Key()] = true
			}
			w.deliver(entry)
		}
	}
	return errors.New("the watcher has ended")
}

// watcher starts a watcher that lives as long as ctx, and calls cancel if that takes too long.
func (w *watch[T]) watcher(ctx context.Context, cancel context.CancelFunc) (jetstream.KeyWatcher, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	late := time.AfterFunc(stepTimeout, cancel)
	defer late.Stop()
	return w.kv.WatchAll(ctx)
}

// lastWords is how long a watcher that was stopped may be silent before it counts as ended: one whose connection is closed while it is
// being made never says that it has.
const lastWords = time.Second

// abandon stops a watcher and takes what it still has to say, or it would wait for ever to say it.
func abandon(watcher jetstream.KeyWatcher) {
	_ = watcher.Stop() // it fails only where there is nothing left to end
	silence := time.NewTimer(lastWords)
	defer silence.Stop()
	for {
		select {
		case _, more := <-watcher.Updates():
			if !more {
				return
			}
			silence.Reset(lastWords)
		case <-silence.C:
			return
		}
	}
}

// complete delivers as gone what was known and is not there any more. A record that is changed while all are read counts as read, and comes
// only then: so the leader is asked of each that has not come.
func (w *watch[T]) complete(ctx context.Context, seen map[string]bool) error {
	for key, revision := range w.known {
		if seen[key] {
			continue
		}
		switch _, err := w.bucket.read(ctx, key); {
		case errors.Is(err, ErrNotFound):
			delete(w.known, key)
			w.fn(Item[T]{Key: key, Revision: revision, Deleted: true})
		case err != nil:
			return err
		}
	}
	w.told = false
	w.once.Do(func() { close(w.ready) })
	return nil
}

func (w *watch[T]) deliver(entry jetstream.KeyValueEntry) {
	key, revision := entry.Key(), entry.Revision()
	last, known := w.known[key]
	if entry.Operation() != jetstream.KeyValuePut {
		if known {
			delete(w.known, key)
			w.fn(Item[T]{Key: key, Revision: revision, Deleted: true})
		}
		return
	}
	if known && last == revision {
		return
	}
	item := Item[T]{Key: key, Revision: revision}
	if err := schemas.Decode(entry.Value(), &item.Value); err != nil {
		w.conn.log.Error().Err(err).Str("bucket", entry.Bucket()).Str("key", key).Msg("record skipped")
		return
	}
	w.known[key] = revision
	w.fn(item)
}
