package broker

import (
	"context"
	"sync"
)

// How a long range is read: so many stretches side by side, each of which runs ahead of its turn by no more than so many entries.
const (
	stretchReaders = 4
	stretchEntries = 1024
)

// stretch is a part of a range that one reader reads, ahead of its turn as a rule.
type stretch struct {
	entries chan Entry // closed at its end
	err     error      // why it ended before; to be looked at when entries is closed
}

// stretchOf is how many sequences a stretch has, so that it has about stretchEntries entries: where most have been forgotten, more.
func stretchOf(state LedgerState) uint64 {
	return max(stretchEntries, (state.Last-state.First)/max(1, state.Messages)*stretchEntries)
}

// readSideBySide is Range for a part of the ledger that is known to be there: it is read in stretches of size sequences, and given
// to fn in order. What waits for its turn is bounded by stretchReaders and stretchEntries.
func (l *Ledger) readSideBySide(ctx context.Context, from, to, size uint64, fn func(Entry) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
	turns := make(chan *stretch, stretchReaders-2) // another is being given to fn, and one waits to get in
	readers.Go(func() {
		defer close(turns)
		for ; from <= to; from += size {
			s := &stretch{entries: make(chan Entry, stretchEntries)}
			first, last := from, min(from+size-1, to)
			readers.Go(func() {
				defer close(s.entries)
				s.err = l.readStretch(ctx, first, last, func(e Entry) error { return s.put(ctx, e) })
			})
			select {
			case turns <- s:
			case <-ctx.Done():
				return
			}
		}
	})
	for s := range turns {
		if err := s.give(fn); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

func (s *stretch) put(ctx context.Context, e Entry) error {
	select {
	case s.entries <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// give hands on what the reader reads, until it is at its end.
func (s *stretch) give(fn func(Entry) error) error {
	for e := range s.entries {
		if err := fn(e); err != nil {
			return err
		}
	}
	return s.err
}
