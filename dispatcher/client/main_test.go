package client_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/broker/embedded"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/dispatcher/front/natsfront"
	"github.com/agentreach/agent-reach/schemas"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a client, a house, and the broker between them.
type bench struct {
	*client.Client
	t      testing.TB
	broker *brokertest.Broker
	house  *fronttest.House
}

// Times of the clients under test; hasty is the try of those whose answers get lost.
const (
	try      = 5 * time.Second
	hasty    = 300 * time.Millisecond
	patience = time.Second
	slice    = 200 * time.Millisecond
	look     = 100 * time.Millisecond
)

// newBench starts a broker and a house, but nobody who answers for it.
func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{t: t, broker: brokertest.New(t, rarelySynced), house: fronttest.New()}
	b.Client = b.newClient(try)
	return b
}

// rarelySynced keeps a race out of the tests that the server has with itself when it syncs a stream that is just being made.
func rarelySynced(cfg *embedded.Config) { cfg.SyncInterval = time.Hour }

func (b *bench) newClient(try time.Duration) *client.Client {
	return client.New(b.broker.Conn(b.t), client.WithTimes(try, patience), client.WithSlice(slice), client.WithLook(look))
}

// serve starts a dispatcher's front, over the house or over another service; stop ends it.
func (b *bench) serve(services ...front.Service) (stop func()) {
	b.t.Helper()
	var service front.Service = b.house
	if len(services) > 0 {
		service = services[0]
	}
	conn := b.broker.Conn(b.t)
	api, err := natsfront.Serve(conn, service, natsfront.Config{Version: "1.2.3", MaxWait: time.Second})
	if err != nil {
		b.t.Fatal(err)
	}
	b.house.OnEnd(func(tenant string, task *schemas.Task) {
		_ = conn.Publish(broker.SubjectResult(tenant, task.TaskID), schemas.MustEncode(task))
	})
	return api.Close
}

// forgetful is a house that does what it is asked, and whose answer is lost the first times.
type forgetful struct {
	front.Service
	lose atomic.Int32
}

func (f *forgetful) Submit(ctx context.Context, tenant string, message *schemas.ReachMessage) (*schemas.Task, error) {
	task, err := f.Service.Submit(ctx, tenant, message)
	if f.lose.Add(-1) >= 0 {
		<-ctx.Done() // the answer comes when nobody listens any more
	}
	return task, err
}

// wantError checks the code and reason of an error.
func wantError(t testing.TB, err error, code schemas.Code, reason string) *schemas.Error {
	t.Helper()
	var e *schemas.Error
	if !errors.As(err, &e) || e.Code != code || e.Reason != reason {
		t.Fatalf("error %v (%+v), want %s %s", err, e, code, reason)
	}
	return e
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// patiently is for what must succeed.
func patiently(t testing.TB) context.Context { return within(t, 20*time.Second) }

// moving is a house whose tasks another agent has taken over.
type moving struct {
	front.Service
	to atomic.Bool
}

func (m *moving) Task(ctx context.Context, tenant, taskID string) (*schemas.Task, error) {
	task, err := m.Service.Task(ctx, tenant, taskID)
	if err == nil && m.to.Load() {
		task.AgentID, task.Attempt = "phone-2", 2
	}
	return task, err
}
