package dispatcher

import (
	"slices"
	"sync"
)

// Bounds of bodies.
const (
	maxBodies    = 32 << 20 // bytes of all
	maxBodyKept  = 64 << 10 // of one
	bodyOverhead = 256      // what keeping one costs beside it
)

// bodies are the messages of tasks that wait for this dispatcher to bind them, payload and all, as the feed has brought them: the newest
// ones, within bounds. What is not here is read from the ledger. It has a lock of its own.
type bodies struct {
	mu    sync.Mutex
	kept  map[uint64][]byte // by sequence
	order []uint64          // oldest first; some are gone already
	bytes int
}

func (b *bodies) keep(sequence uint64, body []byte) {
	if len(body) > maxBodyKept {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept == nil {
		b.kept = make(map[uint64][]byte)
	}
	b.drop(sequence) // it may come twice
	b.kept[sequence] = body
	b.bytes += len(body) + bodyOverhead
	b.order = append(b.order, sequence)
	for b.bytes > maxBodies {
		b.drop(b.order[0])
		b.order = b.order[1:]
	}
	if len(b.order) > 2*len(b.kept)+bodyOverhead {
		b.order = slices.DeleteFunc(b.order, func(s uint64) bool { return b.kept[s] == nil })
	}
}

// take gives a body away; nil if it is not there.
func (b *bodies) take(sequence uint64) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	body := b.kept[sequence]
	b.drop(sequence)
	return body
}

func (b *bodies) drop(sequence uint64) {
	if body, found := b.kept[sequence]; found {
		delete(b.kept, sequence)
		b.bytes -= len(body) + bodyOverhead
	}
}
