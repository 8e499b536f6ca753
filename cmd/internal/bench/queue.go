package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

// submitParallel is how many submits a caller has outstanding while it fills a queue or a ledger.
const submitParallel = 256

// runQueue measures how fast a queue empties that was full before the first agent came: every task is bound by a pull. Times are since
// the first of the tasks has ended.
func runQueue(ctx context.Context, b *bench, s scenario) ([]Measurement, error) {
	stage, err := b.raise(ctx, s.system+"-"+s.name)
	if err != nil {
		return nil, err
	}
	defer stage.close(ctx)
	if err := stage.startDispatchers(ctx, s.dispatchers); err != nil {
		return nil, err
	}
	if err := stage.connect(ctx, s); err != nil {
		return nil, err
	}
	ends, err := watchEnds(stage.clients()[0])
	if err != nil {
		return nil, err
	}
	defer ends.close()
	waiting := schemas.ReachMessage{Capability: Capability, Payload: b.payload, WaitForAgent: true}
	if err := submitAll(ctx, stage.clients(), waiting, b.tasks(s)); err != nil {
		return nil, err
	}
	if err := stage.startWorker(ctx, s.crew); err != nil {
		return nil, err
	}
	m := s.measurement(b)
	meter := startMeter(stage.members())
	if err := ends.await(ctx, b.tasks(s)); err != nil {
		return nil, err
	}
	m.fill(ends.sinceFirst())
	meter.stop(&m)
	return []Measurement{m}, nil
}

// submitAll submits the same message so many times.
func submitAll(ctx context.Context, clients []*client.Client, message schemas.ReachMessage, n int) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(submitParallel * len(clients))
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		all.Go(func() error {
			_, err := clients[i%len(clients)].Submit(ctx, &message)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return fmt.Errorf("submit tasks: %w", err)
	}
	return nil
}

// ends is when tasks ended, as one caller heard it.
type ends struct {
	close func()
	more  chan struct{}

	mu  sync.Mutex
	at  map[string]time.Time // by task
	bad *schemas.Task        // one that ended other than completed
}

func watchEnds(c *client.Client) (*ends, error) {
	e := &ends{more: make(chan struct{}, 1), at: make(map[string]time.Time)}
	subscription, err := c.SubscribeResults(e.hear)
	if err != nil {
		return nil, err
	}
	e.close = subscription.Close
	return e, nil
}

func (e *ends) hear(task *schemas.Task) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.at[task.TaskID]; !known {
		e.at[task.TaskID] = time.Now()
	}
	if task.State != schemas.StateCompleted {
		e.bad = task
	}
	select {
	case e.more <- struct{}{}:
	default:
	}
}

// quiet is how long nothing may be heard while tasks are still open. A result that is not heard is not lost, but then the
// measurement is.
const quiet = 15 * time.Second

// await waits until so many tasks have ended.
func (e *ends) await(ctx context.Context, n int) error {
	for {
		ended, err := e.count()
		if err != nil || ended >= n {
			return err
		}
		select {
		case <-e.more:
		case <-time.After(quiet):
			return fmt.Errorf("only %d of %d tasks were heard to end, and then none for %v", ended, n, quiet)
		case <-ctx.Done():
			return fmt.Errorf("wait for tasks to end: %w", context.Cause(ctx))
		}
	}
}

func (e *ends) count() (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.bad != nil {
		return 0, fmt.Errorf("a task ended %s: %w", e.bad.State, e.bad.Error)
	}
	return len(e.at), nil
}

// sinceFirst is how long after the first of the tasks each of them ended, and the last.
func (e *ends) sinceFirst() (each []time.Duration, last time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	times := slices.SortedFunc(maps.Values(e.at), time.Time.Compare)
	for _, at := range times {
		each = append(each, at.Sub(times[0]))
	}
	return each, max(each[len(each)-1], time.Microsecond)
}
