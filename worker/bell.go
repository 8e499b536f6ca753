package worker

import (
	"context"
	"time"
)

// bell wakes one loop: rung any number of times before it is heard, it is heard once. Ringing never blocks.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// wait returns true once the bell was rung or d is over; 0 is for ever. It returns false when ctx has ended.
func (b bell) wait(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-b:
		return true
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}

// sleep returns true after d, false as soon as ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool { return bell(nil).wait(ctx, max(d, 1)) }
