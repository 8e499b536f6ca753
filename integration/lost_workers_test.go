//go:build unix

package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// soon is what a rescue may take beyond what it has to wait for, on a machine that has much else to do.
const soon = 10 * time.Second

// scene is a house with a worker that is about to be killed while it runs a task.
type scene struct {
	*house
	t      *testing.T
	nc     *natsCaller
	victim *process
	taskID string
	letGo  func() // has the task come to its end
}

// running starts a house and has the agent "first" run a task of a capability, until it is let go.
func running(t *testing.T, capability string, expires time.Duration) *scene {
	t.Helper()
	h := newHouseOf(t, impatient)
	s := &scene{house: h, t: t, nc: newNATSCaller(t, h.url)}
	payload, letGo := h.held()
	s.letGo = letGo
	s.victim = h.startWorker(child("first", 1, abilities...))
	receipts, err := s.nc.nc.SubscribeSync("reach.receipt.first")
	check(t, err)
	s.submit(capability, payload, expires)
	s.await(receipts)
	return s
}

func (s *scene) submit(capability, payload string, expires time.Duration) {
	s.t.Helper()
	m := schemas.ReachMessage{
		Capability: capability, Payload: schemas.Payload(payload), ExpiresAt: schemas.At(time.Now().Add(expires)), RunTimeoutMS: unhurried,
	}
	task, err := s.nc.submit(s.t.Context(), schemas.MustEncode(m))
	check(s.t, err)
	s.taskID = task.TaskID
}

// await returns when a worker has told the house that its agent is at work, and says which agent that is.
func (s *scene) await(receipts *nats.Subscription) (agentID string) {
	s.t.Helper()
	for {
		m, err := receipts.NextMsg(20 * time.Second)
		check(s.t, err)
		var receipt schemas.Receipt
		check(s.t, schemas.Decode(m.Data, &receipt))
		if slices.ContainsFunc(receipt.Tasks, func(r schemas.ReceiptTask) bool { return r.TaskID == s.taskID && r.Running }) {
			return receipt.AgentID
		}
	}
}

func (s *scene) task() *schemas.Task {
	s.t.Helper()
	task, err := s.nc.get(s.t.Context(), s.taskID)
	check(s.t, err)
	return task
}

// within waits until the task is as wanted, and says how long that took.
func (s *scene) within(limit time.Duration, what string, as func(*schemas.Task) bool) *schemas.Task {
	s.t.Helper()
	since, task := time.Now(), s.task()
	brokertest.Eventually(s.t, what, func() bool {
		task = s.task()
		return as(task)
	})
	took := time.Since(since)
	s.t.Logf("%s after %v", what, took.Round(10*time.Millisecond))
	if took > limit {
		s.t.Errorf("%s took %v, more than %v", what, took, limit)
	}
	return task
}

func (s *scene) executions() int { return effectsOf(readEffects(s.t, s.effects))[s.taskID] }

func ended(task *schemas.Task) bool { return task.State.Terminal() }

func TestAKilledWorkersTaskRunsElsewhere(t *testing.T) {
	t.Parallel()
	s := running(t, "echo", time.Minute)
	s.startWorker(child("second", 1, "echo"))
	s.victim.kill()
	s.within(lease+beat+soon, "the second attempt", func(task *schemas.Task) bool {
		return task.AgentID == "second" && task.Attempt == 2 && s.executions() == 2
	})
	s.letGo()
	task := s.within(soon, "the end", ended)
	if task.State != schemas.StateCompleted || task.Attempt != 2 || s.executions() != 2 {
		t.Errorf("got %s at attempt %d after %d executions", task.State, task.Attempt, s.executions())
	}
}

func TestAKilledWorkersTaskWithEffectsIsNotRunAgain(t *testing.T) {
	t.Parallel()
	for name, restarted := range map[string]bool{"while it is away": false, "when it is started again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := running(t, "test_run", time.Minute)
			s.startWorker(child("second", 1, "test_run"))
			s.victim.kill()
			limit := lease + beat + soon
			if restarted {
				s.victim.start()
				limit = soon
			}
			task := s.within(limit, "the end", ended)
			if e := task.Error; e == nil || e.Code != schemas.Aborted || e.Reason != schemas.ReasonMayHaveExecuted {
				t.Errorf("got %s with %v, want it to say that nobody knows", task.State, task.Error)
			}
			first := s.taskID
			s.submit("test_run", `{"command":"go vet"}`, time.Minute) // the house goes on
			s.within(soon, "the next one", ended)
			s.taskID = first
			if n := s.executions(); n != 1 {
				t.Errorf("it was executed %d times", n)
			}
		})
	}
}

func TestAKilledWorkersTaskWaitsForAnother(t *testing.T) {
	t.Parallel()
	s := running(t, "echo", time.Minute)
	s.victim.kill()
	s.within(lease+beat+soon, "back in the queue", func(task *schemas.Task) bool {
		return task.State == schemas.StateSubmitted && task.Phase == schemas.PhaseQueued
	})
	s.letGo()
	s.startWorker(child("second", 1, "echo"))
	task := s.within(soon, "the end", ended)
	if task.State != schemas.StateCompleted || task.AgentID != "second" {
		t.Errorf("got %s by %s", task.State, task.AgentID)
	}
}

func TestAKilledWorkersTaskEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	s := running(t, "echo", 4*time.Second)
	s.victim.kill()
	task := s.within(4*time.Second+soon, "the end", ended)
	if task.State != schemas.StateFailed || task.Error.Code != schemas.DeadlineExceeded || task.Error.Reason != schemas.ReasonExpired {
		t.Errorf("got %s with %v", task.State, task.Error)
	}
	if late := task.FinishedAt.Sub(task.ExpiresAt.Time); late < 0 || late > soon {
		t.Errorf("it ended %v after its deadline", late)
	}
}

// A task kills the worker of each agent that runs it, once that is known to be at work: after its attempts it is given up, and lies with the
// dead letters. There are agents left that it has not killed.
func TestAPoisonousTaskStopsAfterItsAttempts(t *testing.T) {
	t.Parallel()
	const attempts = 3
	h := newHouseOf(t, impatient)
	s := &scene{house: h, t: t, nc: newNATSCaller(t, h.url)}
	for _, id := range []string{"a", "b", "c", "d"} {
		h.startWorker(child(id, 1, "echo"))
	}
	receipts, err := s.nc.nc.SubscribeSync("reach.receipt.*")
	check(t, err)
	s.submit("echo", fmt.Sprintf(`{"poison":true,"gate":%q}`, h.file("go-NAME")), time.Minute)
	for killed := make(map[string]bool); len(killed) < attempts; {
		agent := s.await(receipts)
		killed[agent] = true
		h.write("go-"+agent, "")
	}
	task := s.within(lease+beat+soon, "the end", ended)
	if task.Error == nil || task.Error.Reason != schemas.ReasonTooManyAttempts || !task.DeadLetter || task.Attempt != attempts {
		t.Errorf("got %s with %v at attempt %d, among the dead letters: %v", task.State, task.Error, task.Attempt, task.DeadLetter)
	}
	if n := s.executions(); n != attempts {
		t.Errorf("it was executed %d times", n)
	}
	s.submit("echo", `{"text":"the house goes on"}`, time.Minute)
	if task := s.within(soon, "the next one", ended); task.State != schemas.StateCompleted {
		t.Errorf("the next one is %s with %v", task.State, task.Error)
	}
}
