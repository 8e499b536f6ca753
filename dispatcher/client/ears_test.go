package client_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

// does runs a Do of a task that stays open, and gives its id once it is accepted, and its outcome.
func (b *bench) does(ctx context.Context) (id string, done <-chan *schemas.Task) {
	b.t.Helper()
	sent := message("hold")
	sent.TaskID = schemas.NewTaskID()
	outcome := make(chan *schemas.Task, 1)
	go func() {
		task, err := b.Do(ctx, sent)
		if err != nil {
			b.t.Errorf("do: %v", err)
		}
		outcome <- task
	}()
	brokertest.Eventually(b.t, "the task is accepted", func() bool {
		task, err := b.house.Task(ctx, "default", sent.TaskID)
		return err == nil && task.TaskID == sent.TaskID
	})
	return sent.TaskID, outcome
}

// lateAfter makes a client that asks for a result when it has not heard it for that long.
func (b *bench) lateAfter(d time.Duration) *bench {
	b.Client = client.New(b.broker.Conn(b.t), client.WithTimes(try, patience), client.WithSlice(slice), client.WithLate(d))
	return b
}

func TestDoHearsItsResultAndAsksNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t).lateAfter(time.Hour)
	defer b.serve()()
	id, done := b.does(patiently(t))
	b.house.End(id, schemas.Payload("1"), nil)
	if task := <-done; task.State != schemas.StateCompleted || string(task.Result) != "1" {
		t.Errorf("%+v", task)
	}
	if calls := strings.Join(b.house.Calls(), " "); strings.Contains(calls, "Wait") {
		t.Errorf("the house was asked to wait: %s", calls)
	}
}

func TestDoAsksForAResultThatIsLate(t *testing.T) {
	t.Parallel()
	b := newBench(t).lateAfter(50 * time.Millisecond)
	defer b.serve()()
	b.house.OnEnd(nil) // nothing is published
	id, done := b.does(patiently(t))
	b.asked(1)
	b.house.End(id, schemas.Payload("1"), nil)
	if task := <-done; task.State != schemas.StateCompleted {
		t.Errorf("state %s", task.State)
	}
}

func TestDoAsksAtOnceWhenItMayHaveMissedItsResult(t *testing.T) {
	t.Parallel()
	b := newBench(t).lateAfter(time.Hour)
	defer b.serve()()
	id, done := b.does(patiently(t))
	b.broker.Stop()
	b.house.End(id, schemas.Payload("1"), nil)
	b.broker.Start()
	if task := <-done; task.State != schemas.StateCompleted {
		t.Errorf("state %s", task.State)
	}
}

func TestDoEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := newBench(t).lateAfter(time.Hour)
	defer b.serve()()
	b.doesNotEnd(func(d time.Duration) context.Context { return within(t, d) }, schemas.DeadlineExceeded)
	b.doesNotEnd(func(d time.Duration) context.Context {
		ctx, cancel := context.WithCancel(patiently(t))
		time.AfterFunc(d, cancel)
		return ctx
	}, schemas.Cancelled)
}

func TestManyWaitWithOneSubscription(t *testing.T) {
	t.Parallel()
	b := newBench(t).lateAfter(time.Hour)
	defer b.serve()()
	const many = 3 * client.FewEars
	var all sync.WaitGroup
	ids := make(chan string, many)
	for range many {
		all.Go(func() {
			id, done := b.does(patiently(t))
			ids <- id
			if task := <-done; task == nil || task.TaskID != id || task.State != schemas.StateCompleted {
				t.Errorf("%s: %+v", id, task)
			}
		})
	}
	accepted := make([]string, many)
	for n := range accepted {
		accepted[n] = <-ids
	}
	if !b.HearsAll() {
		t.Error("each task has a subscription of its own")
	}
	for _, id := range accepted {
		b.house.End(id, schemas.Payload("1"), nil)
	}
	all.Wait()
	if b.HearsAll() {
		t.Error("nobody waits, and all results are still heard")
	}
}
