package main

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestASignalThatComesTwiceAtOnceIsOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, first := context.WithCancel(t.Context())
		var ends atomic.Bool // the next signal ends the process
		afterwards(ctx, func() { ends.Store(true) })
		first()
		time.Sleep(sameSignal - time.Millisecond)
		synctest.Wait()
		if ends.Load() {
			t.Error("the second of two signals at once ends the process")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if !ends.Load() {
			t.Error("no later signal ends the process")
		}
	})
}
