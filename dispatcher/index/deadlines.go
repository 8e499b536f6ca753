package index

import (
	"container/heap"
	"time"
)

// deadline is a moment at which a task wants a look.
type deadline struct {
	at     int64 // milliseconds since 1970
	taskID string
}

// deadlines gives out deadlines when they come. A task that ends does not take its deadline back: whoever takes one looks whether
// it still means something, and compact sweeps out the rest.
type deadlines struct{ heap deadlineHeap }

func (d *deadlines) add(at time.Time, taskID string) {
	if !at.IsZero() {
		heap.Push(&d.heap, deadline{at.UnixMilli(), taskID})
	}
}

func (d *deadlines) takeUntil(now time.Time) []deadline {
	var taken []deadline
	for len(d.heap) > 0 && d.heap[0].at <= now.UnixMilli() {
		taken = append(taken, heap.Pop(&d.heap).(deadline))
	}
	return taken
}

// compact drops the deadlines that mean nothing any more, once they are more than those that may.
func (d *deadlines) compact(open int, means func(taskID string) bool) {
	if len(d.heap) < 2*open+1024 {
		return
	}
	kept := make(deadlineHeap, 0, open)
	for _, entry := range d.heap {
		if means(entry.taskID) {
			kept = append(kept, entry)
		}
	}
	d.heap = kept
	heap.Init(&d.heap)
}

type deadlineHeap []deadline

func (h deadlineHeap) Len() int           { return len(h) }
func (h deadlineHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h deadlineHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *deadlineHeap) Push(x any)        { *h = append(*h, x.(deadline)) }

func (h *deadlineHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = deadline{}
	*h = old[:len(old)-1]
	return last
}
