package adaptertest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// Capability is what the tasks of the suite ask for.
const Capability = "echo"

// Traceparent is that of every task of the suite.
const Traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01"

// NewTask is a task with that payload, as a worker would give it to a Handler. It may not be repeated, and its deadline is in a
// minute.
func NewTask(payload []byte) *worker.Task {
	deadline := time.Now().Add(time.Minute)
	return &worker.Task{
		Message: &schemas.ReachMessage{
			TaskID: schemas.NewTaskID(), Tenant: schemas.DefaultTenant, Capability: Capability, Payload: payload, Attempt: 1,
			Traceparent: Traceparent, Assignment: &schemas.Assignment{AgentID: "laptop-1", RunTimeoutMS: 60_000},
		},
		Offer:    &schemas.Offer{ID: Capability, ErrorMapping: map[string]schemas.Code{"E40001": schemas.InvalidArgument}},
		Deadline: deadline,
	}
}

// Recorder is an Emit that keeps what it hears.
type Recorder struct {
	Gate chan struct{} // if set, each chunk takes one value from it

	mu       sync.Mutex
	chunks   []string
	progress []schemas.Progress
	hops     []string
}

var _ worker.Emit = (*Recorder)(nil)

// Chunk keeps a chunk.
func (r *Recorder) Chunk(ctx context.Context, data schemas.Payload) error {
	if r.Gate != nil {
		select {
		case <-r.Gate:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chunks = append(r.chunks, string(data))
	return nil
}

// Progress keeps a progress.
func (r *Recorder) Progress(progress schemas.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = append(r.progress, progress)
}

// Hop keeps a hop.
func (r *Recorder) Hop(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hops = append(r.hops, name)
}

// Chunks are those heard so far.
func (r *Recorder) Chunks() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.chunks)
}

// Heard is every progress so far.
func (r *Recorder) Heard() []schemas.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.progress)
}

// Hops are those heard so far.
func (r *Recorder) Hops() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.hops)
}
