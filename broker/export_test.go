package broker

import "context"

// Tail is the step of a Range that asks the leader, and where the range goes on after it.
func (l *Ledger) Tail(ctx context.Context, from, to uint64, fn func(Entry) error) (next uint64, err error) {
	r := reader{conn: l.conn, next: from, to: to, fn: fn}
	err = r.tail(ctx)
	return r.next, err
}

// Gone is what a watch that knows these keys tells of once the server has said that it has read all, of which it has seen some.
func (b *Bucket[T]) Gone(ctx context.Context, known map[string]uint64, seen map[string]bool) (gone []string, err error) {
	w := newWatch(b, func(i Item[T]) { gone = append(gone, i.Key) })
	w.known = known
	err = w.complete(ctx, seen)
	return gone, err
}

// Known is how many readers have spoken of a stream that has not begun.
func (w *ChunkWriters) Known(taskID string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.early[taskID])
}
