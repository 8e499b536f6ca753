package worker

import (
	"math/rand/v2"
	"time"
)

// backoff spaces repeats: each delay is about twice the one before, up to most, and a random half of it is left out, so that many
// who wait for the same thing do not come at once.
type backoff struct {
	first, most time.Duration
	delay       time.Duration
}

func (b *backoff) next() time.Duration {
	b.delay = min(max(2*b.delay, b.first), b.most)
	return b.delay/2 + rand.N(b.delay/2+1)
}

func (b *backoff) reset() { b.delay = 0 }
