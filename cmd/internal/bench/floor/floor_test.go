package floor_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/cmd/internal/bench/floor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a worker's side until the test ends.
func serve(t *testing.T, side func(ctx context.Context, ready func()) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- side(ctx, func() { close(ready) }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the worker: %v", err)
		}
	})
	select {
	case <-ready:
	case <-time.After(20 * time.Second):
		t.Fatal("the worker is not ready")
	}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestEveryCallerHearsItsOwnResults(t *testing.T) {
	t.Parallel()
	url := brokertest.New(t).URL()
	ctx := within(t)
	if err := floor.SetUp(ctx, url); err != nil {
		t.Fatal(err)
	}
	serve(t, func(ctx context.Context, ready func()) error { return floor.ServeWrites(ctx, url, 8, ready) })
	var all sync.WaitGroup
	for n := range 3 {
		caller, err := floor.NewWrites(url, fmt.Sprint(n))
		if err != nil {
			t.Fatal(err)
		}
		defer caller.Close()
		for range 50 {
			all.Go(func() {
				if err := caller.Call(ctx, []byte("task")); err != nil {
					t.Errorf("call: %v", err)
				}
			})
		}
	}
	all.Wait()
}

func TestATaskWithoutAStreamIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	caller, err := floor.NewWrites(brokertest.New(t).URL(), "0")
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	if err := caller.Call(within(t), []byte("task")); err == nil {
		t.Error("a task that was not persisted has ended well")
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	url := brokertest.New(t).URL()
	caller, err := floor.NewRequests(url)
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	if err := caller.Call(within(t), []byte("task")); err == nil {
		t.Error("nobody answers, and it went well")
	}
	serve(t, func(ctx context.Context, ready func()) error { return floor.ServeRequests(ctx, url, ready) })
	if err := caller.Call(within(t), []byte("task")); err != nil {
		t.Errorf("call: %v", err)
	}
}

func TestEveryCallerOfTheChainHearsItsResults(t *testing.T) {
	t.Parallel()
	url := brokertest.New(t).URL()
	ctx := within(t)
	if err := floor.SetUpChain(ctx, url); err != nil {
		t.Fatal(err)
	}
	serve(t, func(ctx context.Context, ready func()) error { return floor.ServeChain(ctx, url, ready) })
	serve(t, func(ctx context.Context, ready func()) error { return floor.ServeChainAgent(ctx, url, ready) })
	var all sync.WaitGroup
	for _, single := range []bool{true, false, false} {
		caller, err := floor.NewChain(url, single)
		if err != nil {
			t.Fatal(err)
		}
		defer caller.Close()
		for range 50 {
			all.Go(func() {
				if err := caller.Call(ctx, []byte("task")); err != nil {
					t.Errorf("call: %v", err)
				}
			})
		}
	}
	all.Wait()
}

func TestAChainWithoutItsDispatcherEndsInAnError(t *testing.T) {
	t.Parallel()
	caller, err := floor.NewChain(brokertest.New(t).URL(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	if err := caller.Call(within(t), []byte("task")); err == nil {
		t.Error("nobody answers, and it went well")
	}
}
