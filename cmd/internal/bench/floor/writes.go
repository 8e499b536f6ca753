package floor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Tasks and results are in one stream. The names of the caller and of the task are tokens of both, so that each caller hears its own
// results alone: floor.task.<caller>.<task>, floor.result.<caller>.<task>.
const (
	stream       = "FLOOR"
	consumer     = "floor"
	taskPrefix   = "floor.task."
	resultPrefix = "floor.result."
)

// inFlight bounds what the consumer has handed out: more than is ever outstanding.
const inFlight = 16 << 10

// SetUp makes the stream and its consumer.
func SetUp(ctx context.Context, url string) error {
	nc, err := connect(url, "floor of writes, set-up")
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("set up the floor of writes: %w", err)
	}
	made, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: stream, Subjects: []string{taskPrefix + "*.*", resultPrefix + "*.*"}, Storage: jetstream.FileStorage,
		Duplicates: 100 * time.Millisecond,
	})
	if err == nil {
		_, err = made.CreateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: consumer, FilterSubject: taskPrefix + ">", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: inFlight,
			AckWait: time.Minute,
		})
	}
	if err != nil {
		return fmt.Errorf("set up the floor of writes: %w", err)
	}
	return nil
}

// Writes is a caller whose tasks are persisted and come back as persisted results.
type Writes struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	name    string
	next    atomic.Int64
	results results
}

// NewWrites connects a caller; name is a token of its subjects.
func NewWrites(url, name string) (*Writes, error) {
	nc, err := connect(url, "floor of writes")
	if err != nil {
		return nil, err
	}
	w := &Writes{nc: nc, name: name, results: newResults()}
	w.js, err = jetstream.New(nc)
	if err == nil {
		_, err = nc.Subscribe(resultPrefix+name+".*", w.results.heard)
	}
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("start the floor of writes: %w", err)
	}
	return w, nil
}

// Call persists a task and waits for its result.
func (w *Writes) Call(ctx context.Context, payload []byte) error {
	task := strconv.FormatInt(w.next.Add(1), 10)
	result := w.results.expect(task)
	if _, err := w.js.Publish(ctx, taskPrefix+w.name+"."+task, payload); err != nil {
		return fmt.Errorf("persist a task: %w", err)
	}
	return await(ctx, result)
}

// Close ends the connection.
func (w *Writes) Close() { w.nc.Close() }

// ServeWrites takes tasks from the consumer with so many slots. In each a task's content is persisted as its result, and then the
// task is acknowledged.
func ServeWrites(ctx context.Context, url string, slots int, ready func()) error {
	nc, err := connect(url, "floor of writes, worker")
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("serve writes: %w", err)
	}
	pull, err := js.Consumer(ctx, stream, consumer)
	if err != nil {
		return fmt.Errorf("serve writes: %w", err)
	}
	tasks := make(chan jetstream.Msg)
	var working sync.WaitGroup
	for range slots {
		working.Go(func() {
			for task := range tasks {
				work(ctx, js, task)
			}
		})
	}
	consuming, err := pull.Consume(func(task jetstream.Msg) { tasks <- task })
	if err == nil {
		ready()
		<-ctx.Done()
		consuming.Stop()
		<-consuming.Closed()
	}
	close(tasks)
	working.Wait()
	if err != nil {
		return fmt.Errorf("serve writes: %w", err)
	}
	return nil
}

func work(ctx context.Context, js jetstream.JetStream, task jetstream.Msg) {
	subject := resultPrefix + strings.TrimPrefix(task.Subject(), taskPrefix)
	if _, err := js.Publish(ctx, subject, task.Data()); err != nil {
		_ = task.Nak()
		return
	}
	_ = task.Ack()
}
