package dispatcher

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// laterEntry is a task in the ledger that starts in twelve hours, as a caller without any wishes submits it.
func laterEntry(sequence uint64) broker.Entry {
	now := time.Now()
	m := schemas.ReachMessage{
		TaskID: schemas.NewTaskID(), MsgID: fmt.Sprintf("order-%030d", sequence), Tenant: schemas.DefaultTenant, Capability: "echo",
		Payload: []byte(`{"text":"` + fmt.Sprintf("%0280d", sequence) + `"}`), NotBefore: schemas.At(now.Add(12 * time.Hour)),
		SubmittedAt: schemas.At(now), ExpiresAt: schemas.At(now.Add(36 * time.Hour)), ForgetAt: schemas.At(now.Add(60 * time.Hour)),
		TraceID: fmt.Sprintf("%032x", sequence), Traceparent: fmt.Sprintf("00-%032x-%016x-01", sequence, sequence),
		Assignment: &schemas.Assignment{Idempotent: true, RunTimeoutMS: 30_000, Chain: []string{"laptop-1", "laptop-2", "laptop-3"}},
		Hops:       []schemas.Hop{{Hop: schemas.HopSubmitted, At: schemas.At(now), By: "dispatcher-1"}},
	}
	return broker.Entry{
		TaskID: m.TaskID, Phase: schemas.PhaseScheduled, Capability: m.Capability, Agent: schemas.NoAgent, Sequence: sequence,
		Body: schemas.MustEncode(&m), TTL: 60 * time.Hour, At: now,
	}
}

// BenchmarkReadOpenTasks reads open tasks from the ledger's messages into an index, and says how much of the heap each one keeps.
func BenchmarkReadOpenTasks(b *testing.B) {
	entries := make([]broker.Entry, b.N)
	for i := range entries {
		entries[i] = laterEntry(uint64(i + 1))
	}
	tasks := index.New()
	before := heapInUse()
	b.ReportAllocs()
	b.ResetTimer()
	for _, e := range entries {
		event, err := readEvent(e, schemas.DecodeEnd)
		if err != nil {
			b.Fatal(err)
		}
		tasks.Apply(event)
	}
	b.StopTimer()
	b.ReportMetric(float64(heapInUse()-before)/float64(tasks.Len()), "heap-B/task")
	runtime.KeepAlive(entries)
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
