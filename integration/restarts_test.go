//go:build unix

package integration

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/front/natsfront"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

const restarts = 30

// TestThirtyRestartsOfTheBrokerInARow has a dispatcher, a worker and a caller within the test live through restarts of the broker that
// leave them no time to come back, and then through as many cuts of their connections. All that was open goes on by itself: the feed,
// the pull, the watches, a stream, the results. Nothing is left behind. It runs alone: the goroutines are its own.
func TestThirtyRestartsOfTheBrokerInARow(t *testing.T) {
	q := newQuartet(t)
	before := q.census()
	reader := q.read(q.submit(`{"ms":1}`, "echo"))
	for range restarts {
		q.broker.Restart()
	}
	q.goesOn("after the restarts")
	for range restarts {
		q.relay.Cut()
		pause(t.Context(), 20*time.Millisecond)
	}
	q.goesOn("after the cuts")
	close(q.speak)
	if heard := <-reader; !heard.whole {
		t.Errorf("the stream that was read all the time was not whole: it ended after chunk %d", heard.last)
	}
	q.nothingIsLeft(before)
}

// quartet is a broker with one of each, connected through one relay.
type quartet struct {
	t      *testing.T
	broker *brokertest.Process
	relay  *brokertest.Relay
	sdk    *sdkCaller
	direct jetstream.JetStream // to the broker itself
	speak  chan struct{}       // closed when the agent's stream is to end
}

func newQuartet(t *testing.T) *quartet {
	q := &quartet{t: t, broker: brokertest.Child(t), speak: make(chan struct{})}
	q.broker.Connect(t).Close() // sets it up
	q.relay = brokertest.Proxy(t, q.broker.URL())
	q.dispatch()
	q.work()
	q.sdk = newSDKCaller(t, q.relay.URL())
	nc, err := nats.Connect(q.broker.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	check(t, err)
	t.Cleanup(nc.Close)
	q.direct, err = jetstream.New(nc)
	check(t, err)
	return q
}

func (q *quartet) connect() *broker.Conn {
	q.t.Helper()
	conn, err := broker.Connect(q.t.Context(), broker.Config{URL: q.relay.URL(), Logger: zerolog.Nop()})
	check(q.t, err)
	return conn
}

// dispatch runs a dispatcher with its NATS front.
func (q *quartet) dispatch() {
	q.t.Helper()
	conn := q.connect()
	d, _ := runDispatcher(q.t, conn)
	api, err := natsfront.Serve(conn, d, natsfront.Config{Logger: zerolog.Nop()})
	check(q.t, err)
	q.t.Cleanup(api.Close)
}

// work serves an agent that answers, and one that says a number every few milliseconds until it is told to end.
func (q *quartet) work() {
	q.t.Helper()
	conn := q.connect()
	answer := func(_ context.Context, _ *worker.Task, _ worker.Emit) (schemas.Payload, error) {
		return schemas.Payload(`{"characters":1,"words":1,"lines":1}`), nil
	}
	count := func(ctx context.Context, _ *worker.Task, to worker.Emit) (schemas.Payload, error) {
		for n := 0; ; n++ {
			if err := to.Chunk(ctx, fmt.Append(nil, n)); err != nil {
				return nil, err
			}
			select {
			case <-q.speak:
				return nil, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	w, err := worker.New(worker.Config{Conn: conn, Logger: zerolog.Nop(), DrainTimeout: 100 * time.Millisecond, Agents: []worker.Agent{
		{Registration: offering("parrot", "text_stats"), Handler: worker.HandlerFunc(answer)},
		{Registration: offering("counter", "echo"), Handler: worker.HandlerFunc(count)},
	}})
	check(q.t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	q.t.Cleanup(func() {
		stop()
		check(q.t, <-ended)
		conn.Close()
	})
	select {
	case <-w.Ready():
	case <-time.After(patience):
		q.t.Fatal("the worker is not ready")
	}
}

func offering(agentID, capability string) schemas.Registration {
	return schemas.Registration{
		AgentID: agentID, Version: "1.0.0",
		Capabilities: []schemas.Offer{{ID: capability, MaxConcurrency: 4, OutputSchema: []byte(`{}`)}},
	}
}

func (q *quartet) submit(payload, capability string) (taskID string) {
	q.t.Helper()
	m := ask(capability, payload)
	m.RunTimeoutMS = time.Hour.Milliseconds()
	ctx, cancel := context.WithTimeout(q.t.Context(), patience)
	defer cancel()
	task, err := q.sdk.client.Submit(ctx, &m)
	check(q.t, err)
	return task.TaskID
}

// readEnd is what came of reading a stream.
type readEnd struct {
	whole bool
	last  int64
}

// read reads along until the task ends.
func (q *quartet) read(taskID string) <-chan readEnd {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	q.t.Cleanup(cancel)
	stream, err := q.sdk.client.Follow(ctx, taskID, 0)
	check(q.t, err)
	ended := make(chan readEnd, 1)
	go func() {
		defer stream.Close()
		heard := &listener{t: q.t, who: "the reader", taskID: taskID}
		for {
			event, err := stream.Next(ctx)
			switch {
			case err != nil:
				ended <- readEnd{false, heard.last}
				return
			case event.Chunk != nil:
				heard.chunk(event.Chunk)
			case event.Notice != nil:
				heard.notice(event.Notice)
			case event.Task != nil && event.Task.State.Terminal():
				ended <- readEnd{event.Task.State == schemas.StateCompleted && event.Task.Chunks == heard.last, heard.last}
				return
			}
		}
	}()
	return ended
}

// goesOn proves that what was there before works as before.
func (q *quartet) goesOn(when string) {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(q.t.Context(), patience)
	defer cancel()
	id := q.submit(`{"text":"a"}`, "text_stats")
	if task, err := q.sdk.client.Result(ctx, id); err != nil || task.State != schemas.StateCompleted {
		q.t.Errorf("%s: the next task is %+v, %v", when, task, err)
	}
	// A capability that another process adds is heard of by a watch.
	name := "added_" + strings.ReplaceAll(strings.ReplaceAll(when, " ", "_"), "after_", "")
	added := schemas.Capability{ID: name, InputSchema: []byte(`{}`), OutputSchema: []byte(`{}`)}
	conn := q.broker.Connect(q.t)
	_, err := conn.Capabilities().Create(ctx, name, added, 0)
	check(q.t, err)
	brokertest.Eventually(q.t, "the capability that was added "+when, func() bool {
		found, err := q.sdk.client.Capability(ctx, name)
		return err == nil && found.ID == name
	})
	conn.Close()
}

// census is what could be left behind.
type census struct {
	goroutines, files int
	consumers         map[string]int
}

func (q *quartet) census() census {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(q.t.Context(), patience)
	defer cancel()
	c := census{goroutines: runtime.NumGoroutine(), consumers: make(map[string]int)}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		c.files = len(files)
	}
	streams := q.direct.ListStreams(ctx)
	for info := range streams.Info() {
		c.consumers[info.Config.Name] = info.State.Consumers
	}
	check(q.t, streams.Err())
	return c
}

// nothingIsLeft waits until all is as it was before, but for a few goroutines and files that come and go.
func (q *quartet) nothingIsLeft(before census) {
	q.t.Helper()
	const some = 8
	var now census
	brokertest.Eventually(q.t, "an end of what is left behind", func() bool {
		now = q.census()
		for stream, n := range now.consumers {
			if n > before.consumers[stream] {
				return false
			}
		}
		return now.goroutines <= before.goroutines+some && now.files <= before.files+some
	})
	q.t.Logf("before: %+v; after: %+v", before, now)
}
