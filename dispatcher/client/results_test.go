package client_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/google/go-cmp/cmp"
)

// hold submits a task that stays open.
func (b *bench) hold() string {
	b.t.Helper()
	task, err := b.Submit(patiently(b.t), message("hold"))
	if err != nil {
		b.t.Fatal(err)
	}
	return task.TaskID
}

// waited runs a wait and gives its outcome.
func (b *bench) waited(id string, wait time.Duration) <-chan *schemas.Task {
	done := make(chan *schemas.Task, 1)
	go func() {
		task, err := b.Wait(patiently(b.t), id, wait)
		if err != nil {
			b.t.Errorf("wait: %v", err)
		}
		done <- task
	}()
	return done
}

func (b *bench) asked(times int) {
	b.t.Helper()
	brokertest.Eventually(b.t, "the house is asked to wait", func() bool {
		return strings.Count(strings.Join(b.house.Calls(), " "), "Wait") >= times
	})
}

func TestWaitGoesOnFromSliceToSlice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	id := b.hold()
	done := b.waited(id, time.Hour)
	b.asked(3)
	b.house.End(id, schemas.Payload("1"), nil)
	if task := <-done; task.State != schemas.StateCompleted {
		t.Errorf("state %s", task.State)
	}
}

func TestWaitThatEndsFirstGivesTheTaskAsItStands(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	for _, wait := range []time.Duration{-time.Second, 0, time.Millisecond, 3 * slice / 2} {
		start := time.Now()
		task, err := b.Wait(patiently(t), b.hold(), wait)
		if took := time.Since(start); err != nil || task.State != schemas.StateWorking || took < wait {
			t.Errorf("wait %v: %+v, %v after %v", wait, task, err, took)
		}
	}
}

func TestWaitSurvivesTheDispatcherThatHeldIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stop := b.serve()
	id := b.hold()
	done := b.waited(id, time.Hour)
	b.asked(1)
	stop()
	defer b.serve()()
	asked := strings.Count(strings.Join(b.house.Calls(), " "), "Wait")
	b.asked(asked + 1)
	b.house.End(id, schemas.Payload("1"), nil)
	if task := <-done; task.State != schemas.StateCompleted {
		t.Errorf("state %s", task.State)
	}
}

func TestResultIsHeardThoughNobodyAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stop := b.serve()
	id := b.hold()
	done := b.waited(id, time.Hour)
	b.asked(1)
	stop() // the house still publishes
	b.house.End(id, schemas.Payload("1"), nil)
	if task := <-done; task.State != schemas.StateCompleted || string(task.Result) != "1" {
		t.Errorf("%+v", task)
	}
}

func TestResultThatWasMissedIsFoundByLooking(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	b.house.OnEnd(nil) // nothing is published
	id := b.hold()
	done := b.waited(id, time.Hour)
	b.asked(1)
	b.house.End(id, schemas.Payload("1"), nil)
	if task := <-done; task.State != schemas.StateCompleted {
		t.Errorf("state %s", task.State)
	}
	late, err := b.Result(patiently(t), id)
	if err != nil || late.State != schemas.StateCompleted {
		t.Errorf("after the end: %+v, %v", late, err)
	}
}

func TestSubscribersHearEachResultOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	var mu sync.Mutex
	heard := map[string]int{}
	subscription, err := b.SubscribeResults(func(task *schemas.Task) {
		mu.Lock()
		defer mu.Unlock()
		heard[task.TaskID]++
	})
	if err != nil {
		t.Fatal(err)
	}
	defer subscription.Close()
	conn := b.broker.Conn(t)
	want := map[string]int{}
	for range 20 {
		task, err := b.Submit(patiently(t), message("echo"))
		if err != nil {
			t.Fatal(err)
		}
		want[task.TaskID] = 1
		for range 2 { // as after a gap
			_ = conn.Publish(broker.SubjectResult("default", task.TaskID), schemas.MustEncode(task))
		}
		_ = conn.Publish(broker.SubjectResult("other", task.TaskID), schemas.MustEncode(task))
		_ = conn.Publish(broker.SubjectResult("default", task.TaskID), []byte("nonsense"))
	}
	last, err := b.Submit(patiently(t), message("echo"))
	if err != nil {
		t.Fatal(err)
	}
	want[last.TaskID] = 1
	brokertest.Eventually(t, "the last result", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return heard[last.TaskID] > 0
	})
	subscription.Close()
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("heard (-want +got)\n%s", diff)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	memory := client.NewMemory(3)
	steps := []struct {
		name     string
		id       int
		revision uint64
		news     bool
	}{
		{"the first is news", 1, 10, true},
		{"a repeat is none", 1, 10, false},
		{"an older one is none", 1, 9, false},
		{"a newer one is", 1, 11, true},
		{"another is news", 2, 12, true},
		{"a third", 3, 13, true},
		{"the first is still known", 1, 11, false},
		{"a fourth takes the place of the first", 4, 14, true},
		{"which is forgotten", 1, 11, true},
		{"the third is still known", 3, 13, false},
	}
	for _, step := range steps {
		task := &schemas.Task{TaskID: fmt.Sprint(step.id), Revision: step.revision}
		if got := client.IsNews(memory, task); got != step.news {
			t.Errorf("%s: %v", step.name, got)
		}
	}
}
