//go:build unix

package integration

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestFiftyCallersWithOneKeyAreOneTask(t *testing.T) {
	t.Parallel()
	h := newHouseApart(t, 2)
	h.startWorker(child("tests", 8, "test_run"))
	w := newWitness(t, h.url)
	ways := h.callers()
	ways = append(ways, ways[0]) // as many over NATS as over HTTP
	o := newOrder("fifty", "test_run", `{"ms":300,"command":"go test"}`)
	ids, errs := make([]string, 50), make([]error, 50)
	start := make(chan struct{})
	var all sync.WaitGroup
	for n := range ids {
		all.Go(func() {
			<-start
			task, err := ways[n%len(ways)].submit(t.Context(), o.message)
			if errs[n] = err; err == nil {
				ids[n] = task.TaskID
			}
		})
	}
	close(start)
	all.Wait()
	for n, id := range ids {
		if errs[n] != nil {
			t.Errorf("caller %d: %v", n, errs[n])
			continue
		}
		o.tasks[id] = true
	}
	p := h.prove(w, []*order{o})
	if n := p.effects[o.taskID()]; n != 1 {
		t.Errorf("it was executed %d times", n)
	}
	h.dispatchers[0].kill()
	h.dispatchers[0].start()
	h.dispatchers[0].until("dispatcher up")
	p.again()
}

func TestAKeyStandsForOneBody(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.startWorker(child("any", 8, abilities...))
	for name, payload := range map[string]string{
		"runs":      `"ms":3000`,
		"completed": `"ms":0`,
		"failed":    `"fail":"INTERNAL"`,
		"canceled":  `"ms":60000`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nc, http := newNATSCaller(t, h.url), newHTTPCaller(t, h.fronts[0])
			submit := func(c caller, capability, payload string) (*schemas.Task, error) {
				return c.submit(t.Context(), newOrder("key of "+name, capability, payload).message)
			}
			first, err := submit(nc, "echo", fmt.Sprintf(`{%s,"a":{"x":1,"y":2.0}}`, payload))
			check(t, err)
			switch name {
			case "canceled":
				_, err := http.cancel(t.Context(), first.TaskID)
				check(t, err)
			case "completed", "failed":
				brokertest.Eventually(t, "the end", func() bool {
					task, err := nc.get(t.Context(), first.TaskID)
					return err == nil && task.State.Terminal()
				})
			}
			for _, c := range []caller{nc, http} {
				again, err := submit(c, "echo", fmt.Sprintf(` { "a" : {"y":2.0, "x":1}, %s } `, payload))
				if err != nil || again.TaskID != first.TaskID {
					t.Errorf("the same in other words: got %v, %v, want task %s", again, err, first.TaskID)
				}
				for what, other := range map[string][2]string{
					"another body":       {"echo", fmt.Sprintf(`{%s,"a":{"x":1,"y":3.0}}`, payload)},
					"a number's writing": {"echo", fmt.Sprintf(`{%s,"a":{"x":1,"y":2.00}}`, payload)},
					"another capability": {"test_run", fmt.Sprintf(`{%s,"a":{"x":1,"y":2.0},"command":"x"}`, payload)},
				} {
					_, err := submit(c, other[0], other[1])
					var refused *schemas.Error
					if !errors.As(err, &refused) || refused.Code != schemas.AlreadyExists || refused.Reason != schemas.ReasonKeyReused {
						t.Errorf("%s with the same key: got %v", what, err)
					}
				}
			}
			status, _, err := http.exchange(t.Context(), "POST", "/v1/tasks", newOrder("key of "+name, "echo", `{}`).message)
			if err != nil || status != 422 {
				t.Errorf("got status %d, %v, want 422", status, err)
			}
		})
	}
}

// TestADispatcherIsKilledBetweenKeyAndTask kills a dispatcher after it has stored a caller's key and before it has written the
// task: the broker's acknowledgement of the key is lost on its way.
func TestADispatcherIsKilledBetweenKeyAndTask(t *testing.T) {
	t.Parallel()
	h := newHouseApart(t, 0)
	relay := brokertest.Proxy(t, h.url)
	d := h.addDispatcher(relay.URL())
	d.start()
	d.until("dispatcher up")
	h.startWorker(child("tests", 8, "test_run"))
	w, conn := newWitness(t, h.url), connect(t, h.url)
	front := newHTTPCaller(t, h.fronts[0])
	var orders []*order
	for n := range *kills {
		o := newOrder(fmt.Sprintf("key-%d", n), "test_run", `{"command":"go test"}`)
		orders = append(orders, o)
		relay.SwallowAcks(brokertest.Always, "KV_REACH_IDEMPOTENCY")
		abandoned := make(chan error, 1)
		go func() {
			_, err := front.submit(context.Background(), o.message)
			abandoned <- err
		}()
		planned := keyOf(t, conn, o.key)
		d.kill()
		if err := <-abandoned; err == nil {
			t.Error("the caller was told of a task that is not there")
		}
		if e, err := conn.Ledger().LastAtLeader(t.Context(), planned); !errors.Is(err, broker.ErrNotFound) {
			t.Fatalf("the kill came too late: the task is there: %+v (%v)", e.Subject(), err)
		}
		relay.SwallowAcks(0)
		d.start()
		d.until("dispatcher up")
		o.place(t.Context(), newRand(t), h.callers()[1:])
		if !o.tasks[planned] {
			t.Errorf("the repeat became task %s, and the key stood for %s", o.taskID(), planned)
		}
	}
	h.prove(w, orders).again()
}

// keyOf waits for a key and gives the task that it stands for.
func keyOf(t *testing.T, conn *broker.Conn, msgID string) (taskID string) {
	t.Helper()
	brokertest.Eventually(t, "the key "+msgID, func() bool {
		item, err := conn.Keys().Get(t.Context(), broker.IdempotencyKey(schemas.DefaultTenant, msgID))
		taskID = item.Value.TaskID
		return err == nil
	})
	return taskID
}

// connect is a connection of the house's own kind.
func connect(t testing.TB, url string) *broker.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := broker.Connect(ctx, broker.Config{URL: url, Logger: zerolog.Nop()})
	check(t, err)
	t.Cleanup(conn.Close)
	return conn
}
