package keeper_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/internal/keeper"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conn is a connection that ends when it is told to.
type conn struct {
	loss  keeper.Loss
	over  chan struct{}
	lost  chan struct{}
	close sync.Once
}

func newConn(loss keeper.Loss) *conn {
	return &conn{loss: loss, over: make(chan struct{}), lost: make(chan struct{})}
}

func (c *conn) Run() keeper.Loss {
	<-c.over
	return c.loss
}

func (c *conn) Lost() { close(c.lost) }

func (c *conn) HangUp() { c.close.Do(func() { close(c.over) }) }

// line dials connections one after the other; nil is a refusal.
func line(conns ...*conn) (func(context.Context) (*conn, *worker.Failure), *atomic.Int32) {
	dials := new(atomic.Int32)
	return func(context.Context) (*conn, *worker.Failure) {
		next := conns[min(int(dials.Add(1)), len(conns))-1]
		if next == nil {
			return nil, &worker.Failure{Err: schemas.NewError(schemas.Unavailable, "", "no"), Ran: schemas.RanNo}
		}
		return next, nil
	}, dials
}

func TestAllWaitForOneDial(t *testing.T) {
	t.Parallel()
	only := newConn(keeper.Loss{})
	dial, dials := line(only)
	gate := make(chan struct{})
	k := keeper.New(keeper.Config[*conn]{Dial: func(ctx context.Context) (*conn, *worker.Failure) {
		<-gate
		return dial(ctx)
	}})
	defer k.Close()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, failure := k.Live(t.Context()); got != only || failure != nil {
				t.Errorf("got %v", failure)
			}
		})
	}
	close(gate)
	all.Wait()
	if got := dials.Load(); got != 1 {
		t.Errorf("%d dials", got)
	}
}

func TestALostConnectionIsMadeAgain(t *testing.T) {
	t.Parallel()
	first, second := newConn(keeper.Loss{}), newConn(keeper.Loss{})
	dial, _ := line(first, nil, second)
	k := keeper.New(keeper.Config[*conn]{Dial: dial, After: time.Millisecond, Max: time.Second})
	defer k.Close()
	if got, _ := k.Live(t.Context()); got != first {
		t.Fatal("not the first")
	}
	first.HangUp()
	<-first.lost
	if _, failure := k.Live(t.Context()); failure == nil || failure.Ran != schemas.RanNo {
		t.Errorf("got %v, want the refusal", failure)
	}
	if got, failure := k.LiveWithin(t.Context()); got != second {
		t.Errorf("got %v", failure)
	}
}

func TestTheNextDialIsPutOff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		conns []*conn
		want  time.Duration
	}{
		{"a loss", []*conn{newConn(keeper.Loss{})}, 10 * time.Second},
		{"a loss of no use to repeat soon", []*conn{newConn(keeper.Loss{Patient: true})}, time.Hour},
		{"a refusal", []*conn{nil}, 10 * time.Second},
	} {
		dial, _ := line(tt.conns...)
		k := keeper.New(keeper.Config[*conn]{Dial: dial, After: 10 * time.Second, Max: time.Hour})
		if c, failure := k.Live(t.Context()); failure == nil {
			c.HangUp()
			<-c.lost
		}
		_, failure := k.Live(t.Context())
		if failure == nil {
			t.Fatalf("%s: it dialed at once", tt.name)
		}
		after := time.Duration(failure.Err.RetryAfterMS) * time.Millisecond
		if after > tt.want || after < tt.want-5*time.Second || failure.Ran != schemas.RanNo {
			t.Errorf("%s: after %s, ran %s", tt.name, after, failure.Ran)
		}
		k.Close()
	}
}

func TestADelayDoublesUnlessTheConnectionWasOfUse(t *testing.T) {
	t.Parallel()
	for worked, want := range map[bool]time.Duration{false: 40 * time.Second, true: 10 * time.Second} {
		dial, _ := line(nil, nil, newConn(keeper.Loss{Worked: worked}))
		k := keeper.New(keeper.Config[*conn]{Dial: dial, After: 10 * time.Second, Max: time.Hour})
		for range 2 {
			_, _ = k.Live(t.Context())
			k.Hasten()
		}
		c, _ := k.Live(t.Context())
		c.HangUp()
		<-c.lost
		_, failure := k.Live(t.Context())
		after := time.Duration(failure.Err.RetryAfterMS) * time.Millisecond
		if after > want || after < want-5*time.Second {
			t.Errorf("worked %t: after %s", worked, after)
		}
		k.Close()
	}
}

func TestWhoWaitsCanLeave(t *testing.T) {
	t.Parallel()
	k := keeper.New(keeper.Config[*conn]{Dial: func(ctx context.Context) (*conn, *worker.Failure) {
		<-ctx.Done()
		return nil, &worker.Failure{Err: schemas.NewError(schemas.Unavailable, "", "no"), Ran: schemas.RanNo}
	}})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(worker.ErrCanceled)
	if _, failure := k.Live(ctx); failure == nil || failure.Err.Code != schemas.Cancelled || failure.Ran != schemas.RanNo {
		t.Errorf("got %v", failure)
	}
	k.Close()
	if _, failure := k.Live(t.Context()); failure == nil || failure.Ran != schemas.RanNo {
		t.Errorf("got %v after the end", failure)
	}
}
