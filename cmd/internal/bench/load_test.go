package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// counting is a caller that knows how many tasks it had at once.
type counting struct {
	now, most, all atomic.Int32
	takes          time.Duration
	failAt         int32
}

var errFailed = errors.New("failed")

func (c *counting) call(ctx context.Context, _ []byte, done func(error)) {
	n := c.all.Add(1)
	c.most.Store(max(c.most.Load(), c.now.Add(1))) // called by one goroutine
	go func() {
		timer := time.NewTimer(c.takes)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		c.now.Add(-1)
		if n == c.failAt {
			done(errFailed)
			return
		}
		done(nil)
	}()
}

func TestALoadIsSharedAndBounded(t *testing.T) {
	t.Parallel()
	callers := []*counting{{takes: time.Millisecond}, {takes: time.Millisecond}, {takes: time.Millisecond}}
	l := load{outstanding: 5, tasks: 100}
	for _, c := range callers {
		l.callers = append(l.callers, c)
	}
	latencies, elapsed, err := l.run(t.Context())
	if err != nil || len(latencies) != 100 || elapsed < time.Millisecond {
		t.Fatalf("%d latencies in %v, %v", len(latencies), elapsed, err)
	}
	for _, latency := range latencies {
		if latency < time.Millisecond || latency > elapsed {
			t.Errorf("a latency of %v", latency)
		}
	}
	for i, c := range callers {
		if c.most.Load() > 5 || c.all.Load() < 33 || c.all.Load() > 34 || c.now.Load() != 0 {
			t.Errorf("caller %d had %d tasks, %d at once; %d are left", i, c.all.Load(), c.most.Load(), c.now.Load())
		}
	}
}

func TestALoadEndsWithTheFirstFailure(t *testing.T) {
	t.Parallel()
	c := &counting{takes: time.Millisecond, failAt: 3}
	l := load{callers: []caller{c}, outstanding: 2, tasks: 1_000_000}
	if _, _, err := l.run(t.Context()); !errors.Is(err, errFailed) {
		t.Errorf("got %v", err)
	}
}

func TestALoadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	l := load{callers: []caller{&counting{takes: time.Hour}}, outstanding: 2, tasks: 10}
	if _, _, err := l.run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestPayloadHasTheSizeAskedFor(t *testing.T) {
	t.Parallel()
	for _, size := range []int{11, 12, 300, 32 << 10} {
		if payload := payloadOf(size); len(payload) != size || schemas.Scan(payload) != nil {
			t.Errorf("of %d bytes: %s", size, payload)
		}
	}
}
