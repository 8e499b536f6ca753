package client_test

import (
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/schemas"
)

// telling is a house that tells the one who has submitted a task how it ends, as dispatchers do, but nobody else.
type telling struct {
	*fronttest.House

	mu      sync.Mutex
	callers map[string]string
}

func (h *telling) Tell(taskID, subject string) (forget func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.callers[taskID] = subject
	return func() {}
}

func (b *bench) serveTelling() (stop func()) {
	b.t.Helper()
	house := &telling{House: b.house, callers: make(map[string]string)}
	stop, conn := b.serve(house), b.broker.Conn(b.t)
	b.house.OnEnd(func(_ string, task *schemas.Task) {
		house.mu.Lock()
		defer house.mu.Unlock()
		_ = conn.Publish(house.callers[task.TaskID], schemas.MustEncode(task))
	})
	return stop
}

func TestDoIsToldOfItsOwnTasksAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t).lateAfter(time.Hour)
	defer b.serveTelling()()
	var ids []string
	var ends []<-chan *schemas.Task
	for range client.FewEars + 8 {
		id, done := b.does(patiently(t))
		ids, ends = append(ids, id), append(ends, done)
	}
	if b.HearsAll() {
		t.Error("it hears what all are told")
	}
	for i, id := range ids {
		b.house.End(id, schemas.Payload("1"), nil)
		if task := <-ends[i]; task.TaskID != id || task.State != schemas.StateCompleted {
			t.Errorf("%s ended as %+v", id, task)
		}
	}
}

func TestClientsOfOneConnectionAreToldEach(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serveTelling()()
	conn := b.broker.Conn(t)
	var ids []string
	var ends []<-chan *schemas.Task
	for range 3 {
		b.Client = client.New(conn, client.WithTimes(try, patience), client.WithLate(time.Hour))
		id, done := b.does(patiently(t))
		ids, ends = append(ids, id), append(ends, done)
	}
	for i, id := range ids {
		b.house.End(id, schemas.Payload("1"), nil)
		if task := <-ends[i]; task.TaskID != id {
			t.Errorf("%s was taken for %s", task.TaskID, id)
		}
	}
}

// TestDoHearsOfEveryRelease: dispatchers of an earlier release tell all; whichever are there, a client hears how its tasks end.
func TestDoHearsOfEveryRelease(t *testing.T) {
	t.Parallel()
	b := newBench(t).lateAfter(time.Hour)
	for i, serve := range []func() func(){b.serveTelling, func() func() { return b.serve() }, b.serveTelling} {
		stop := serve()
		if i == 2 {
			b.lateAfter(time.Hour) // another client: this one does not ask again before a minute has passed
		}
		id, done := b.does(patiently(t))
		b.house.End(id, schemas.Payload("1"), nil)
		if task := <-done; task.TaskID != id || task.State != schemas.StateCompleted {
			t.Errorf("%s ended as %+v", id, task)
		}
		stop()
	}
}

// TestDoOutlivesTheOneWhoWasToTell: the others tell all, and this client looks.
func TestDoOutlivesTheOneWhoWasToTell(t *testing.T) {
	t.Parallel()
	b := newBench(t).lateAfter(300 * time.Millisecond)
	stop := b.serveTelling()
	id, done := b.does(patiently(t))
	stop()
	defer b.serve()()
	b.house.End(id, schemas.Payload("1"), nil)
	if task := <-done; task.TaskID != id || task.State != schemas.StateCompleted {
		t.Errorf("%s ended as %+v", id, task)
	}
}
