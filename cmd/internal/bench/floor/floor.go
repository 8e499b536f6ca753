// Package floor does with the plain NATS client what the product cannot do with less. Writes persists each task and each result, and
// hands tasks out through one pull consumer; Requests asks and answers, and keeps nothing; Chain sends the very messages of the
// product's tasks, and looks at nothing in them. The Serve functions are the other sides; they block until their context ends.
package floor

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
)

func connect(url, name string) (*nats.Conn, error) {
	nc, err := nats.Connect(url, nats.Name(name))
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", name, err)
	}
	return nc, nil
}

// Requests is a caller of core requests.
type Requests struct{ nc *nats.Conn }

const requestSubject = "floor.echo"

// NewRequests connects a caller.
func NewRequests(url string) (*Requests, error) {
	nc, err := connect(url, "floor of requests")
	if err != nil {
		return nil, err
	}
	return &Requests{nc: nc}, nil
}

// Call sends a task and waits for its result.
func (r *Requests) Call(ctx context.Context, payload []byte) error {
	_, err := r.nc.RequestWithContext(ctx, requestSubject, payload)
	return err
}

// Close ends the connection.
func (r *Requests) Close() { r.nc.Close() }

// ServeRequests answers every request with what it asks.
func ServeRequests(ctx context.Context, url string, ready func()) error {
	nc, err := connect(url, "floor of requests, worker")
	if err != nil {
		return err
	}
	defer nc.Close()
	_, err = nc.QueueSubscribe(requestSubject, "floor", func(m *nats.Msg) { _ = m.Respond(m.Data) })
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		return fmt.Errorf("serve requests: %w", err)
	}
	ready()
	<-ctx.Done()
	return nil
}
