package broker

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
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

// away is a bucket whose watchers cannot be made, until it is back for a moment.
type away struct {
	jetstream.KeyValue
	tries int
	back  int // the try that succeeds, with no records
	end   context.CancelFunc
}

func (a *away) Bucket() string { return "REACH_AGENTS" }

func (a *away) WatchAll(context.Context, ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	a.tries++
	if a.tries == 2*a.back {
		a.end()
	}
	if a.tries != a.back {
		return nil, errors.New("the broker is away")
	}
	updates := make(chan jetstream.KeyValueEntry, 1)
	updates <- nil
	close(updates)
	return endless{updates}, nil
}

func TestAWatchTellsOnceOfEachOutage(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	conn := &Conn{log: zerolog.New(&log).Level(zerolog.InfoLevel)}
	conn.link.restored()
	w := newWatch(&Bucket[AgentRecord]{conn: conn}, func(Item[AgentRecord]) {})
	w.kv = &away{back: 3, end: cancel}
	w.run(ctx)
	const outage = `{"level":"info","error":"the broker is away","bucket":"REACH_AGENTS","message":"watch starts afresh"}` + "\n"
	const ended = `{"level":"info","error":"the watcher has ended","bucket":"REACH_AGENTS","message":"watch starts afresh"}` + "\n"
	if got := log.String(); got != outage+ended {
		t.Errorf("got %s", got)
	}
}
