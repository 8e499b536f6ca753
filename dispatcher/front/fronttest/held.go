package fronttest

import (
	"maps"
	"slices"
	"sync"
)

// Held is what an agent that claims its tasks has of them, by their sequences. The zero value is nothing. Several goroutines may use it.
type Held[T any] struct {
	mu    sync.Mutex
	tasks map[uint64]T
}

// Add takes a task in; false if it is there already.
func (h *Held[T]) Add(sequence uint64, task T) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, found := h.tasks[sequence]; found {
		return false
	}
	if h.tasks == nil {
		h.tasks = make(map[uint64]T)
	}
	h.tasks[sequence] = task
	return true
}

// Drop forgets a task, and gives what it was; false if it is not there.
func (h *Held[T]) Drop(sequence uint64) (T, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	task, found := h.tasks[sequence]
	delete(h.tasks, sequence)
	return task, found
}

// Of is a task; false if it is not there.
func (h *Held[T]) Of(sequence uint64) (T, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	task, found := h.tasks[sequence]
	return task, found
}

// All are the tasks, in no order.
func (h *Held[T]) All() []T {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.tasks))
}

// Sequences are those of the tasks, in no order: a list of none is a list, too.
func (h *Held[T]) Sequences() []uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.AppendSeq([]uint64{}, maps.Keys(h.tasks))
}
