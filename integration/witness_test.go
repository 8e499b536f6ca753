//go:build unix

package integration

import (
	"bytes"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// witness is a plain NATS client that hears every result and every message of the feed. While the broker is dead it hears nothing.
type witness struct {
	t  testing.TB
	nc *nats.Conn

	mu      sync.Mutex
	entries map[uint64]broker.Entry
	results map[string][]*schemas.Task
}

func newWitness(t testing.TB, url string) *witness {
	t.Helper()
	w := &witness{
		t: t, nc: newNATSCaller(t, url).nc, entries: make(map[uint64]broker.Entry), results: make(map[string][]*schemas.Task),
	}
	_, err := w.nc.Subscribe("reach.result.default.*", w.hearResult)
	check(t, err)
	_, err = w.nc.Subscribe("reach.feed.>", w.hearEntry)
	check(t, err)
	check(t, w.nc.FlushTimeout(10*time.Second))
	return w
}

func (w *witness) hearResult(m *nats.Msg) {
	task := new(schemas.Task)
	if err := schemas.Decode(m.Data, task); err != nil || m.Subject != "reach.result.default."+task.TaskID || !task.State.Terminal() {
		w.t.Errorf("%s brought no terminal record of its task (%v): %s", m.Subject, err, m.Data)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.results[task.TaskID] = append(w.results[task.TaskID], task)
}

func (w *witness) hearEntry(m *nats.Msg) {
	e, err := broker.ParseSubject(m.Subject)
	if err != nil {
		w.t.Errorf("%s is no subject of the feed: %v", m.Subject, err)
		return
	}
	e.Sequence, _ = strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	e.Previous, _ = strconv.ParseUint(m.Header.Get("Nats-Expected-Last-Subject-Sequence"), 10, 64)
	e.Write, e.Body = m.Header.Get("Reach-Write"), m.Data
	w.mu.Lock()
	defer w.mu.Unlock()
	before, known := w.entries[e.Sequence]
	if known && (before.Write != e.Write || !bytes.Equal(before.Body, e.Body)) {
		w.t.Errorf("sequence %d is two messages: %s and %s", e.Sequence, before.Subject(), e.Subject())
	}
	w.entries[e.Sequence] = e
}

// heardAll reports whether no message can have been missed: the connection has never been lost.
func (w *witness) heardAll() bool { return w.nc.Stats().Reconnects == 0 && w.nc.IsConnected() }

// of are the terminal records that were published for a task.
func (w *witness) of(taskID string) []*schemas.Task {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.results[taskID]
}

// result waits for the record of a task.
func (w *witness) result(taskID string) *schemas.Task {
	w.t.Helper()
	brokertest.Eventually(w.t, "the result of "+taskID, func() bool { return len(w.of(taskID)) > 0 })
	return w.of(taskID)[0]
}

func (w *witness) heard() map[uint64]broker.Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.entries)
}
