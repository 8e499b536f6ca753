package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// However much is under way, the feed is folded, which every piece of that work may do as well, and beats are sent: neither waits for room.
func TestWhoeverFoldsOrBeatsWaitsForNoRoom(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	d := runOn(t, conn)
	id := schemas.NewTaskID()
	told := make(chan []byte, 1)
	_, err := conn.Subscribe(broker.SubjectResult(schemas.DefaultTenant, id), func(_ string, body []byte) { told <- body })
	check(t, err)

	release := make(chan struct{})
	defer close(release)
	for d.aside(func(context.Context) { <-release }) {
	}
	record := &schemas.Record{Tenant: schemas.DefaultTenant, Task: schemas.Task{
		TaskID: id, State: schemas.StateCompleted, Phase: schemas.PhaseDone, ResultRef: notKeptYet(100),
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.act(effects{results: []news{{record: record, all: true}}})
		d.peersChanged(d.Peers())
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("it waits until some work is done")
	}
	var task schemas.Task
	check(t, schemas.Decode(<-told, &task))
	if task.TaskID != id || task.ResultRef == nil {
		t.Errorf("told %+v", task)
	}
}
