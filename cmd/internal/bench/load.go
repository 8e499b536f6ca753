package bench

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// caller sends one task at a time and calls done, from any goroutine, once the caller has its result. done is called once, unless ctx
// ends first.
type caller interface {
	call(ctx context.Context, payload []byte, done func(error))
}

// load is tasks to be run by several callers at once, each with at most so many outstanding.
type load struct {
	callers     []caller
	outstanding int
	tasks       int
	payload     []byte
}

// run runs all tasks and returns what each took, from its submit until the caller had its result, and what all took together. The
// first task that fails ends it.
func (l load) run(ctx context.Context) (latencies []time.Duration, elapsed time.Duration, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	latencies = make([]time.Duration, l.tasks)
	start := time.Now()
	var all sync.WaitGroup
	rest := latencies
	for i, c := range l.callers {
		share := len(rest) / (len(l.callers) - i)
		mine := rest[:share]
		rest = rest[share:]
		all.Go(func() { l.drive(ctx, c, mine, fail) })
	}
	all.Wait()
	elapsed = time.Since(start)
	if ctx.Err() != nil {
		return nil, 0, fmt.Errorf("run tasks: %w", context.Cause(ctx))
	}
	return latencies, elapsed, nil
}

// drive runs the share of one caller.
func (l load) drive(ctx context.Context, c caller, latencies []time.Duration, fail context.CancelCauseFunc) {
	slots := make(chan struct{}, l.outstanding)
	for i := range latencies {
		if !take(ctx, slots) {
			return
		}
		began := time.Now()
		c.call(ctx, l.payload, func(err error) {
			latencies[i] = time.Since(began)
			if err != nil {
				fail(err)
			}
			<-slots
		})
	}
	for range l.outstanding { // until all have come back
		if !take(ctx, slots) {
			return
		}
	}
}

func take(ctx context.Context, slots chan<- struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

const (
	payloadStart = `{"text":"`
	payloadEnd   = `"}`
	leastPayload = len(payloadStart) + len(payloadEnd)
)

// payloadOf is a JSON object of that many bytes.
func payloadOf(size int) []byte {
	payload := append(make([]byte, 0, size), payloadStart...)
	for len(payload) < size-len(payloadEnd) {
		payload = append(payload, byte('a'+len(payload)%26))
	}
	return append(payload, payloadEnd...)
}
