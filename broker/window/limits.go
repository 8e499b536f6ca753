package window

import (
	"cmp"
	"time"
)

// Limits of a stream. The zero value of each is its default.
type Limits struct {
	Chunks       int // that are not acknowledged, before the agent waits; 16
	Reach        int // that a reader takes ahead of what it has acknowledged, while a faster one sets the pace; 256
	Bytes        int // of those, as long as they are more than one; and of the replay; 1 MiB
	ReplayChunks int // kept for readers that are behind; 1,024

	Span       time.Duration // over which a reader's rate is judged, at least; 5 s
	SpanChunks int64         // that the agent makes in it, at least; 32
	Share      float64       // of the agent's rate, below which a reader is too slow; 0.3
	Standstill time.Duration // after which a reader that takes nothing at all is too slow, whatever the agent made; 10 s

	Silence  time.Duration // after which a reader that gives no credit has gone; 5 s
	Settle   time.Duration // how long an attempt that does not know its first number waits for readers that do; 500 ms
	Announce time.Duration // how long the window waits for the first reader where one was announced; 2 s
}

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	l.Chunks = cmp.Or(l.Chunks, 16)
	l.Reach = max(cmp.Or(l.Reach, 256), l.Chunks)
	l.Bytes = cmp.Or(l.Bytes, 1<<20)
	l.ReplayChunks = cmp.Or(l.ReplayChunks, 1024)
	l.Span = cmp.Or(l.Span, 5*time.Second)
	l.SpanChunks = cmp.Or(l.SpanChunks, 32)
	l.Share = cmp.Or(l.Share, 0.3)
	l.Standstill = cmp.Or(l.Standstill, 2*l.Span)
	l.Silence = cmp.Or(l.Silence, 5*time.Second)
	l.Settle = cmp.Or(l.Settle, 500*time.Millisecond)
	l.Announce = cmp.Or(l.Announce, 2*time.Second)
	return l
}
