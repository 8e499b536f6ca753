package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// runOn runs a dispatcher over a connection until the test ends.
func runOn(t *testing.T, conn *broker.Conn) *Dispatcher {
	t.Helper()
	d, err := New(conn, Config{
		Tick: 10 * time.Millisecond, HeartbeatInterval: time.Minute, ResendAfter: time.Hour, Logger: zerolog.New(zerolog.NewTestWriter(t)),
	})
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	<-d.Ready()
	return d
}

// JudgeFromNow ends the time in which a dispatcher that has just started judges no agent.
func (d *Dispatcher) JudgeFromNow() {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	d.view.judging = d.clock()
}

// HasFolded reports whether the index has come to a sequence.
func (d *Dispatcher) HasFolded(sequence uint64) bool { return d.applied() >= sequence }

// IsCurrent reports whether the index has caught up, as far as this dispatcher knows.
func (d *Dispatcher) IsCurrent() bool {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	return d.view.current
}

// IsMoving reports whether a loop of this dispatcher is about to change a task.
func (d *Dispatcher) IsMoving(taskID string) bool {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	return d.view.moving[taskID]
}

// HasHeard reports whether a worker has said that it holds a task, and that its agent was asked, where that is asked for.
func (d *Dispatcher) HasHeard(taskID string, running bool) bool {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	t := d.view.tasks.Open(taskID)
	return t != nil && d.view.confirmed(t) && (!running || d.view.reached(t))
}

// enlist registers an agent that says nothing more.
func enlist(t *testing.T, d *Dispatcher, id string, offers ...schemas.Offer) (instance string) {
	t.Helper()
	r := &schemas.Registration{
		AgentID: id, InstanceID: schemas.NewTaskID(), Version: "1.0.0", Transport: schemas.Transport{Type: "func"}, Capabilities: offers,
	}
	_, err := d.Register(t.Context(), r)
	check(t, err)
	return r.InstanceID
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
