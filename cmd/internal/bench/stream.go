package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// streamer reads one stream at a time, and calls fn with each chunk.
type streamer interface {
	stream(ctx context.Context, chunks int, payload []byte, fn func()) error
}

// reader reads from a floor.
type reader struct {
	plain
	read func(ctx context.Context, chunks int, payload []byte, fn func()) error
}

func (r reader) stream(ctx context.Context, chunks int, payload []byte, fn func()) error {
	return r.read(ctx, chunks, payload, fn)
}

// stream reads a stream of the product as any Go program would.
func (r reacher) stream(ctx context.Context, chunks int, payload []byte, fn func()) error {
	task, err := r.client.Submit(ctx, &schemas.ReachMessage{
		Capability: Capability, ResponseMode: schemas.ModeStream,
		Payload: schemas.MustEncode(streamed{Chunks: chunks, Chunk: schemas.Payload(payload)}),
	})
	if err != nil {
		return err
	}
	events, err := r.client.Follow(ctx, task.TaskID, 0)
	if err != nil {
		return err
	}
	defer events.Close()
	return readAll(ctx, events, chunks, fn)
}

// readAll reads a stream to the end of its task, and wants all of its chunks.
func readAll(ctx context.Context, events *client.Stream, chunks int, fn func()) error {
	got := 0
	for _, err := range events.Chunks(ctx) {
		if err != nil {
			return err
		}
		got++
		fn()
	}
	if got != chunks {
		return fmt.Errorf("read stream: %d of %d chunks came", got, chunks)
	}
	return nil
}

// streamed is what an agent is asked to stream.
type streamed struct {
	Chunks int             `json:"chunks"`
	Chunk  schemas.Payload `json:"chunk"`
}

// emit streams what a task asks for; its result is short.
func emit(ctx context.Context, task *worker.Task, to worker.Emit) (schemas.Payload, error) {
	var s streamed
	if err := schemas.Decode(task.Message.Payload, &s); err != nil {
		return nil, err
	}
	for range s.Chunks {
		if err := to.Chunk(ctx, s.Chunk); err != nil {
			return nil, err
		}
	}
	return schemas.Payload(`"done"`), nil
}

// runStream measures one long stream, and then, as scenario C1, the first chunk of many short ones, one at a time.
func runStream(ctx context.Context, b *bench, s scenario) ([]Measurement, error) {
	stage, err := b.furnish(ctx, s)
	if err != nil {
		return nil, err
	}
	defer stage.close(ctx)
	from := stage.callers[0].(streamer)
	if _, _, err := b.readLong(ctx, from, warmUp(b.options.Tasks)); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	long, err := b.measured(s, s.name, stage, func() ([]time.Duration, time.Duration, error) {
		return b.readLong(ctx, from, b.options.Tasks)
	})
	if err != nil {
		return nil, err
	}
	first, err := b.measured(s, s.name+"1", stage, func() ([]time.Duration, time.Duration, error) {
		return b.readShort(ctx, from, b.options.LatencyTasks/4)
	})
	return []Measurement{long, first}, err
}

func (b *bench) measured(s scenario, name string, stage *stage, run func() ([]time.Duration, time.Duration, error)) (Measurement, error) {
	m := s.measurement(b)
	m.Scenario = name
	meter := startMeter(stage.members())
	latencies, elapsed, err := run()
	if err != nil {
		return m, err
	}
	m.fill(latencies, elapsed)
	meter.stop(&m)
	return m, nil
}

// readLong is how long each chunk of one stream came after the one before, from its first to its last.
func (b *bench) readLong(ctx context.Context, from streamer, chunks int) (gaps []time.Duration, elapsed time.Duration, err error) {
	var first, last time.Time
	err = from.stream(ctx, chunks, b.payload, func() {
		now := time.Now()
		if first.IsZero() {
			first, last = now, now
		}
		gaps = append(gaps, now.Sub(last))
		last = now
	})
	return gaps, last.Sub(first), err
}

// readShort is how long the one chunk of each stream took, from its submit on.
func (b *bench) readShort(ctx context.Context, from streamer, streams int) (latencies []time.Duration, elapsed time.Duration, err error) {
	start := time.Now()
	for range max(1, streams) {
		asked := time.Now()
		if err := from.stream(ctx, 1, b.payload, func() { latencies = append(latencies, time.Since(asked)) }); err != nil {
			return nil, 0, err
		}
	}
	return latencies, time.Since(start), nil
}
