package protocol

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/dispatcher/front/natsfront"
	"github.com/agentreach/agent-reach/schemas"
)

// stamp is a capability that must not run twice.
var stamp = schemas.Capability{
	ID: "stamp", InputSchema: []byte(`{"type":"object"}`), OutputSchema: []byte(`{"type":"object"}`),
}

// startHouse runs a dispatcher over a fresh broker.
func startHouse(t *testing.T) (*brokertest.Broker, *dispatcher.Dispatcher) {
	t.Helper()
	b := brokertest.New(t)
	conn := b.Conn(t)
	d, err := dispatcher.New(conn, dispatcher.Config{
		Logger: zerolog.Nop(), Capabilities: []schemas.Capability{stamp}, HeartbeatInterval: 500 * time.Millisecond,
		DisconnectGrace: 300 * time.Millisecond,
	})
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("dispatcher: %v", err)
		}
	})
	select {
	case <-d.Ready():
	case <-time.After(20 * time.Second):
		t.Fatal("the dispatcher is not ready")
	}
	_, err = natsfront.Serve(conn, d, natsfront.Config{})
	check(t, err)
	return b, d
}

// TestARealHouse has every implementation serve a dispatcher as it is, with a real ledger and its feed: many tasks at once, then a
// worker that is killed, and its successor.
func TestARealHouse(t *testing.T) {
	t.Parallel()
	for _, i := range implementations(t) {
		t.Run(i.name, func(t *testing.T) {
			t.Parallel()
			i.usable(t)
			b, d := startHouse(t)
			start := func() *child {
				return i.start(t, "--nats", b.URL(), "--agent-id", agentID, "--capability", "echo", "--capability", "stamp",
					"--max-concurrency", "4")
			}
			first := start()
			brokertest.Eventually(t, "the agent", func() bool {
				a, err := d.Agent(t.Context(), agentID)
				return err == nil && a.State == schemas.AgentOnline
			})
			var tasks []string
			for n := range 40 {
				tasks = append(tasks, submit(t, d, []string{"echo", "stamp"}[n%2], fmt.Sprintf(`{"n":%d}`, n), false))
			}
			for n, id := range tasks {
				awaitResult(t, d, id, fmt.Sprintf(`{"n":%d}`, n))
			}
			for line, times := range first.said() {
				if times != 1 {
					t.Errorf("%s was said %d times", line, times)
				}
			}

			lost := submit(t, d, "stamp", `{"wait_ms":60000}`, true)
			first.await("run "+lost, 1)
			first.kill()
			start()
			if task := await(t, d, lost); task.State != schemas.StateFailed || task.Error.Code != schemas.Aborted {
				t.Errorf("what its predecessor ran and must not run twice is %s (%v), want ABORTED", task.State, task.Error)
			}
			awaitResult(t, d, submit(t, d, "stamp", `{"n":41}`, true), `{"n":41}`)
		})
	}
}

func submit(t *testing.T, d *dispatcher.Dispatcher, capability, payload string, wait bool) string {
	t.Helper()
	m := schemas.ReachMessage{Capability: capability, Payload: schemas.Payload(payload), WaitForAgent: wait}
	task, err := d.Submit(t.Context(), schemas.DefaultTenant, &m)
	check(t, err)
	return task.TaskID
}

func await(t *testing.T, d *dispatcher.Dispatcher, id string) *schemas.Task {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	task, err := d.Wait(ctx, schemas.DefaultTenant, id, 30*time.Second)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if task == nil || !task.State.Terminal() {
		t.Fatalf("task %s does not end", id)
	}
	return task
}

func awaitResult(t *testing.T, d *dispatcher.Dispatcher, id, want string) {
	t.Helper()
	if task := await(t, d, id); task.State != schemas.StateCompleted || string(task.Result) != want {
		t.Errorf("task %s is %s with %s (%v), want %s", id, task.State, task.Result, task.Error, want)
	}
}
