package broker

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// endless is a watcher that does not say when it has ended.
type endless struct{ updates chan jetstream.KeyValueEntry }

func (e endless) Updates() <-chan jetstream.KeyValueEntry { return e.updates }
func (e endless) Stop() error                             { return nil }

func TestAWatcherThatNeverEndsIsAbandonedAllTheSame(t *testing.T) {
	t.Parallel()
	w := endless{updates: make(chan jetstream.KeyValueEntry)}
	said := make(chan struct{})
	go func() {
		defer close(said)
		for range 3 {
			w.updates <- nil // nobody else takes it
		}
	}()
	abandon(w)
	<-said
}
