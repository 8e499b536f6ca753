package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentreach/agent-reach/schemas"
)

// Watch calls fn with every record that is there, then with every change, one at a time, in order for each key, until ctx or the
// connection ends. ready closes once the records that were there have been delivered. It survives outages: after each it reads all
// records anew and delivers what is new, changed or gone. A record that cannot be read is logged and passed over.
func (b *Bucket[T]) Watch(ctx context.Context, fn func(Item[T])) (ready <-chan struct{}, err error) {
	kv, err := b.conn.js.KeyValue(ctx, b.name)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", b.name, b.conn.natsError(ctx, err, 0))
	}
	w := &watch[T]{
		conn: b.conn, kv: kv, fn: fn, known: make(map[string]uint64), ready: make(chan struct{}), again: make(chan struct{}, 1),
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(b.conn.ctx, cancel)
	b.conn.watchers.Go(func() {
		defer cancel()
		defer stop()
		defer b.conn.OnTrouble(w.restart)()
		w.run(ctx)
	})
	return w.ready, nil
}

// watch is one Watch. All but restart belongs to its goroutine.
type watch[T any] struct {
	conn  *Conn
	kv    jetstream.KeyValue
	fn    func(Item[T])
	known map[string]uint64 // the revision last delivered of each key that is there
	ready chan struct{}
	once  sync.Once
	again chan struct{} // asks for a fresh start
}

func (w *watch[T]) restart() {
	select {
	case w.again <- struct{}{}:
	default:
	}
}

func (w *watch[T]) run(ctx context.Context) {
	for again := newBackoff(); ctx.Err() == nil; {
		if err := w.follow(ctx); err != nil {
			w.conn.log.Warn().Err(err).Str("bucket", w.kv.Bucket()).Msg("watch interrupted")
			pause(ctx, again.delay(isUnclear))
			continue
		}
		again = newBackoff()
	}
}

// follow reads all records and then their changes, until something calls for a fresh start.
func (w *watch[T]) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watcher, err := w.kv.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer abandon(watcher)
	seen := make(map[string]bool) // nil once all have been read
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.again:
			return nil
		case entry, open := <-watcher.Updates():
			switch {
			case !open:
				return errors.New("the watcher has ended")
			case entry == nil:
				w.complete(seen)
				seen = nil
			default:
				if seen != nil {
					seen[entry.Key()] = true
				}
				w.deliver(entry)
			}
		}
	}
}

// abandon stops a watcher and takes what it still has to say, or it would wait for ever to say it.
func abandon(watcher jetstream.KeyWatcher) {
	_ = watcher.Stop() // it fails only where there is nothing left to end
	for range watcher.Updates() {
	}
}

// complete delivers as gone what was known and is not there any more.
func (w *watch[T]) complete(seen map[string]bool) {
	for key, revision := range w.known {
		if !seen[key] {
			delete(w.known, key)
			w.fn(Item[T]{Key: key, Revision: revision, Deleted: true})
		}
	}
	w.once.Do(func() { close(w.ready) })
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
