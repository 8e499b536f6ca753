//go:build unix

package integration

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/schemas"
)

// The tests of memory do not run in parallel: the heap is theirs alone.

func TestADispatcherKeepsAThousandIdleAgentsInLittleMemory(t *testing.T) {
	const agents, limit = 1_000, 50 << 20
	child := brokertest.Child(t)
	before := heap()
	d, _ := startDispatcher(t, child)
	for i := range agents {
		_, err := d.Register(t.Context(), idleAgent(i))
		check(t, err)
	}
	weigh(t, d, before, limit, fmt.Sprintf("%d idle agents", agents))
	listed := 0
	for query, more := (schemas.AgentQuery{PageSize: 100}), true; more; more = query.PageToken != "" {
		page, err := d.ListAgents(t.Context(), query)
		check(t, err)
		listed += len(page.Items)
		query.PageToken = page.NextPageToken
	}
	if listed != agents {
		t.Errorf("%d agents are registered, want %d", listed, agents)
	}
}

func TestADispatcherKeepsOpenTasksInLittleMemory(t *testing.T) {
	openTasks := 100_000
	if underRace {
		openTasks = 10_000 // all is slow enough there
	}
	tests := []struct {
		name     string
		tasks    int
		metadata int // bytes
		limit    int64
	}{
		{"tasks of an ordinary size", openTasks, 24, int64(openTasks) * (150 << 20) / 100_000},
		{"tasks with all the metadata that they may have", 2_000, schemas.MaxMetadataBytes - 100, 10 << 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			child := brokertest.Child(t)
			pattern := submitted(t, child, tt.metadata)
			writeLike(t, child.Connect(t), pattern, tt.tasks-1)

			before := heap()
			d, _ := startDispatcher(t, child)
			weigh(t, d, before, tt.limit, fmt.Sprintf("%d open tasks", tt.tasks))
			task, err := d.Task(t.Context(), schemas.DefaultTenant, pattern.TaskID)
			check(t, err)
			if task.Queue == nil || task.Queue.Position != 1 {
				t.Errorf("the first of all tasks stands at %+v", task.Queue)
			}
		})
	}
}

// heap is what is in use after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers held the first time
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func weigh(t *testing.T, d *dispatcher.Dispatcher, before, limit int64, what string) {
	t.Helper()
	used := heap() - before
	runtime.KeepAlive(d)
	t.Logf("%s: %.1f MB of heap, %.1f MB allowed", what, float64(used)/(1<<20), float64(limit)/(1<<20))
	if used > limit {
		t.Errorf("%s take %d bytes of heap, more than %d", what, used, limit)
	}
}

// startDispatcher runs a dispatcher within the test, on a connection of its own.
func startDispatcher(t *testing.T, child *brokertest.Process) (d *dispatcher.Dispatcher, stop func()) {
	t.Helper()
	return runDispatcher(t, child.Connect(t))
}

func runDispatcher(t *testing.T, conn *broker.Conn) (d *dispatcher.Dispatcher, stop func()) {
	t.Helper()
	d, err := dispatcher.New(conn, dispatcher.Config{Logger: zerolog.Nop()})
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("dispatcher: %v", err)
		}
		conn.Close()
	})
	t.Cleanup(stop)
	select {
	case <-d.Ready():
	case <-time.After(time.Minute):
		t.Fatal("the dispatcher is not ready after a minute")
	}
	return d, stop
}

func idleAgent(i int) *schemas.Registration {
	return &schemas.Registration{
		AgentID: fmt.Sprintf("laptop-%d", i), InstanceID: schemas.NewTaskID(), Version: "1.2.0", Service: "notes-helper",
		Transport: schemas.Transport{Type: "http", Endpoint: "http://127.0.0.1:9000/run", HealthCheck: "http://127.0.0.1:9000/healthz"},
		Capabilities: []schemas.Offer{
			{ID: "summarize", MaxConcurrency: 2, InputSchema: []byte(`{"properties":{"text":{"maxLength":20000}}}`)},
			{ID: "echo", MaxConcurrency: 4},
		},
		Metadata: []byte(`{"device_type":"laptop","location":"home","gpu":false,"cost_weight":0.5}`),
	}
}

// submitted is the ledger's entry of a task that a dispatcher has accepted and nobody can run.
func submitted(t *testing.T, child *brokertest.Process, metadata int) broker.Entry {
	t.Helper()
	d, stop := startDispatcher(t, child)
	defer stop()
	task, err := d.Submit(t.Context(), schemas.DefaultTenant, &schemas.ReachMessage{
		Capability: "echo", WaitForAgent: true, MsgID: "notes-2026-11-29-7", Tags: []string{"notes"},
		Payload:  schemas.Payload(`{"text":"` + strings.Repeat("Ships sail. ", 24) + `"}`),
		Metadata: []byte(`{"session_id":"` + strings.Repeat("s", metadata-17) + `"}`),
	})
	check(t, err)
	entry, err := child.Connect(t).Ledger().LastAtLeader(t.Context(), task.TaskID)
	check(t, err)
	return entry
}

// writeLike writes n more tasks that differ from the pattern in what is unique.
func writeLike(t *testing.T, conn *broker.Conn, pattern broker.Entry, n int) {
	t.Helper()
	var message schemas.ReachMessage
	check(t, schemas.Decode(pattern.Body, &message))
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(256)
	for i := range n {
		m := message
		m.TaskID, m.MsgID = schemas.NewTaskID(), fmt.Sprintf("notes-2026-11-29-%d", 100+i)
		m.SubmittedAt = schemas.At(message.SubmittedAt.Add(time.Duration(i) * time.Millisecond))
		m.TraceID = fmt.Sprintf("%032x", i+1)
		m.Traceparent = "00-" + m.TraceID + "-b7ad6b7169203331-01"
		group.Go(func() error {
			_, err := conn.Ledger().Write(ctx, broker.Entry{
				TaskID: m.TaskID, Phase: pattern.Phase, Capability: pattern.Capability, Agent: pattern.Agent,
				Body: schemas.MustEncode(&m), TTL: pattern.TTL,
			})
			return err
		})
	}
	check(t, group.Wait())
}
