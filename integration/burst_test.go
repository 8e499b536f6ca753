//go:build unix

package integration

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

const burst = 100 // callers at once

// together has callers do something all at once.
func together(n int, do func(n int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// mostAtOnce is how many executions an agent had at the same time, by its own notes.
func mostAtOnce(all []*effect, agent string) (most int) {
	type step struct {
		at     time.Time
		change int
	}
	var steps []step
	for _, e := range all {
		if e.agent == agent {
			steps = append(steps, step{e.began, 1}, step{e.ended, -1})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(a.at.Compare(b.at), a.change-b.change) })
	now := 0
	for _, s := range steps {
		now += s.change
		most = max(most, now)
	}
	return most
}

// A hundred callers stop waiting at once, and the runs of their tasks are over their limit, time and again: none of the agents ever has
// more to do than it can do at once.
func TestAHundredCallersThatTimeOutAtOnceNeverOverloadAnAgent(t *testing.T) {
	t.Parallel()
	const slots = 4
	h := newHouse(t)
	agents := []string{"first", "second"}
	for _, id := range agents { // they say when they have stopped, and until then they are busy
		h.worker(child(id, slots, "echo")).with("--stop-grace", patience.String()).up()
		h.untilAgent(h.fronts[0], id, schemas.AgentOnline)
	}
	front := newHTTPCaller(t, h.fronts[0])
	var mu sync.Mutex
	var tasks []string
	together(burst, func(n int) {
		m := ask("echo", `{"ms":60000}`)
		m.MsgID, m.RunTimeoutMS = fmt.Sprintf("late-%d", n), 100
		status, answer, err := front.exchange(t.Context(), http.MethodPost, "/v1/reach?wait=300ms", schemas.MustEncode(m))
		var said struct {
			TaskID string `json:"task_id"`
		}
		if err != nil || schemas.Decode(answer, &said) != nil || said.TaskID == "" ||
			status != http.StatusAccepted && status != http.StatusGatewayTimeout { // a few of the first have ended by then
			t.Errorf("a caller whose time is over gets status %d, %s, %v", status, answer, err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		tasks = append(tasks, said.TaskID)
	})
	for _, id := range tasks {
		brokertest.Eventually(t, "the end of "+id, func() bool {
			task, err := front.get(t.Context(), id)
			return err == nil && task.State.Terminal()
		})
		task, err := front.get(t.Context(), id)
		check(t, err)
		if task.Error == nil || task.Error.Code != schemas.DeadlineExceeded {
			t.Errorf("task %s is %s with %v", id, task.State, task.Error)
		}
	}
	all := readEffects(t, h.effects)
	for _, id := range agents {
		if most := mostAtOnce(all, id); most > slots {
			t.Errorf("%s has had %d tasks at once, and can do %d", id, most, slots)
		}
	}
	t.Logf("%d executions of %d tasks", len(all), burst)
}

// A hundred tasks fail at once in an agent that has as many errands, so that no circuit breaker stops them, and come back spread over time.
func TestTheRetriesOfAHundredTasksThatFailAtOnceAreSpread(t *testing.T) {
	t.Parallel()
	var errands []string
	dictionary := "capabilities:\n"
	for n := range burst {
		errands = append(errands, fmt.Sprintf("errand_%d", n))
		dictionary += fmt.Sprintf("  - {id: errand_%d, description: Run an errand., input_schema: {}, output_schema: {}, idempotent: true}\n", n)
	}
	file := filepath.Join(t.TempDir(), "errands.yaml")
	check(t, os.WriteFile(file, []byte(dictionary), 0o600))
	h := newHouse(t, fmt.Sprintf("dictionary: {files: [%q]}", file))
	h.startWorker(h.startHTTPAgent("only", burst, errands...))
	w := newWitness(t, h.url)
	front := newHTTPCaller(t, h.fronts[0])
	together(burst, func(n int) {
		m := ask(errands[n], `{"fail":"UNAVAILABLE"}`)
		m.TimeoutMS = 30_000
		status, answer, err := front.exchange(t.Context(), http.MethodPost, "/v1/reach?wait=30s", schemas.MustEncode(m))
		if err != nil || status != http.StatusServiceUnavailable {
			t.Errorf("a task that fails time and again is answered with status %d, %s, %v", status, answer, err)
		}
	})
	due := w.putOff()
	if most := mostWithin(100*time.Millisecond, due); len(due) < burst || most > len(due)/5 {
		t.Errorf("of %d retries %d are due in the same tenth of a second", len(due), most)
	}
}

// An agent is away for a while, and a hundred tasks are for it alone: a few find that out, and come back spread over time; the others
// wait. None is given up, and when it is back the agent never gets more than it can do.
func TestABurstForAnAgentThatIsAwayWaitsForIt(t *testing.T) {
	t.Parallel()
	const slots = 4
	// Heartbeats are so seldom that no health check finds out first, and leaves nothing to be tried.
	h := newHouseOf(t, strings.Replace(configuration, "heartbeat_interval: 400ms", "heartbeat_interval: 5s", 1))
	h.startWorker(h.startHTTPAgent("only", slots, "echo"))
	w := newWitness(t, h.url)
	h.servers[0].kill()
	var back sync.WaitGroup
	back.Go(func() { // however long it takes until all orders are accepted
		pause(context.Background(), 3*time.Second)
		h.servers[0].start()
	})
	front := newHTTPCaller(t, h.fronts[0])
	orders := make([]*order, burst)
	together(burst, func(n int) {
		m := ask("echo", `{"ms":20}`)
		m.MsgID, m.QualityOfService = fmt.Sprintf("spread-%d", n), schemas.QoSComplete
		o := &order{key: m.MsgID, message: schemas.MustEncode(m), tasks: make(map[string]bool)}
		o.place(t.Context(), rand.New(rand.NewPCG(0, uint64(n))), []caller{front})
		orders[n] = o
	})
	back.Wait()
	h.servers[0].until("listening")
	p := h.prove(w, orders)
	for id, task := range p.ended {
		if task.State != schemas.StateCompleted {
			t.Errorf("task %s is %s with %v: %s", id, task.State, task.Error, p.story(id))
		}
	}
	if most := mostAtOnce(readEffects(t, h.effects), "only"); most > slots {
		t.Errorf("the agent has had %d tasks at once, and can do %d", most, slots)
	}
	// So few have the same half second to spread in that chance puts several into a tenth of it; but each has a time of its own.
	due := w.putOff()
	if most := mostWithin(time.Millisecond, due); len(due) == 0 || most > max(3, len(due)/5) {
		t.Errorf("of %d retries %d are due in the same millisecond", len(due), most)
	}
}

// putOff is when each retry was due that the witness has heard of.
func (w *witness) putOff() (due []time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.entries {
		m := new(schemas.ReachMessage)
		if e.Phase == schemas.PhaseScheduled && schemas.Decode(e.Body, m) == nil {
			due = append(due, m.NotBefore.Time)
		}
	}
	return due
}

// mostWithin is how many of times lie in the same step at the most.
func mostWithin(step time.Duration, times []time.Time) (most int) {
	count := make(map[time.Time]int)
	for _, at := range times {
		at = at.Truncate(step)
		count[at]++
		most = max(most, count[at])
	}
	return most
}
