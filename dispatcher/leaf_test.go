package dispatcher_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// The hub of a leaf node is restarted while tasks are ordered and run. A worker behind the leaf sees no disconnect, and has missed what was
// said meanwhile: it is told again.
func TestAHubIsRestartedBehindALeaf(t *testing.T) {
	t.Parallel()
	l := brokertest.Leaf(t)
	h := &house{t: t, broker: l}
	h.startOn(l.HubConn(t), quick())
	h.startOn(l.HubConn(t), quick())
	w := newScripted(h, "laptop-1", offer{"echo", 16})
	w.keepBeating()
	w.bringHome()
	restarted := make(chan struct{})
	var tasks []string
	for n := range 60 {
		if n == 20 {
			go func() {
				defer close(restarted)
				l.RestartHub(300 * time.Millisecond)
			}()
		}
		tasks = append(tasks, h.submitEventually(n))
	}
	<-restarted
	for _, id := range tasks {
		for _, d := range h.dispatchers {
			task, err := d.Wait(t.Context(), schemas.DefaultTenant, id, 20*time.Second)
			if err != nil || task.State != schemas.StateCompleted {
				t.Errorf("task %s is %+v (%v)", id, task, err)
			}
		}
	}
}

// submitEventually repeats a submit, here and there, until it is accepted.
func (h *house) submitEventually(n int) (taskID string) {
	h.t.Helper()
	m := echo(`{}`)
	m.MsgID, m.WaitForAgent = fmt.Sprint(n), true
	at := n
	brokertest.Eventually(h.t, "a task is accepted", func() bool {
		at++
		task, err := h.dispatchers[at%len(h.dispatchers)].Submit(h.t.Context(), schemas.DefaultTenant, &m)
		if err != nil {
			return false
		}
		taskID = task.TaskID
		return true
	})
	return taskID
}

// bringHome completes whatever arrives, and says so until somebody has heard it.
func (w *scripted) bringHome() {
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case e := <-w.arrived:
				a := w.read(e)
				if !w.isNew(a) {
					continue
				}
				r := w.result(a, schemas.StateCompleted)
				var answer schemas.Answer
				for ctx.Err() == nil && (w.try(broker.SubjectFinish(w.agentID), r, &answer) != nil || answer.Outcome == schemas.OutcomeTryAgain) {
					pauseUntil(ctx, time.Now().Add(20*time.Millisecond))
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaths = append(w.deaths, func() { cancel(); <-stopped })
}
