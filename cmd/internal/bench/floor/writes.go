package floor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
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

// inFlight bounds what one connection has published without an acknowledgement, and what the consumer has handed out: more than is
// ever outstanding.
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
	nc   *nats.Conn
	js   jetstream.JetStream
	name string

	mu      sync.Mutex
	next    int
	waiting map[string]func(error) // by task
}

// NewWrites connects a caller; name is a token of its subjects.
func NewWrites(url, name string) (*Writes, error) {
	nc, err := connect(url, "floor of writes")
	if err != nil {
		return nil, err
	}
	w := &Writes{nc: nc, name: name, waiting: make(map[string]func(error))}
	w.js, err = jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(inFlight), jetstream.WithPublishAsyncErrHandler(w.refused))
	if err == nil {
		_, err = nc.Subscribe(resultPrefix+name+".*", w.heard)
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

// Call persists a task. done is called when its result is heard, or its publish has failed.
func (w *Writes) Call(payload []byte, done func(error)) {
	w.mu.Lock()
	w.next++
	task := strconv.Itoa(w.next)
	w.waiting[task] = done
	w.mu.Unlock()
	if _, err := w.js.PublishMsgAsync(&nats.Msg{Subject: taskPrefix + w.name + "." + task, Data: payload}); err != nil {
		w.end(task, err)
	}
}

func (w *Writes) heard(m *nats.Msg) { w.end(lastToken(m.Subject), nil) }

func (w *Writes) refused(_ jetstream.JetStream, m *nats.Msg, err error) { w.end(lastToken(m.Subject), err) }

func (w *Writes) end(task string, err error) {
	w.mu.Lock()
	done := w.waiting[task]
	delete(w.waiting, task)
	w.mu.Unlock()
	if done != nil {
		done(err)
	}
}

// Close ends the connection.
func (w *Writes) Close() { w.nc.Close() }

// ServeWrites takes tasks from the consumer, persists what they hold as their results, and acknowledges a task once its result is.
func ServeWrites(ctx context.Context, url string, ready func()) error {
	nc, err := connect(url, "floor of writes, worker")
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(inFlight))
	if err != nil {
		return fmt.Errorf("serve writes: %w", err)
	}
	pull, err := js.Consumer(ctx, stream, consumer)
	if err != nil {
		return fmt.Errorf("serve writes: %w", err)
	}
	acks := make(chan ack, inFlight) // more than are ever outstanding
	consuming, err := pull.Consume(func(m jetstream.Msg) {
		subject := resultPrefix + strings.TrimPrefix(m.Subject(), taskPrefix)
		if stored, err := js.PublishMsgAsync(&nats.Msg{Subject: subject, Data: m.Data()}); err == nil {
			acks <- ack{m, stored}
		}
	})
	if err != nil {
		return fmt.Errorf("serve writes: %w", err)
	}
	var acking sync.WaitGroup
	acking.Go(func() { acknowledge(ctx, acks) })
	ready()
	<-ctx.Done()
	consuming.Stop()
	<-consuming.Closed()
	acking.Wait()
	return nil
}

// ack is a task and the write of its result.
type ack struct {
	task   jetstream.Msg
	stored jetstream.PubAckFuture
}

// acknowledge acknowledges tasks in the order in which they came, each as soon as its result is stored.
func acknowledge(ctx context.Context, acks <-chan ack) {
	for {
		select {
		case a := <-acks:
			a.settle(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (a ack) settle(ctx context.Context) {
	select {
	case <-a.stored.Ok():
		_ = a.task.Ack()
	case <-a.stored.Err():
		_ = a.task.Nak()
	case <-ctx.Done():
	}
}

func lastToken(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }
