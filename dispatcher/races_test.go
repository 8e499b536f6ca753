package dispatcher_test

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

var pairs = flag.Int("pairs", 200, "how many pairs each race runs")

// ground is a broker to race on.
type ground struct {
	name string
	make func(testing.TB) connecter
}

type connecter interface{ Conn(testing.TB) *broker.Conn }

// threeNodes is a cluster as a house sees it.
type threeNodes struct{ *brokertest.ClusterBroker }

func (c threeNodes) Conn(t testing.TB) *broker.Conn { return c.Connect(t) }

var grounds = []ground{
	{"one node", func(t testing.TB) connecter { return brokertest.New(t) }},
	{"three nodes", func(t testing.TB) connecter { return threeNodes{brokertest.Cluster(t, 3)} }},
}

func housesOn(t *testing.T, race func(*testing.T, *house)) {
	for _, g := range grounds {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && g.name != grounds[0].name {
				t.Skip("a cluster is left out with -short")
			}
			h := &house{t: t, broker: g.make(t)}
			h.start(quick())
			h.start(quick())
			race(t, h)
		})
	}
}

// oneWinner lists the ledger's messages of each task and checks that it ended once, whatever raced.
func oneWinner(t *testing.T, h *house, ids []string) map[schemas.State]int {
	t.Helper()
	states := map[schemas.State]int{}
	for _, id := range ids {
		task := h.wait(id)
		entry, err := h.any().conn.Ledger().LastAtLeader(t.Context(), id)
		check(t, err)
		var record schemas.Record
		if check(t, schemas.Decode(entry.Body, &record)); entry.Phase != schemas.PhaseDone || record.State != task.State || entry.Sequence < task.Revision {
			t.Errorf("task %s: the answer is %s at %d, the ledger has %s (%s) at %d", id, task.State, task.Revision, entry.Phase, record.State, entry.Sequence)
		}
		if entry.Sequence != task.Revision { // whether its agent confirmed was noted since, by another dispatcher
			brokertest.Eventually(t, "what was added after the end is seen", func() bool { return h.task(id).Revision == entry.Sequence })
		}
		states[task.State]++
	}
	return states
}

// spread are waits around an instant, so that either side of a race is first now and then.
func spread(n int) time.Duration { return time.Duration(n%41-20) * time.Millisecond }

func TestCancelAgainstDueTime(t *testing.T) {
	t.Parallel()
	housesOn(t, func(t *testing.T, h *house) {
		w := newScripted(h, "laptop-1", offer{"echo", 10_000})
		w.keepBeating()
		started := w.completeAll()
		var all sync.WaitGroup
		ids, canceled := make([]string, *pairs), make([]bool, *pairs)
		for n := range ids {
			all.Go(func() {
				due := time.Now().Add(500 * time.Millisecond)
				m := echo(fmt.Sprint(n))
				m.NotBefore = schemas.At(due)
				ids[n] = h.submit(m).TaskID
				pauseUntil(t.Context(), due.Add(spread(n)))
				task, err := h.dispatchers[n%2].Cancel(t.Context(), schemas.DefaultTenant, ids[n])
				if err != nil {
					t.Error(err)
					return
				}
				canceled[n] = task.Cancel.Won
			})
		}
		all.Wait()
		t.Log(oneWinner(t, h, ids))
		for n, id := range ids {
			if state := h.task(id).State; (state == schemas.StateCanceled) != canceled[n] {
				t.Errorf("pair %d: the cancel won: %v, and the task is %s", n, canceled[n], state)
			}
		}
		if finished := started(); len(finished) > *pairs {
			t.Errorf("%d tasks finished", len(finished))
		}
	})
}

func TestFinishAgainstExpiry(t *testing.T) {
	t.Parallel()
	housesOn(t, func(t *testing.T, h *house) {
		w := newScripted(h, "laptop-1", offer{"echo", 10_000})
		w.keepBeating()
		var all sync.WaitGroup
		ids, stored := make([]string, *pairs), make([]bool, *pairs)
		for n := range ids {
			all.Go(func() {
				m := echo(fmt.Sprint(n))
				task := h.brief(m, 500*time.Millisecond)
				ids[n] = task.TaskID
				a := assignment{sequence: task.Revision, message: m}
				a.message.TaskID, a.message.Attempt = task.TaskID, 1
				pauseUntil(t.Context(), task.ExpiresAt.Add(spread(n)))
				stored[n] = won(w.complete(a))
			})
		}
		all.Wait()
		t.Log(oneWinner(t, h, ids))
		for n, id := range ids {
			if state := h.task(id).State; (state == schemas.StateCompleted) != stored[n] {
				t.Errorf("pair %d: the finish was stored: %v, and the task is %s", n, stored[n], state)
			}
		}
	})
}

func TestBeginAgainstRescue(t *testing.T) {
	t.Parallel()
	housesOn(t, func(t *testing.T, h *house) {
		heir := newScripted(h, "heir", offer{"test_run", 10_000})
		heir.keepBeating()
		doomed := newScripted(h, "doomed", offer{"test_run", 10_000})
		ids := make([]string, *pairs)
		held := make([]assignment, *pairs)
		for n := range ids {
			m := work()
			m.PreferAgent = "doomed"
			task := h.submit(m)
			ids[n], held[n] = task.TaskID, assignment{sequence: task.Revision, message: m}
			held[n].message.TaskID, held[n].message.Attempt = task.TaskID, 1
		}
		var all sync.WaitGroup
		begun := make([]bool, *pairs)
		for n := range ids {
			all.Go(func() {
				pauseUntil(t.Context(), time.Now().Add(20*time.Millisecond+spread(n)))
				begun[n] = won(doomed.begin(held[n]))
			})
			if n == *pairs/2 {
				_, _ = doomed.beat(schemas.AgentOffline, []string{}) // its goodbye starts the rescue in the middle of the begins
			}
		}
		all.Wait()
		moved := 0
		for n, id := range ids {
			brokertest.Eventually(t, "the task has left the agent that has gone", func() bool { return h.task(id).AgentID != "doomed" || h.task(id).State.Terminal() })
			task := h.task(id)
			aborted := task.State == schemas.StateFailed && task.Error.Code == schemas.Aborted
			if aborted && !begun[n] { // its begin was stored, but the answer was lost, and the repeat came after the rescue
				_, err := h.any().conn.Ledger().LastOfPhase(t.Context(), id, schemas.PhaseBegun)
				begun[n] = err == nil
			}
			if aborted != begun[n] {
				t.Errorf("pair %d: begun %v, and the task is %s on %s", n, begun[n], task.State, task.AgentID)
			}
			if task.AgentID == "heir" {
				moved++
			}
		}
		t.Logf("%d begun and aborted, %d moved", *pairs-moved, moved)
	})
}

// won reports whether a request of a worker was the one that counted, be it that its answer came only to a repeat.
func won(answer schemas.Answer) bool {
	return answer.Outcome == schemas.OutcomeStored || answer.Outcome == schemas.OutcomeAlreadyYours
}

// pauseUntil waits for an instant that a race is about.
func pauseUntil(ctx context.Context, at time.Time) {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// completeAll finishes whatever arrives; what it returns tells what was finished so far.
func (w *scripted) completeAll() (finished func() []string) {
	var mu sync.Mutex
	var ids []string
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case e := <-w.arrived:
				if a := w.read(e); w.isNew(a) && won(w.complete(a)) {
					mu.Lock()
					ids = append(ids, a.message.TaskID)
					mu.Unlock()
				}
			case <-stop:
				return
			}
		}
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaths = append(w.deaths, func() { close(stop); <-stopped })
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return ids
	}
}

func TestAFinishedTaskIsNeverSeenOpenUntilItIsForgotten(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.Retention, cfg.KeepDead = time.Second, time.Second
	h := newHouse(t, cfg)
	w := newScripted(h, "laptop-1", offer{"echo", 100})
	w.keepBeating()
	w.completeAll()
	ids := make([]string, 40)
	for n := range ids {
		ids[n] = h.brief(echo(fmt.Sprint(n)), time.Second+spread(n)).TaskID
	}
	for _, id := range ids {
		task, err := h.any().Wait(t.Context(), schemas.DefaultTenant, id, patience)
		switch {
		case err != nil: // the machine is slow, and it is forgotten by now
			wantCode(t, err, schemas.NotFound, schemas.ReasonExpired)
		case !task.State.Terminal():
			t.Fatalf("task %s is still %s", id, task.State)
		}
	}
	forgotten := func() bool {
		gone := 0
		for _, id := range ids {
			task, err := h.any().Task(t.Context(), schemas.DefaultTenant, id)
			if err == nil && !task.State.Terminal() {
				t.Fatalf("task %s is %s again", id, task.State)
			}
			if err != nil {
				wantCode(t, err, schemas.NotFound, schemas.ReasonExpired)
				gone++
			}
		}
		return gone == len(ids)
	}
	brokertest.Eventually(t, "every record is forgotten", func() bool {
		fresh := h.start(cfg) // reads the ledger anew, whatever has expired of it
		page, err := fresh.ListTasks(t.Context(), schemas.DefaultTenant, schemas.TaskQuery{State: schemas.StateWorking})
		check(t, err)
		fresh.stop()
		if len(page.Items) != 0 {
			t.Fatalf("a rebuilt index has open tasks: %v", page.Items[0].TaskID)
		}
		return forgotten()
	})
}

func TestALostAcknowledgementIsNoLostAndNoSecondTask(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	proxy := brokertest.Proxy(t, b.URL())
	h := &house{t: t, broker: b}
	through := b.Connect(t, func(c *broker.Config) { c.Embedded, c.URL = nil, proxy.URL() })
	cut := h.startOn(through, quick())
	w := newScripted(h, "laptop-1", offer{"test_run", 4})
	w.keepBeating()

	proxy.SwallowAcks(1, "REACH")
	task := h.submit(work())
	a := w.next()
	if a.message.TaskID != task.TaskID || proxy.Swallowed() != 1 {
		t.Fatalf("%d acknowledgements were swallowed", proxy.Swallowed())
	}
	proxy.SwallowAcks(1, "REACH")
	a.sequence = w.begin(a).Sequence
	proxy.SwallowAcks(1, "REACH")
	r := w.result(a, schemas.StateCompleted)
	r.Result = schemas.Payload(`{"passed":true,"output":""}`)
	if answer := w.finish(r); !won(answer) {
		t.Errorf("got %+v", answer)
	}
	done := h.wait(task.TaskID)
	state, err := cut.conn.Ledger().State(t.Context())
	check(t, err)
	if done.State != schemas.StateCompleted || state.Messages != 3 {
		t.Errorf("got %s with %d messages in the ledger, want completed with 3", done.State, state.Messages)
	}

	proxy.SwallowReplies(brokertest.Always, "REACH")
	m := work()
	m.MsgID = "once"
	lost := proxy.Swallowed()
	ctx, giveUp := context.WithCancel(t.Context())
	go func() {
		defer giveUp()
		brokertest.Eventually(t, "another reply is swallowed", func() bool { return proxy.Swallowed() > lost })
	}()
	_, err = cut.Submit(ctx, schemas.DefaultTenant, &m)
	t.Log(wantCode(t, err, schemas.Unavailable, schemas.ReasonOutcomeUnknown))
	proxy.SwallowReplies(0)
	again, err := cut.Submit(t.Context(), schemas.DefaultTenant, &m)
	check(t, err)
	got := w.next()
	for got.message.TaskID == task.TaskID {
		got = w.next() // the first task was sent again while its begin was on its way
	}
	if got.message.TaskID != again.TaskID {
		t.Errorf("the agent got %s, the repeat %s", got.message.TaskID, again.TaskID)
	}
	h.knows(got)
	page, err := cut.ListTasks(t.Context(), schemas.DefaultTenant, schemas.TaskQuery{State: schemas.StateWorking})
	check(t, err)
	if len(page.Items) != 1 {
		t.Errorf("%d tasks were made by one request and its repeat", len(page.Items))
	}
}
