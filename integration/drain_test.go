//go:build unix

package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// with gives a program more flags.
func (p *process) with(flags ...string) *process {
	p.command = append(p.command, flags...)
	return p
}

// up starts a worker and waits until its agents are served.
func (p *process) up() *process {
	p.t.Helper()
	p.start()
	p.until("worker up")
	return p
}

// stopped stops a process and says how long that took.
func (p *process) stopped() time.Duration {
	p.t.Helper()
	since := time.Now()
	p.stop()
	return time.Since(since)
}

// at starts a scene in a house: the worker has its agent run a task.
func at(t *testing.T, h *house, worker *process, capability, payload string) *scene {
	t.Helper()
	s := &scene{house: h, t: t, nc: newNATSCaller(t, h.url), victim: worker}
	receipts, err := s.nc.nc.SubscribeSync("reach.receipt.first")
	check(t, err)
	worker.up()
	s.submit(capability, payload, time.Minute)
	s.await(receipts)
	return s
}

// Workers are told to stop while they have much to do, one after the other: what has not begun runs elsewhere at once, what has begun
// comes to its end. No task fails, and none runs twice, not even those that may.
func TestWorkersAreStoppedUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	h := newHouse(t)
	var workers []*process
	for _, id := range []string{"first", "second"} {
		workers = append(workers, h.worker(h.startHTTPAgent(id, 3, abilities...)).with("--drain-timeout", "20s").up())
	}
	w := newWitness(t, h.url)
	load := startLoad(h, r, busy())
	for n := range *kills {
		atRandom(r)
		worker := workers[n%len(workers)]
		if took := worker.stopped(); took > soon {
			t.Errorf("a worker whose tasks take 100 ms took %v to stop", took)
		}
		worker.up()
	}
	p := h.prove(w, load.stop())
	for id, task := range p.ended {
		if task.State != schemas.StateCompleted || p.effects[id] != 1 {
			t.Errorf("task %s is %s with %v after %d executions: %s", id, task.State, task.Error, p.effects[id], p.story(id))
		}
	}
}

func TestWhatRunsWhenAWorkerIsStopped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		capability string
		drain      time.Duration // what the worker waits at most
		ends       bool          // the task does meanwhile
		want       func(*schemas.Task) bool
		executions int
	}{
		{
			"with side effects, and soon at its end: it is waited for", "test_run", time.Minute, true,
			func(task *schemas.Task) bool { return task.State == schemas.StateCompleted && task.AgentID == "first" }, 1,
		},
		{
			"with side effects, for long: it ends, and says that it may have run", "test_run", time.Second, false,
			func(task *schemas.Task) bool {
				return task.State == schemas.StateFailed && task.Error.Reason == schemas.ReasonMayHaveExecuted && task.DeadLetter
			}, 1,
		},
		{
			"without side effects, for long: it runs elsewhere", "echo", time.Second, false,
			func(task *schemas.Task) bool {
				return task.AgentID == "second" && task.Attempt == 2 && !task.State.Terminal()
			}, 2,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			payload, letGo := h.held()
			first := h.worker(h.startHTTPAgent("first", 1, abilities...)).with("--drain-timeout", tt.drain.String())
			s := at(t, h, first, tt.capability, payload)
			h.startWorker(h.startHTTPAgent("second", 1, abilities...))
			stopped := make(chan time.Duration, 1)
			go func() { stopped <- first.stopped() }()
			if tt.ends {
				h.untilAgent(h.fronts[0], "first", schemas.AgentDraining)
				letGo()
			}
			if took := <-stopped; tt.ends && took >= tt.drain || took > tt.drain+soon {
				t.Errorf("it took %v to stop", took)
			}
			s.within(soon, "what becomes of it", tt.want)
			brokertest.Eventually(t, "its executions", func() bool { return s.executions() == tt.executions })
		})
	}
}

func TestAWorkerThatIsStoppedAndStartedAgainTakesItsTaskUpAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	payload, letGo := h.held()
	only := h.worker(h.startHTTPAgent("first", 1, abilities...)).with("--drain-timeout", "100ms")
	s := at(t, h, only, "echo", payload)
	only.stop()
	s.within(soon, "back in the queue", func(task *schemas.Task) bool { return task.Phase == schemas.PhaseQueued })
	letGo()
	only.start()
	task := s.within(soon, "the end", ended)
	if task.State != schemas.StateCompleted || task.Attempt != 2 {
		t.Errorf("got %s with %v at attempt %d", task.State, task.Error, task.Attempt)
	}
}

// The agent has answered, and no dispatcher was there to hear of it; the worker does not live to see one.
func TestAnAnswerThatNobodyHeardOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		flags []string
		ends  func(*process)
		want  schemas.State
	}{
		{"the worker is killed", nil, (*process).kill, schemas.StateCompleted},
		{"the worker is stopped", []string{"--drain-timeout", "100ms"}, (*process).stop, schemas.StateCompleted},
		{"the worker is killed, and kept no journal", []string{"--journal", "none"}, (*process).kill, schemas.StateFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHouseApart(t, 1)
			worker := h.worker(h.startHTTPAgent("first", 1, abilities...)).with(tt.flags...)
			payload, letGo := h.held()
			s := at(t, h, worker, "test_run", payload)
			h.dispatchers[0].kill()
			letGo()
			brokertest.Eventually(t, "the agent's answer", func() bool {
				all := readEffects(t, h.effects)
				return len(all) == 1 && !all[0].ended.IsZero()
			})
			if tt.want == schemas.StateCompleted {
				brokertest.Eventually(t, "the answer in the journal", func() bool { return h.journaled(s.taskID) })
			}
			tt.ends(worker)

			h.dispatchers[0].start()
			h.dispatchers[0].until("dispatcher up")
			worker.up()
			task := s.within(soon, "the end", ended)
			if task.State != tt.want || tt.want == schemas.StateFailed && task.Error.Reason != schemas.ReasonMayHaveExecuted {
				t.Errorf("got %s with %v", task.State, task.Error)
			}
			if n := s.executions(); n != 1 {
				t.Errorf("it was executed %d times", n)
			}
		})
	}
}

// journaled reports whether a worker has noted the result of a task.
func (h *house) journaled(taskID string) bool {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(h.dir, "state", "reach", "worker", "*", "journal-*"))
	check(h.t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		check(h.t, err)
		for line := range strings.Lines(string(content)) {
			if strings.Contains(line, `"kind":"result"`) && strings.Contains(line, taskID) {
				return true
			}
		}
	}
	return false
}
