package metrics

import "sync"

// bounded is the values that a label has: the first so many of those that come, and Other.
type bounded struct {
	limit int
	mu    sync.RWMutex
	known map[string]bool
}

func newBounded(limit int) *bounded { return &bounded{limit: limit, known: make(map[string]bool)} }

// of is the value that stands for another in the label.
func (b *bounded) of(value string) string {
	b.mu.RLock()
	known, full := b.known[value], len(b.known) >= b.limit
	b.mu.RUnlock()
	switch {
	case known:
		return value
	case full:
		return Other
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.known) >= b.limit && !b.known[value] {
		return Other
	}
	b.known[value] = true
	return value
}
