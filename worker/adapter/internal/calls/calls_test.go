package calls_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/internal/calls"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCloseEndsWhatRunsAndWaitsForIt(t *testing.T) {
	t.Parallel()
	c := calls.New()
	ctx, done, ok := c.Begin(t.Context())
	if !ok {
		t.Fatal("no call begins")
	}
	cause := make(chan error, 1)
	go func() {
		defer done()
		<-ctx.Done()
		cause <- context.Cause(ctx)
	}()
	c.Close()
	select {
	case err := <-cause:
		if !errors.Is(err, worker.ErrStopping) {
			t.Errorf("it ended with %v", err)
		}
	default:
		t.Error("the call was not waited for")
	}
	if _, _, ok := c.Begin(t.Context()); ok {
		t.Error("a call begins after the end")
	}
}

func TestACallThatIsDoneIsNotTold(t *testing.T) {
	t.Parallel()
	c := calls.New()
	ctx, done, _ := c.Begin(t.Context())
	done()
	c.Close()
	if !errors.Is(context.Cause(ctx), context.Canceled) {
		t.Errorf("it ended with %v", context.Cause(ctx))
	}
}
